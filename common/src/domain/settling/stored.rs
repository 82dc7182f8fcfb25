//! The stored form of [`PendingSettlement`]: flat, with both dependencies' fields.

use serde::{Deserialize, Serialize};

use super::{Anomaly, Assignee, Dependency, PendingSettlement, Progress};
use crate::domain::retry::{LookupFailures, PartnerProgress};
use crate::domain::timestamp::Timestamp;

#[derive(Serialize, Deserialize)]
pub(super) struct StoredSettlement {
    turn: Assignee,
    next_step_at: Timestamp,
    unfinished: u32,
    counterpart: Dependency,
    asked: u32,
    #[serde(default)]
    may_have_arrived: bool,
    silent_since: Option<Timestamp>,
    tally: LookupFailures,
    prize: Option<String>,
    surprise: Option<Anomaly>,
}

impl From<StoredSettlement> for PendingSettlement {
    fn from(stored: StoredSettlement) -> Self {
        Self {
            assignee: stored.turn,
            next_step_at: stored.next_step_at,
            attempts_started: stored.unfinished,
            progress: match stored.counterpart {
                Dependency::TaxAuthority => Progress::TaxAuthority(stored.tally),
                Dependency::Partner => Progress::Partner(PartnerProgress {
                    attempts: stored.asked,
                    maybe_redeemed: stored.may_have_arrived,
                    unanswered_since: stored.silent_since,
                }),
            },
            prize: stored.prize,
            anomaly: stored.surprise,
        }
    }
}

impl From<PendingSettlement> for StoredSettlement {
    fn from(pending: PendingSettlement) -> Self {
        let (tally, partner) = match pending.progress {
            Progress::TaxAuthority(failures) => (failures, PartnerProgress::default()),
            Progress::Partner(progress) => (LookupFailures::default(), progress),
        };
        Self {
            turn: pending.assignee,
            next_step_at: pending.next_step_at,
            unfinished: pending.attempts_started,
            counterpart: pending.progress.dependency(),
            asked: partner.attempts,
            may_have_arrived: partner.maybe_redeemed,
            silent_since: partner.unanswered_since,
            tally,
            prize: pending.prize,
            surprise: pending.anomaly,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn record(counterpart: &str, changes: &Value) -> Value {
        let mut record = json!({
            "turn": "service",
            "next_step_at": 1_000,
            "unfinished": 1,
            "counterpart": counterpart,
            "asked": 0,
            "may_have_arrived": false,
            "silent_since": null,
            "tally": { "missing": 0, "throttled": 0, "trouble": 0, "silent_since": null },
            "prize": "A kettle",
            "surprise": { "what": "status", "excerpt": null },
        });
        for (name, value) in changes.as_object().expect("an object") {
            record[name] = value.clone();
        }
        record
    }

    #[test]
    fn records_are_read_and_written_unchanged() {
        let failures = json!({ "missing": 1, "throttled": 2, "trouble": 3, "silent_since": 500 });
        for record in [
            record("tax", &json!({ "tally": failures })),
            record(
                "partner",
                &json!({ "asked": 3, "may_have_arrived": true, "silent_since": 500 }),
            ),
            record("partner", &json!({ "turn": "person" })),
        ] {
            let pending: PendingSettlement =
                serde_json::from_value(record.clone()).expect("readable");
            assert_eq!(serde_json::to_value(pending).expect("writable"), record);
        }
    }

    #[test]
    fn a_record_from_before_partners_had_times_is_read() {
        let mut old = record("partner", &json!({ "asked": 2 }));
        for name in ["may_have_arrived", "silent_since"] {
            old.as_object_mut().expect("an object").remove(name);
        }
        let pending: PendingSettlement = serde_json::from_value(old).expect("readable");
        let expected = PartnerProgress {
            attempts: 2,
            ..PartnerProgress::default()
        };
        assert_eq!(pending.progress, Progress::Partner(expected));
    }
}
