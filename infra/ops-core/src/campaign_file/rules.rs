use common::domain::campaign::Window;
use common::domain::instant::PlanProblem;
use common::domain::partner::PartnerRules;
use common::domain::partner::pointer::Pointer;
use common::domain::partner::reply::MAX_CODE_CHARS;
use common::domain::partner::template::{Placeholder, Template};
use common::upstream::partner::partner_url::{PartnerUrl, header_name, header_value};

use super::check::{closest, listed};
use super::fields::outcomes;
use super::join;
use super::schema::Schema;
use crate::cli::Moment;
use crate::instant::header;
use crate::prelude::*;

/// Items hold 400 KB; a campaign's JSON is never smaller than its item.
const MAX_RECORD_BYTES: usize = 390 * 1024;

pub(super) struct Field<'a> {
    pub(super) path: String,
    pub(super) value: &'a Value,
    pub(super) lines: &'a HashMap<String, usize>,
    pub(super) problems: &'a Problems,
}

impl<'a> Field<'a> {
    /// `None` if left out or wrong.
    fn get(&self, name: &str) -> Option<Self> {
        self.inside(join(&self.path, name), self.value.get(name)?)
    }

    fn items(&self) -> impl Iterator<Item = Self> {
        let items = self.value.as_array().into_iter().flatten().enumerate();
        items.filter_map(|(index, value)| self.inside(format!("{}[{index}]", self.path), value))
    }

    fn list(&self, name: &str) -> Vec<Self> {
        self.get(name)
            .map(|list| list.items().collect())
            .unwrap_or_default()
    }

    fn entries(&self) -> Vec<(&'a str, Self)> {
        let entries = self.value.as_object().into_iter().flatten();
        entries
            .filter_map(|(name, _)| Some((name.as_str(), self.get(name)?)))
            .collect()
    }

    fn inside(&self, path: String, value: &'a Value) -> Option<Self> {
        (!value.is_null()).then_some(Self {
            path,
            value,
            ..*self
        })
    }

    fn text(&self) -> &'a str {
        self.value.as_str().unwrap_or_default()
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.value.get(name)?.as_u64()
    }

    fn problem(&self, message: impl Into<String>) {
        let line = self.lines.get(&self.path).copied().unwrap_or(1);
        self.problems.add(line, &self.path, message);
    }

    fn parse<T>(&self, name: &str, parse: impl FnOnce(&'a str) -> Result<T, String>) -> Option<T> {
        let field = self.get(name)?;
        let parsed = parse(field.text());
        parsed.map_err(|why| field.problem(why)).ok()
    }
}

pub(super) fn check(file: &Field<'_>) {
    file.parse("timezone", |text| {
        let wanted = "must be an IANA time zone, such as `Africa/Dar_es_Salaam`";
        text.parse::<Tz>().map_err(|_| wanted.to_owned())
    });
    if let Some(window) = file.get("window") {
        let time = |name| {
            window.parse(name, |text| {
                let wanted = "must be a date and time with its offset, such as `2026-01-01T00:00:00+03:00`, or null";
                text.parse::<Timestamp>().map_err(|_| wanted.to_owned())
            })
        };
        if let (Some(start), Some(end)) = (time("start"), time("end"))
            && start >= end
            && let Some(field) = window.get("end")
        {
            field.problem("must be later than window.start");
        }
    }
    let receipt = file.get("receipt");
    receipt.as_ref().inspect(|receipt| check_receipt(receipt));
    check_entries(file, receipt.as_ref());
    if let Some(instant) = file.get("instant") {
        check_instant(file, &instant);
    }
    let partner = file.get("partner");
    partner.as_ref().inspect(|partner| check_partner(partner));
    // A wrong `code` does not tell if a `partner` block is allowed.
    let code = file.get("code").and_then(|code| code.get("checked_by"));
    match (code.as_ref().map(|by| by.text() == "partner"), partner) {
        (Some(true), None) if !file.lines.contains_key("partner") => {
            let example = Schema::of_file()
                .field("partner")
                .map(|schema| schema.example.as_str());
            let line = file.lines.get("").copied().unwrap_or(1);
            let example = example.unwrap_or_default();
            let message = format!("is missing; add it, such as `partner: {example}`");
            file.problems.add(line, "partner", message);
        }
        (Some(false), Some(partner)) => partner
            .problem("is here, but code.checked_by is not `partner`; make it so, or remove this"),
        _ => {}
    }
    if let (Some("partner"), Some(receipt)) = (code.map(|by| by.text()), receipt) {
        receipt.problem(
            "cannot go together with codes that a partner checks; remove it, or let the service check codes",
        );
    }
}

