//! `ops phone find`.

use chrono_tz::Tz;
use common::domain::entrant::MAX_OPEN_RECEIPTS;
use common::domain::phone::Phone;
use common::domain::timestamp::Timestamp;
use common::store::entrants::{BlockChange, KnownEntrant};
use common::store::submissions::SubmissionSummary;
use serde_json::{Value, json};

use crate::format::{grouped, lines, table, zoned_time};
use crate::phones::{MAX_SUBMISSIONS, PhoneInScope};
use crate::terminal::Report;
use crate::view::of_record;

pub(super) fn report(phone: &Phone, found: &[PhoneInScope], now: Timestamp) -> Report {
    let text = if found.is_empty() {
        format!("No campaign knows {}.", phone.masked())
    } else {
        let texts: Vec<_> = found
            .iter()
            .map(|found| as_text(phone, found, now))
            .collect();
        texts.join("\n")
    };
    let scopes: Vec<_> = found.iter().map(|found| as_json(found, now)).collect();
    Report::new(json!({ "phone": phone.masked(), "scopes": scopes }), text)
}

/// What is left of a limit.
fn left(limit: Option<u32>, used: u32) -> Option<u32> {
    limit.map(|limit| limit.saturating_sub(used))
}

fn as_json(found: &PhoneInScope, now: Timestamp) -> Value {
    let PhoneInScope {
        scope,
        campaign,
        known:
            KnownEntrant {
                entrant,
                blocked,
                unblocked,
            },
        submissions,
    } = found;
    let throttled_until = entrant
        .throttled_until
        .filter(|_| entrant.is_throttled(now));
    let submission = |submission: &SubmissionSummary| {
        json!({
            "id": submission.submission_id,
            "reference": submission.reference(),
            "state": submission.status.state(),
            "message_key": submission.status.message_key(),
            "day": submission.day,
        })
    };
    json!({
        "campaign": scope.campaign,
        "environment": scope.environment,
        "entries": entrant.entries,
        "submissions_today": entrant.today,
        "left_today": left(campaign.limits.phone_daily, entrant.today),
        "submissions_total": entrant.total,
        "left_total": left(campaign.limits.phone_total, entrant.total),
        "open_receipts": entrant.open_receipts,
        "blocked": blocked.as_ref().map(of_record),
        "unblocked": unblocked.as_ref().map(of_record),
        "throttled_until": throttled_until.map(|until| until.to_string()),
        "submissions": submissions.iter().map(submission).collect::<Vec<_>>(),
    })
}

fn as_text(phone: &Phone, found: &PhoneInScope, now: Timestamp) -> String {
    let PhoneInScope {
        scope,
        campaign,
        known:
            KnownEntrant {
                entrant,
                blocked,
                unblocked,
            },
        submissions,
    } = found;
    let zone = campaign.timezone;
    let of_limit = |used: u32, limit: Option<u32>| match left(limit, used) {
        Some(left) => format!("{used} ({left} left)"),
        None => format!("{used} (no limit)"),
    };
    let throttled = match entrant
        .throttled_until
        .filter(|_| entrant.is_throttled(now))
    {
        Some(until) => format!("yes, refused until {}", zoned_time(until, zone)),
        None => "no".to_owned(),
    };
    let mut pairs = vec![
        ("phone", phone.masked()),
        (
            "campaign",
            format!("{}, {}", scope.campaign, scope.environment),
        ),
        ("entries", grouped(entrant.entries)),
        (
            "today",
            of_limit(entrant.today, campaign.limits.phone_daily),
        ),
        (
            "in total",
            of_limit(entrant.total, campaign.limits.phone_total),
        ),
        (
            "pending receipts",
            of_limit(entrant.open_receipts, Some(MAX_OPEN_RECEIPTS)),
        ),
        ("too many wrong codes", throttled),
        (
            "blocked",
            blocked.as_ref().map_or_else(
                || "no".to_owned(),
                |change| change_words("since", change, zone),
            ),
        ),
    ];
    pairs.extend(
        unblocked
            .as_ref()
            .map(|change| ("unblocked", change_words("at", change, zone))),
    );
    let mut text = lines(&pairs);
    if !submissions.is_empty() {
        text.push_str(&submission_table(submissions));
    }
    if submissions.len() >= usize::from(MAX_SUBMISSIONS) {
        text.push_str(&format!(
            "These are the newest {MAX_SUBMISSIONS} submissions.\n"
        ));
    }
    text
}

fn change_words(preposition: &str, change: &BlockChange, zone: Tz) -> String {
    let BlockChange { at, by, why } = change;
    let by = by
        .as_ref()
        .map(|by| format!(" by {by}"))
        .unwrap_or_default();
    let why = why
        .as_ref()
        .map(|why| format!(": {why}"))
        .unwrap_or_default();
    format!("{preposition} {}{by}{why}", zoned_time(*at, zone))
}

fn submission_table(submissions: &[SubmissionSummary]) -> String {
    let row = |submission: &SubmissionSummary| {
        vec![
            submission.reference().to_string(),
            submission.submission_id.to_string(),
            submission.status.message_key().to_string(),
            submission.day.clone(),
        ]
    };
    let rows: Vec<_> = submissions.iter().map(row).collect();
    table(&["REF", "ID", "MESSAGE", "DAY"], &rows)
}
