//! The fields of a campaign file and their rules.

use chrono_tz::Tz;
use common::domain::campaign::{Campaign, CodePolicy, PhoneLimits, Window, WrongCodeLimit};
use common::domain::message::{MessageKey, MessageOverrides};
use common::domain::scope::CampaignSlug;
use common::domain::timestamp::Timestamp;

use super::fields::{Field, Fields};
use super::partner;
use super::receipt;
use super::tree::Node;
use super::{CampaignFile, MAX_ENTRIES};
use crate::problem::Problems;

const FIELDS: [&str; 13] = [
    "slug",
    "name",
    "brand",
    "timezone",
    "paused",
    "window",
    "code",
    "limits",
    "entries_per_submission",
    "wrong_codes",
    "messages",
    "receipt",
    "partner",
];

/// Characters of a campaign's and a brand's name.
pub(super) const NAME_CHARS: std::ops::RangeInclusive<usize> = 1..=120;
/// Characters of a message: at most two SMS.
const COPY_CHARS: std::ops::RangeInclusive<usize> = 1..=320;
/// More than any campaign needs; it keeps sums far from overflow.
const MAX_SUBMISSIONS: u32 = 1_000_000;
/// Wrong codes that count are stored in the phone's record, which must stay small.
const MAX_WRONG_CODES: u32 = 100;
/// A DynamoDB item holds 400 KB; a campaign's JSON is never smaller than its item.
const MAX_RECORD_BYTES: usize = 390 * 1024;
/// A day.
const MAX_MINUTES: u32 = 24 * 60;

/// Reads a campaign; `None` if required parts are missing or wrong.
pub(super) fn read(root: &Node, problems: &Problems) -> Option<CampaignFile> {
    let file = Fields::of_file(root, &FIELDS, problems)?;
    let slug = file.required("slug", "chai-bora-2026");
    let slug = slug.and_then(|field| field.parsed(slug_of));
    let name = file.required("name", "Chai Bora Shinda").and_then(|field| field.text(NAME_CHARS));
    let brand = file.required("brand", "Chai Bora").and_then(|field| field.text(NAME_CHARS));
    let timezone = file.required("timezone", "Africa/Dar_es_Salaam");
    let timezone = timezone.and_then(|field| field.parsed(zone));
    let paused = file.get("paused").and_then(|field| field.switch());
    let window = file.get("window").and_then(|field| window(&field)).unwrap_or_default();
    let code = file.required("code", "{ checked_by: service }").and_then(|field| code(&field));
    let limits = file.get("limits").and_then(|field| limits(&field)).unwrap_or_default();
    let entries = file.get("entries_per_submission").and_then(|field| field.count(MAX_ENTRIES));
    let wrong_codes = file.get("wrong_codes").and_then(|field| wrong_codes(&field)).unwrap_or_default();
    let messages = file.get("messages").and_then(|field| messages(&field)).unwrap_or_default();
    let receipt = file.get("receipt").and_then(|field| receipt::read(&field));
    if let (Some(entries), Some(rules)) = (entries, &receipt)
        && rules.products.is_empty()
        && entries > rules.max_entries
        && let Some(field) = file.get("entries_per_submission")
    {
        field.problem(format!(
            "is more than the {} of receipt.max_entries, so that every receipt would go to a person; raise one or \
             lower the other",
            rules.max_entries
        ));
    }
    let partner = match code {
        Some(code) => partner::read_for(code == CodePolicy::Partner, &file),
        // `code` is wrong, so whether a `partner` block is allowed is unknown.
        None => file.get("partner").and_then(|field| partner::read(&field)),
    };
    if code == Some(CodePolicy::Partner)
        && let Some(field) = file.get("receipt")
    {
        field.problem(
            "cannot go together with codes that a partner checks; remove it, or let the service check codes",
        );
    }
    let campaign = Campaign {
        slug: slug?,
        name: name?.to_owned(),
        brand: brand?.to_owned(),
        timezone: timezone?,
        paused: paused.unwrap_or(false),
        window,
        code: code?,
        limits,
        entries_per_submission: entries.unwrap_or(1),
        wrong_codes,
        messages,
        receipt,
        partner,
        consent: None,
        retention: None,
    };
    check_size(&campaign, root.line, problems);
    Some(CampaignFile { campaign, says_paused: paused.is_some() })
}