fn check_instant(file: &Field<'_>, instant: &Field<'_>) {
    for days in instant.list("days") {
        for name in ["from", "to"] {
            days.parse(name, |text| text.parse::<Moment>());
        }
    }
    let rules = serde_json::from_value(instant.value.clone());
    let (Ok(rules), Some(Ok(zone))) = (rules, file.get("timezone").map(|zone| zone.text().parse()))
    else {
        return;
    };
    let window = |name| file.get("window")?.get(name)?.text().parse().ok();
    let window = Window {
        start: window("start"),
        end: window("end"),
    };
    for PlanProblem { field, message } in header::problems_of_file(&rules, zone, window) {
        // The innermost part that the file has.
        let mut path = join("instant", &field);
        while !file.lines.contains_key(&path) {
            path.truncate(path.rfind(['.', '[']).unwrap_or_default());
        }
        let line = file.lines.get(&path).copied().unwrap_or(1);
        file.problems.add(line, &join("instant", &field), message);
    }
}

fn check_entries(file: &Field<'_>, receipt: Option<&Field<'_>>) {
    if let Some(receipt) = receipt
        && receipt.list("products").is_empty()
        && let Some(max) = receipt.number("max_entries")
        && let Some(field) = file.get("entries_per_submission")
        && field.value.as_u64() > Some(max)
    {
        field.problem(format!(
            "is more than the {max} of receipt.max_entries, so that every receipt would go to a person; raise one or \
             lower the other"
        ));
    }
}

pub(super) fn check_size(campaign: &Campaign, line: usize, problems: &Problems) {
    let bytes = serde_json::to_string(campaign).map_or(0, |json| json.len());
    if bytes > MAX_RECORD_BYTES {
        let message = format!(
            "the campaign takes {bytes} bytes and its record holds {MAX_RECORD_BYTES}; shorten its names, or list \
             fewer serials, match texts, branches or products"
        );
        problems.add_line(line, message);
    }
}

fn check_receipt(receipt: &Field<'_>) {
    let ranges = receipt.list("ranges");
    let mut names = HashSet::new();
    for range in &ranges {
        note_twice(range.get("name"), &mut names);
    }
    let names: Vec<&str> = ranges
        .iter()
        .filter_map(|range| Some(range.get("name")?.text()))
        .collect();
    let max_entries = receipt.number("max_entries");
    let mut keys = HashSet::new();
    for product in receipt.list("products") {
        note_twice(product.get("key"), &mut keys);
        product.parse("range", |range| known_range(range, &names));
        if let Some(matches) = product.get("match") {
            check_match(&matches);
        }
        if let (Some(entries), Some(max)) = (product.get("entries"), max_entries)
            && entries.value.as_u64() > Some(max)
        {
            entries.problem(format!(
                "is more than the {max} of receipt.max_entries, so that every receipt with this product would \
                 go to a person; raise one or lower the other"
            ));
        }
    }
    let mut keys = HashSet::new();
    let mut devices = HashMap::new();
    for branch in receipt.list("branches") {
        note_twice(branch.get("key"), &mut keys);
        check_devices(&branch, &mut devices);
    }
}

fn note_twice(name: Option<Field<'_>>, taken: &mut HashSet<String>) {
    if let Some(name) = name.filter(|name| !taken.insert(name.text().to_owned())) {
        name.problem("is that of an earlier one in this list; give each its own");
    }
}

fn known_range(name: &str, ranges: &[&str]) -> Result<(), String> {
    if ranges.contains(&name) {
        return Ok(());
    }
    let hint = match closest(name, ranges) {
        Some(closest) => format!("did you mean `{closest}`?"),
        None if ranges.is_empty() => "add it, such as `ranges: [{ name: Classic }]`".to_owned(),
        None => format!("here are {}", listed(ranges)),
    };
    Err(format!("is not a range of this file; {hint}"))
}

fn check_match(matches: &Field<'_>) {
    if matches.value.as_array().is_some_and(Vec::is_empty) {
        matches
            .problem("must hold at least one text that tills print, such as `[\"CHAI BORA 250\"]`");
    }
    for text in matches.items() {
        if !text.text().chars().any(char::is_alphanumeric) {
            text.problem("must hold a letter or a digit: nothing else is compared");
        }
    }
}

/// A fiscal device belongs to one branch. `devices` has paths by taxpayer and serial number, empty
/// for all devices of a merchant.
fn check_devices(branch: &Field<'_>, devices: &mut HashMap<(String, String), String>) {
    let tin = branch.get("tin").map(|tin| tin_digits(tin.text()));
    let mut take = |field: &Field<'_>, serial: &str, message: &str| {
        let Some(tin) = &tin else { return };
        // Receipts are compared case-insensitively.
        let device = (tin.clone(), serial.to_ascii_uppercase());
        match devices.get(&device) {
            Some(first) => field.problem(format!("is {first} already, {message}")),
            None => drop(devices.insert(device, field.path.clone())),
        }
    };
    let has_none = branch
        .value
        .get("serials")
        .and_then(Value::as_array)
        .is_some_and(Vec::is_empty);
    if let Some(tin) = branch.get("tin").filter(|_| has_none) {
        take(
            &tin,
            "",
            "and neither branch has serials; list the serials of one of them",
        );
    }
    for serial in branch.list("serials") {
        take(
            &serial,
            serial.text(),
            "with the same tin; keep one of them",
        );
    }
}

