//! The fields of a campaign file and their rules.

use chrono_tz::Tz;
use common::domain::campaign::{
    Campaign, CodePolicy, ConsentText, PhoneLimits, Retention, Window, WrongCodeLimit,
};
use common::domain::message::{MessageOverrides, TextKey};
use common::domain::receipt::rules::ReceiptRules;
use common::domain::scope::CampaignSlug;
use common::domain::timestamp::Timestamp;

use super::CampaignFile;
use super::fields::{Field, Fields};
use super::partner;
use super::receipt;
use super::spec;
use super::tree::Node;
use crate::problem::Problems;

/// A DynamoDB item holds 400 KB; a campaign's JSON is never smaller than its item.
const MAX_RECORD_BYTES: usize = 390 * 1024;

/// Reads a campaign; `None` if required parts are missing or wrong.
pub(super) fn read(root: &Node, problems: &Problems) -> Option<CampaignFile> {
    let file = Fields::from_file(root, &spec::FILE, problems)?;
    let slug = file
        .required("slug")
        .and_then(|field| field.parsed(slug_of));
    let name = file.required_text("name");
    let brand = file.required_text("brand");
    let timezone = file
        .required("timezone")
        .and_then(|field| field.parsed(zone));
    let paused = file.get("paused").and_then(|field| field.switch());
    let window = file
        .get("window")
        .and_then(|field| window(&field))
        .unwrap_or_default();
    let code = file.required("code").and_then(|field| code(&field));
    let limits = file
        .get("limits")
        .and_then(|field| limits(&field))
        .unwrap_or_default();
    let entries = file.count("entries_per_submission");
    let wrong_codes = file
        .get("wrong_codes")
        .and_then(|field| wrong_codes(&field))
        .unwrap_or_default();
    let messages = file
        .get("messages")
        .and_then(|field| messages(&field))
        .unwrap_or_default();
    let receipt = file.get("receipt").and_then(|field| receipt::read(&field));
    let consent = file.get("consent").and_then(|field| consent(&field));
    let retention = file.get("retention").and_then(|field| retention(&field));
    check_entries(&file, entries, receipt.as_ref());
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
        name: name?,
        brand: brand?,
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
        consent,
        retention,
        // Not a field of the file: `ops campaign archive` sets it.
        archived: false,
    };
    check_size(&campaign, root.line, problems);
    Some(CampaignFile {
        campaign,
        says_paused: paused.is_some(),
    })
}

/// Notes a problem if every receipt would earn more entries than go without a person.
fn check_entries(file: &Fields<'_>, entries: Option<u32>, receipt: Option<&ReceiptRules>) {
    if let (Some(entries), Some(rules)) = (entries, receipt)
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
    let fields = field.block()?;
    let timestamp = |name| fields.get(name).and_then(|field| field.parsed(timestamp));
    let window = Window {
        start: timestamp("start"),
        end: timestamp("end"),
    };
    if let (Some(start), Some(end)) = (window.start, window.end)
        && start >= end
    {
        fields
            .get("end")
            .inspect(|field| field.problem("must be later than window.start"));
    }
    Some(window)
}

fn timestamp(text: &str) -> Result<Timestamp, String> {
    let wanted =
        "must be a date and time with its offset, such as `2026-01-01T00:00:00+03:00`, or null";
    text.parse().map_err(|_| wanted.to_owned())
}

fn code(field: &Field<'_>) -> Option<CodePolicy> {
    field.block()?.required("checked_by")?.choice()
}

fn limits(field: &Field<'_>) -> Option<PhoneLimits> {
    let fields = field.block()?;
    Some(PhoneLimits {
        phone_daily: fields.count("phone_daily"),
        phone_total: fields.count("phone_total"),
    })
}

fn wrong_codes(field: &Field<'_>) -> Option<WrongCodeLimit> {
    let fields = field.block()?;
    let usual = WrongCodeLimit::default();
    Some(WrongCodeLimit {
        count: fields.count("count").unwrap_or(usual.count),
        minutes: fields.count("minutes").unwrap_or(usual.minutes),
    })
}

fn messages(field: &Field<'_>) -> Option<MessageOverrides> {
    let languages = field.block()?;
    let copy = |language| {
        let fields = languages.get(language)?.block()?;
        Some(
            TextKey::all()
                .filter_map(|key| Some((key, fields.text(key.as_str())?)))
                .collect(),
        )
    };
    Some(MessageOverrides {
        en: copy("en").unwrap_or_default(),
        sw: copy("sw").unwrap_or_default(),
    })
}

fn consent(field: &Field<'_>) -> Option<ConsentText> {
    let fields = field.block()?;
    let (version, en, sw) = (
        fields.required_text("version"),
        fields.required_text("en"),
        fields.required_text("sw"),
    );
    Some(ConsentText {
        version: version?,
        en: en?,
        sw: sw?,
    })
}

fn retention(field: &Field<'_>) -> Option<Retention> {
    let fields = field.block()?;
    let retention = Retention {
        phones_days: fields.count("phones_days"),
        photos_days: fields.count("photos_days"),
    };
    Some(retention).filter(|retention| *retention != Retention::default())
}
