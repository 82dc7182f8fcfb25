//! Once everything is settled, records fit replies, and nothing counts twice.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use crate::text::text_of;
use common::domain::scope::Environment;
use common::store::submissions::Submissions;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Done, Fixture, Kind, POLL_EVERY, Report};
use crate::counting::differences;

/// More than any submission needs.
const SETTLING_TIMEOUT: Duration = Duration::from_secs(300);

/// Once nothing fails any more.
const COUNTING_TIMEOUT: Duration = Duration::from_secs(60);

impl Fixture {
    pub(super) async fn check(&self, done: &[Done], report: &mut Report) {
        let mut seen: HashMap<&str, Value> = HashMap::new();
        let mut by_phone: HashMap<(Kind, &str), BTreeMap<&str, u64>> = HashMap::new();
        let mut wrong: HashMap<(Kind, &str), BTreeSet<&str>> = HashMap::new();
        let mut winners: HashMap<(Kind, &str), BTreeSet<&str>> = HashMap::new();
        for one in done {
            if !seen.contains_key(one.id.as_str()) {
                let Some(settled) = self.settled(one).await else {
                    report.lost.push(format!("{:?} {}", one.kind, one.id));
                    continue;
                };
                seen.insert(&one.id, settled);
            }
            let now = &seen[one.id.as_str()];
            let key = text_of(&now["message_key"]).to_owned();
            *report.outcomes.entry((one.kind, key)).or_insert(0) += 1;
            let counted = by_phone.entry((one.kind, &one.phone)).or_default();
            if now["state"] != "rejected" {
                counted.insert(&one.id, now["entries"].as_u64().expect("a number"));
            }
            if now["message_key"] == "invalid" {
                wrong
                    .entry((one.kind, &one.phone))
                    .or_default()
                    .insert(&one.id);
            }
            if now["state"] == "accepted" {
                winners
                    .entry((one.kind, &one.code))
                    .or_default()
                    .insert(&one.id);
            }
        }
        let twice = winners.iter().filter(|(_, ids)| ids.len() > 1);
        report
            .redeemed_twice
            .extend(twice.map(|((kind, code), ids)| format!("{kind:?} {code}: {ids:?}")));
        for ((kind, phone), counted) in &by_phone {
            let campaign = self.campaign(*kind);
            let (scope, number) = (
                campaign.scope(Environment::Live),
                phone.parse().expect("a phone"),
            );
            let entrant = campaign.service.entrant(&scope, &number, "").await;
            let entrant = entrant.expect("an entrant");
            let expected = (counted.len(), counted.values().sum::<u64>());
            let total = usize::try_from(entrant.total).expect("small");
            if (total, entrant.entries) != expected {
                let recorded = (total, entrant.entries);
                report.lost.push(format!(
                    "{kind:?} {phone}: {recorded:?} recorded, {expected:?} answered"
                ));
            }
            assert_eq!(
                entrant.open_receipts, 0,
                "{kind:?} {phone}: everything is settled"
            );
            if !kind.is_receipt() {
                let wrong = wrong.get(&(*kind, *phone)).map_or(0, BTreeSet::len);
                assert_eq!(entrant.wrong_codes.len(), wrong, "{kind:?} {phone}");
            }
        }
        self.check_codes(&seen).await;
        self.check_redemptions(&seen, report);
        self.check_numbers(report).await;
    }

    /// Compares numbers with records, once counted.
    async fn check_numbers(&self, report: &mut Report) {
        let deadline = Instant::now() + COUNTING_TIMEOUT;
        for campaign in [
            &self.code,
            &self.receipt,
            &self.other_receipt,
            &self.partner,
        ] {
            let scope = campaign.scope(Environment::Live);
            let differing = loop {
                let differing = differences(&campaign.service.env, &scope).await;
                if differing.is_empty() || Instant::now() > deadline {
                    break differing;
                }
                tokio::time::sleep(POLL_EVERY).await;
            };
            report
                .miscounted
                .extend(differing.iter().map(|differing| format!("{differing:?}")));
        }
    }

    /// Held codes belong to submissions that count, redeemed exactly if accepted.
    async fn check_codes(&self, seen: &HashMap<&str, Value>) {
        for campaign in [&self.code, &self.partner] {
            let scope = campaign.scope(Environment::Live);
            let claims = campaign.service.holds(&scope).await;
            assert!(!claims.is_empty());
            for claim in &claims {
                let id = claim.submission_id.to_string();
                let now = seen
                    .get(id.as_str())
                    .unwrap_or_else(|| panic!("{id} has a code and no sender"));
                assert_ne!(now["state"], "rejected", "{id} has a code");
                assert_eq!(claim.redeemed, now["state"] == "accepted", "{id}");
            }
        }
    }

    /// The partner redeemed for submissions that count, once each.
    fn check_redemptions(&self, seen: &HashMap<&str, Value>, report: &mut Report) {
        for (reference, times) in self.simulated.redemptions() {
            if times != 1 {
                report
                    .redeemed_twice
                    .push(format!("{reference}, {times} times by the partner"));
            }
            let now = seen
                .get(reference.as_str())
                .unwrap_or_else(|| panic!("{reference} has no sender"));
            assert!(
                now["state"] == "accepted" || is_left_to_a_person(now),
                "{reference}"
            );
        }
    }

    /// The submission once only an operator can change it; `None` if missing.
    async fn settled(&self, one: &Done) -> Option<Value> {
        let campaign = self.campaign(one.kind);
        let deadline = Instant::now() + SETTLING_TIMEOUT;
        loop {
            let reply = campaign.read(&campaign.live_key, &one.id).await;
            if reply.status == 404 {
                return None;
            }
            assert_eq!(reply.status, 200, "{}", reply.text);
            let now = reply.json();
            if now["terminal"] == true || is_left_to_a_person(&now) {
                return Some(now);
            }
            if Instant::now() > deadline {
                let submissions =
                    Submissions::from_env(&campaign.service.env, &campaign.service.dynamodb());
                let id = one.id.parse().expect("an id");
                let kept = submissions
                    .expect("the table")
                    .get(&campaign.scope(Environment::Live), id)
                    .await;
                panic!(
                    "{:?} {} does not settle: {:?}",
                    one.kind,
                    one.id,
                    kept.expect("it answers")
                );
            }
            // Leaves the CPU to settling.
            tokio::time::sleep(POLL_EVERY).await;
        }
    }
}

/// The partner contradicted itself, so an operator decides.
fn is_left_to_a_person(submission: &Value) -> bool {
    submission["reasons"] == json!(["partner_used_when_asked_again"])
}