pub(super) fn tin_digits(tin: &str) -> String {
    tin.replace('-', "")
}

fn check_partner(partner: &Field<'_>) {
    partner.parse("url", check_url);
    let headers = partner.get("headers");
    let headers = headers.map(|headers| headers.entries()).unwrap_or_default();
    let mut spellings = HashMap::new();
    for (name, field) in &headers {
        let known = header_name(name).err().map(|error| error.to_string());
        known.into_iter().for_each(|error| field.problem(error));
        let spelling = *spellings.entry(name.to_ascii_lowercase()).or_insert(name);
        if spelling != name {
            field.problem(format!(
                "is `{spelling}` again; capital letters make no other header"
            ));
        }
        if let Err(error) = header_value(field.text()) {
            field.problem(error.to_string());
        }
    }
    if let Some(secret) = partner.get("secret") {
        let header = secret.parse("header", |name| {
            header_name(name)
                .map(|_| name)
                .map_err(|error| error.to_string())
        });
        let is_taken = |header: &str| {
            headers
                .iter()
                .any(|(name, _)| name.eq_ignore_ascii_case(header))
        };
        if let Some(field) = secret
            .get("header")
            .filter(|_| header.is_some_and(is_taken))
        {
            field.problem("is in `headers` too; keep one of them");
        }
    }
    if let Some(body) = partner.get("body") {
        check_body(&body);
    }
    if let Some(reply) = partner.get("reply") {
        for name in ["code", "message", "entries", "prize"] {
            reply.parse(name, |text| {
                Pointer::try_from(text.to_owned()).map_err(|error| error.to_string())
            });
        }
    }
    if let Some(outcomes) = partner.get("outcomes") {
        check_outcomes(&outcomes);
    }
}

fn check_url(url: &str) -> Result<(), String> {
    if url.contains("{{") {
        return Err("must not hold placeholders; put them into `body`".to_owned());
    }
    let endpoint = PartnerUrl::parse(url).map_err(|error| error.to_string())?;
    let problem = if endpoint.is_loopback() {
        return Ok(());
    } else if !endpoint.is_https() {
        "must begin with `https://`; only a partner on this machine can be asked over http"
    } else if endpoint.is_forbidden() {
        "has an address that is not public; the service would refuse to go there"
    } else {
        return Ok(());
    };
    Err(problem.to_owned())
}

fn check_body(body: &Field<'_>) {
    let template = match Template::try_from(body.value.clone()) {
        Ok(template) => template,
        Err(error) => return body.problem(error.to_string()),
    };
    for (needed, why) in [
        (Placeholder::Code, ""),
        (
            Placeholder::Reference,
            "; without it, asking twice could redeem twice",
        ),
    ] {
        if !template.holds(needed) {
            let name = needed.as_str();
            body.problem(format!("must hold the placeholder `{name}`{why}"));
        }
    }
}

fn check_outcomes(field: &Field<'_>) {
    let values = field.value.as_object().into_iter().flatten();
    let mut has_problem = { values }.any(|(_, value)| value.is_null());
    let mut accepts = false;
    for (code, outcome) in field.entries() {
        if code.is_empty() || code.chars().count() > MAX_CODE_CHARS {
            outcome.problem(format!(
                "must be for a partner's code of 1 to {MAX_CODE_CHARS} characters"
            ));
        }
        match known_outcome(outcome.text()) {
            Ok(key) => accepts |= PartnerRules::accepts(key),
            Err(why) => {
                outcome.problem(why);
                has_problem = true;
            }
        }
    }
    if !has_problem && !accepts {
        field.problem(
            "must hold a code that means `entered` or `instant_win`; without it, every entry is refused",
        );
    }
}

fn known_outcome(text: &str) -> Result<MessageKey, String> {
    let names = outcomes();
    match text.parse::<MessageKey>() {
        Ok(key) if PartnerRules::can_mean(key) => Ok(key),
        Ok(_) => Err(format!(
            "cannot be what a partner decides; it can be {}",
            listed(&names)
        )),
        Err(_) => Err(match closest(text, &names) {
            Some(closest) => format!("is not a message key; did you mean `{closest}`?"),
            None => format!("is not a message key; it can be {}", listed(&names)),
        }),
    }
}