/// Notes a problem if the campaign does not fit into its record.
fn check_size(campaign: &Campaign, line: usize, problems: &Problems) {
    let bytes = serde_json::to_string(campaign).map_or(0, |json| json.len());
    if bytes > MAX_RECORD_BYTES {
        let message = format!(
            "the campaign takes {bytes} bytes and its record holds {MAX_RECORD_BYTES}; shorten its names, or list \
             fewer serials, match texts, branches or products"
        );
        problems.add_line(line, message);
    }
}

fn slug_of(text: &str) -> Result<CampaignSlug, String> {
    let wanted = "must be 1 to 64 of a-z, 0-9 and inner dashes, such as `chai-bora-2026`";
    text.parse().map_err(|_| wanted.to_owned())
}

fn zone(name: &str) -> Result<Tz, String> {
    let wanted = "must be an IANA time zone, such as `Africa/Dar_es_Salaam`";
    name.parse().map_err(|_| wanted.to_owned())
}

fn window(field: &Field<'_>) -> Option<Window> {
    let fields = field.block(&["start", "end"])?;
    let timestamp = |name| fields.get(name).and_then(|field| field.parsed(timestamp));
    let window = Window { start: timestamp("start"), end: timestamp("end") };
    if let (Some(start), Some(end)) = (window.start, window.end)
        && start >= end
    {
        fields.get("end").inspect(|field| field.problem("must be later than window.start"));
    }
    Some(window)
}

fn timestamp(text: &str) -> Result<Timestamp, String> {
    let wanted = "must be a date and time with its offset, such as `2026-01-01T00:00:00+03:00`, or null";
    text.parse().map_err(|_| wanted.to_owned())
}

fn code(field: &Field<'_>) -> Option<CodePolicy> {
    let fields = field.block(&["checked_by"])?;
    fields.required("checked_by", "service")?.parsed(|text| match text {
        "service" => Ok(CodePolicy::Service),
        "none" => Ok(CodePolicy::None),
        "partner" => Ok(CodePolicy::Partner),
        _ => Err("must be `service`, `partner` or `none`".to_owned()),
    })
}

fn limits(field: &Field<'_>) -> Option<PhoneLimits> {
    let fields = field.block(&["phone_daily", "phone_total"])?;
    let limit = |name| fields.get(name).and_then(|field| field.count(MAX_SUBMISSIONS));
    Some(PhoneLimits { phone_daily: limit("phone_daily"), phone_total: limit("phone_total") })
}

fn wrong_codes(field: &Field<'_>) -> Option<WrongCodeLimit> {
    let fields = field.block(&["count", "minutes"])?;
    let usual = WrongCodeLimit::default();
    let limit = |name, most, usual| fields.get(name).and_then(|field| field.count(most)).unwrap_or(usual);
    Some(WrongCodeLimit {
        count: limit("count", MAX_WRONG_CODES, usual.count),
        minutes: limit("minutes", MAX_MINUTES, usual.minutes),
    })
}

fn messages(field: &Field<'_>) -> Option<MessageOverrides> {
    let languages = field.block(&["en", "sw"])?;
    let keys: Vec<&str> = MessageKey::ALL.iter().map(|key| key.as_str()).collect();
    let copy = |language| {
        let fields = languages.get(language)?.block(&keys)?;
        let copy = |key: &MessageKey| Some((*key, fields.get(key.as_str())?.text(COPY_CHARS)?.to_owned()));
        Some(MessageKey::ALL.iter().filter_map(copy).collect())
    };
    Some(MessageOverrides { en: copy("en").unwrap_or_default(), sw: copy("sw").unwrap_or_default() })
}
