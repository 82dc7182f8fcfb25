use chrono_tz::Tz;
use common::domain::entrant::MAX_OPEN_RECEIPTS;
use common::domain::timestamp::Timestamp;
use common::store::entrants::{BlockChange, KnownEntrant};
use serde_json::{Value, json};

use super::PhoneInScope;
use crate::format::{grouped, zoned_time};
use crate::view::of_record;

impl PhoneInScope {
    pub(crate) fn as_json(&self, now: Timestamp) -> Value {
        let KnownEntrant {
            entrant,
            blocked,
            unblocked,
        } = &self.known;
        let limits = self.campaign.limits;
        let submissions = self.submissions.iter().map(|submission| {
            json!({
                "id": submission.submission_id,
                "reference": submission.reference(),
                "state": submission.status.state(),
                "message_key": submission.status.message_key(),
                "day": submission.day,
            })
        });
        json!({
            "campaign": self.scope.campaign,
            "environment": self.scope.environment,
            "entries": entrant.entries,
            "submissions_today": entrant.today,
            "left_today": left(limits.phone_daily, entrant.today),
            "submissions_total": entrant.total,
            "left_total": left(limits.phone_total, entrant.total),
            "open_receipts": entrant.open_receipts,
            "blocked": blocked.as_ref().map(of_record),
            "unblocked": unblocked.as_ref().map(of_record),
            "throttled_until": self.throttled_until(now).map(|until| until.to_string()),
            "submissions": submissions.collect::<Vec<_>>(),
        })
    }

    pub fn facts(&self, now: Timestamp) -> Vec<(&'static str, String)> {
        let KnownEntrant {
            entrant,
            blocked,
            unblocked,
        } = &self.known;
        let (zone, limits) = (self.campaign.timezone, self.campaign.limits);
        let throttled = self.throttled_until(now);
        let blocked = blocked.as_ref().map(|change| words("since", change, zone));
        let mut facts = vec![
            ("entries", grouped(entrant.entries)),
            ("today", of_limit(entrant.today, limits.phone_daily)),
            ("in total", of_limit(entrant.total, limits.phone_total)),
            (
                "pending receipts",
                of_limit(entrant.open_receipts, Some(MAX_OPEN_RECEIPTS)),
            ),
            (
                "too many wrong codes",
                throttled.map_or_else(
                    || "no".to_owned(),
                    |until| format!("yes, refused until {}", zoned_time(until, zone)),
                ),
            ),
            ("blocked", blocked.unwrap_or_else(|| "no".to_owned())),
        ];
        let unblocked = unblocked.as_ref();
        facts.extend(unblocked.map(|change| ("unblocked", words("at", change, zone))));
        facts
    }

    fn throttled_until(&self, now: Timestamp) -> Option<Timestamp> {
        let entrant = &self.known.entrant;
        entrant
            .throttled_until
            .filter(|_| entrant.is_throttled(now))
    }
}

fn left(limit: Option<u32>, used: u32) -> Option<u32> {
    limit.map(|limit| limit.saturating_sub(used))
}

fn of_limit(used: u32, limit: Option<u32>) -> String {
    match left(limit, used) {
        Some(left) => format!("{used} ({left} left)"),
        None => format!("{used} (no limit)"),
    }
}

fn words(preposition: &str, BlockChange { at, by, why }: &BlockChange, zone: Tz) -> String {
    let by = by.as_ref().map(|by| format!(" by {by}"));
    let why = why.as_ref().map(|why| format!(": {why}"));
    format!(
        "{preposition} {}{}{}",
        zoned_time(*at, zone),
        by.unwrap_or_default(),
        why.unwrap_or_default()
    )
}
