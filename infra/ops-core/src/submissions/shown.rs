//! One submission, as text and as JSON.

use chrono_tz::Tz;
use common::domain::partner::reply::{PartnerMessage, UpstreamCode};
use common::domain::receipt::Source;
use common::domain::receipt::judgement::ReceiptSummary;
use common::domain::receipt::payload::VerificationCode;
use common::domain::receipt::photo::{PhotoType, StoredPhoto};
use common::domain::retry::{LookupFailures, PartnerProgress};
use common::domain::settling::{Assignee, PendingSettlement};
use common::domain::submission::approval::ProposedChange;
use common::domain::submission::{DeclaredPurchase, OperatorDecision, Submission};
use common::domain::timestamp::Timestamp;
use serde_json::{Map, Value, json};

use super::code_entered::CodeEntered;
use super::story::{proposed, said};
use crate::format::{grouped, lines, or_dash, zoned_time};
use crate::receipts::ReceiptView;

/// Shown in place of a receipt's secrets.
const HIDDEN: &str = "hidden; --show-receipt shows it";
/// Shown in place of the link to a photo that has arrived.
const HIDDEN_PHOTO: &str = "hidden; --show-photo links to it";

/// A submission and how much of it to show.
pub struct Shown<'a> {
    /// The submission.
    pub submission: &'a Submission,
    /// Masked or in clear.
    pub phone: String,
    /// Who entered its code, if it was rejected because of that.
    pub code_entered: Option<CodeEntered>,
    /// Its receipt.
    pub receipt: Option<ReceiptView>,
    /// The campaign's time zone, for the times in the text.
    pub zone: Tz,
    /// Whether to show the receipt's code and what it says.
    pub show_receipt: bool,
}

impl Shown<'_> {
    pub(crate) fn as_text(&self) -> String {
        lines(&self.facts())
    }

    /// All that is known, by the names of the API, as text.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let submission = self.submission;
        let mut pairs = self.pairs();
        pairs.extend(
            self.code_entered
                .as_ref()
                .map(|entered| ("code", entered.sentence())),
        );
        if let Some(settling) = &submission.settling {
            pairs.push(("assignee", assignee(settling.assignee).to_owned()));
            pairs.push(("next_step", next_step(settling, |at| self.time(at))));
            pairs.push((
                "lookup_failures",
                or_dash(lookup_failures(settling.lookup_failures())),
            ));
            let PartnerProgress {
                attempts,
                maybe_redeemed,
                ..
            } = settling.partner_progress();
            let asked = (attempts > 0).then(|| format!("{attempts} times in vain"));
            pairs.push(("partner_asked", or_dash(asked)));
            let may_have = if maybe_redeemed {
                "perhaps; ask it about the id"
            } else {
                "no"
            };
            pairs.extend(
                submission
                    .partner_code
                    .as_ref()
                    .map(|_| ("partner_redeemed", may_have.to_owned())),
            );
            let anomaly = settling.anomaly.as_ref();
            pairs.push(("anomaly", or_dash(anomaly.map(|anomaly| &anomaly.summary))));
            let excerpt = anomaly.and_then(|anomaly| anomaly.excerpt.as_deref());
            pairs.extend(excerpt.map(|excerpt| ("anomaly_said", self.secret(excerpt))));
        }
        if let Some(seen) = &self.receipt {
            let purchase = submission.purchase.as_ref().map(VerificationCode::as_str);
            pairs.push(("purchase", or_dash(purchase.map(|code| self.secret(code)))));
            pairs.extend(self.receipt_pairs(seen));
        }
        pairs
    }

    fn pairs(&self) -> Vec<(&'static str, String)> {
        let submission = self.submission;
        let Submission { scope, status, .. } = submission;
        let claimed = |claimed: &DeclaredPurchase| {
            let items = claimed
                .items
                .iter()
                .map(|item| format!("{} x {}", item.qty, item.key));
            items
                .chain(claimed.branch.iter().map(|branch| format!("at {branch}")))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let receipt = |receipt: &ReceiptSummary| {
            let ReceiptSummary {
                date,
                branch,
                items_summary,
                counted_entries,
            } = receipt;
            let counted = counted_entries
                .map(|entries| format!("{} entries counted", grouped(entries.into())));
            let parts = [date, branch, items_summary, &counted];
            parts
                .into_iter()
                .flatten()
                .cloned()
                .collect::<Vec<_>>()
                .join(", ")
        };
        let decision = |decision: &OperatorDecision| {
            format!("at {} {}", self.time(decision.at), said(decision))
        };
        vec![
            ("ref", submission.reference().to_string()),
            ("id", submission.submission_id.to_string()),
            ("campaign", scope.campaign.to_string()),
            ("environment", scope.environment.to_string()),
            ("phone", self.phone.clone()),
            ("state", word(json!(status.state()))),
            ("review_status", word(json!(status.review_status()))),
            ("display_status", word(json!(status.display_status()))),
            ("message_key", status.message_key().to_string()),
            ("reasons", submission.reasons.join(", ")),
            ("entries", status.entries().to_string()),
            ("instant_win", or_dash(status.instant_win())),
            ("region", or_dash(submission.region.as_ref())),
            ("claimed", or_dash(submission.claimed.as_ref().map(claimed))),
            ("receipt_id", or_dash(submission.receipt_id)),
            ("receipt", or_dash(submission.receipt.as_ref().map(receipt))),
            (
                "partner_said",
                or_dash(submission.upstream.as_ref().map(upstream)),
            ),
            (
                "decision",
                or_dash(submission.decision.as_ref().map(decision)),
            ),
            (
                "proposal",
                or_dash(proposed(submission).map(|(_, words)| words)),
            ),
            ("day", submission.day.clone()),
            ("created_at", self.time(submission.created_at)),
            ("updated_at", self.time(submission.updated_at)),
        ]
    }

    fn receipt_pairs(&self, seen: &ReceiptView) -> Vec<(&'static str, String)> {
        let link = seen.photo.as_ref().map(|link| link.url.as_str());
        match &seen.receipt.source {
            Source::Typed { code, time } => vec![
                ("receipt_type", "typed".to_owned()),
                ("receipt_code", self.secret(code)),
                ("receipt_time", self.secret(&time.expose())),
            ],
            Source::Photo { qr_payload, .. } => vec![
                ("receipt_type", "photo".to_owned()),
                (
                    "qr_payload",
                    or_dash(qr_payload.as_deref().map(|payload| self.secret(payload))),
                ),
                (
                    "photo",
                    or_dash(
                        seen.receipt
                            .arrived
                            .as_ref()
                            .map(|arrived| self.arrived(arrived)),
                    ),
                ),
                (
                    "photo_link",
                    or_dash(link.or(seen.receipt.arrived.as_ref().map(|_| HIDDEN_PHOTO))),
                ),
                (
                    "link_expires_at",
                    or_dash(seen.photo.as_ref().map(|link| self.time(link.expires_at))),
                ),
            ],
        }
    }

    fn secret(&self, text: &str) -> String {
        if self.show_receipt {
            text.to_owned()
        } else {
            HIDDEN.to_owned()
        }
    }

    fn time(&self, at: Timestamp) -> String {
        zoned_time(at, self.zone)
    }

    fn arrived(&self, arrived: &StoredPhoto) -> String {
        let photo_type = arrived
            .photo_type
            .map_or("not a photo by its first bytes", PhotoType::media_type);
        format!(
            "{photo_type}, {} bytes, seen at {}",
            arrived.bytes,
            self.time(arrived.seen_at)
        )
    }

    pub(crate) fn as_json(&self) -> Value {
        let mut json = as_json(self.submission, &self.phone);
        if let Some(fields) = json.as_object_mut() {
            if self.show_receipt {
                let purchase = self
                    .submission
                    .purchase
                    .as_ref()
                    .map(VerificationCode::as_str);
                fields.insert("purchase".to_owned(), json!(purchase));
                let anomaly = self
                    .submission
                    .settling
                    .as_ref()
                    .and_then(|settling| settling.anomaly.as_ref());
                fields.insert(
                    "anomaly_said".to_owned(),
                    json!(anomaly.map(|anomaly| &anomaly.excerpt)),
                );
            }
            let entered = self.code_entered.as_ref().map(CodeEntered::as_json);
            fields.extend(entered.map(|entered| ("code_entered".to_owned(), entered)));
            fields.insert(
                "receipt_source".to_owned(),
                json!(self.receipt.as_ref().map(|seen| self.source(seen))),
            );
        }
        json
    }

    fn source(&self, seen: &ReceiptView) -> Map<String, Value> {
        let (shown, secrets) = match &seen.receipt.source {
            Source::Typed { code, time } => (
                json!({ "type": "typed" }),
                json!({ "code": code, "time": time.expose() }),
            ),
            Source::Photo {
                content_type,
                size_bytes,
                qr_payload,
            } => {
                let arrived = seen.receipt.arrived.as_ref().map(|arrived| {
                    json!({
                        "bytes": arrived.bytes,
                        "content_type": arrived.photo_type.map(PhotoType::media_type),
                        "seen_at": arrived.seen_at.to_string(),
                    })
                });
                let link = seen.photo.as_ref();
                let link = link.map(
                    |link| json!({ "url": link.url, "expires_at": link.expires_at.to_string() }),
                );
                let shown = json!({
                    "type": "photo",
                    "content_type": content_type.media_type(),
                    "size_bytes": size_bytes,
                    "has_qr_payload": qr_payload.is_some(),
                    "arrived": arrived,
                    "link": link,
                });
                (shown, json!({ "qr_payload": qr_payload }))
            }
        };
        let secrets = if self.show_receipt {
            secrets
        } else {
            Value::Null
        };
        [shown, secrets]
            .into_iter()
            .filter_map(|part| part.as_object().cloned())
            .flatten()
            .collect()
    }
}

/// When the next step is due, or since when the submission has waited for an operator.
pub fn next_step(settling: &PendingSettlement, time: impl Fn(Timestamp) -> String) -> String {
    let at = time(settling.next_step_at);
    match settling.assignee {
        Assignee::Operator => format!("waits since {at}"),
        Assignee::Service if settling.attempts_started > 0 => {
            format!("under way; due again at {at} if it is lost")
        }
        Assignee::Service => format!("due at {at}"),
    }
}

/// The number of failed look-ups by kind; `None` if there were none.
pub fn lookup_failures(lookup_failures: LookupFailures) -> Option<String> {
    let LookupFailures {
        missing,
        throttled,
        trouble,
        unanswered_since: _,
    } = lookup_failures;
    let counts = [
        ("missing", missing),
        ("throttled", throttled),
        ("trouble", trouble),
    ];
    let met: Vec<_> = counts.iter().filter(|(_, count)| *count > 0).collect();
    let words: Vec<_> = met
        .iter()
        .map(|(name, count)| format!("{name} x {count}"))
        .collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// The partner's code and message, as it sent them.
fn upstream(upstream: &PartnerMessage) -> String {
    let code = match &upstream.code {
        UpstreamCode::Number(number) => number.to_string(),
        UpstreamCode::Text(text) => text.clone(),
    };
    let message = upstream
        .message
        .as_ref()
        .map(|message| format!(": {message}"))
        .unwrap_or_default();
    format!("{code}{message}")
}

/// A submission as JSON, without its receipt's secrets.
pub fn as_json(submission: &Submission, phone: &str) -> Value {
    let Submission { scope, status, .. } = submission;
    let decision = |decision: &OperatorDecision| {
        let OperatorDecision {
            by,
            at,
            why,
            confirmed,
            identity,
        } = decision;
        json!({ "by": by, "identity": identity, "at": at.to_string(), "why": why, "confirmed": confirmed })
    };
    let proposal = submission.approval.as_ref().map(|first| {
        let change = match &first.change {
            ProposedChange::Accept(first) => {
                json!({ "change": "accept", "entries": first.entries })
            }
            ProposedChange::Correct(correction) => json!(correction),
        };
        json!({ "correction": change, "decision": decision(&first.decision) })
    });
    json!({
        "id": submission.submission_id,
        "ref": submission.reference().to_string(),
        "campaign": scope.campaign,
        "environment": scope.environment,
        "phone": phone,
        "state": status.state(),
        "review_status": status.review_status(),
        "display_status": status.display_status(),
        "message_key": status.message_key(),
        "reasons": submission.reasons,
        "entries": status.entries(),
        "instant_win": status.instant_win(),
        "region": submission.region,
        "claimed": submission.claimed,
        "consent": submission.consent,
        "receipt_id": submission.receipt_id,
        "receipt": submission.receipt,
        "purchase_known": submission.purchase.is_some(),
        "partner_said": submission.upstream,
        "settling": submission.settling.as_ref().map(settling),
        "decision": submission.decision.as_ref().map(decision),
        "proposal": proposal,
        "second_look": submission.second_look,
        "day": submission.day,
        "created_at": submission.created_at.to_string(),
        "updated_at": submission.updated_at.to_string(),
    })
}

fn settling(settling: &PendingSettlement) -> Value {
    let LookupFailures {
        missing,
        throttled,
        trouble,
        unanswered_since,
    } = settling.lookup_failures();
    let partner = settling.partner_progress();
    let at = settling.next_step_at.to_string();
    let (next_step_at, waiting_since) = match settling.assignee {
        Assignee::Service => (Some(at), None),
        Assignee::Operator => (None, Some(at)),
    };
    json!({
        "partner": {
            "attempts": partner.attempts,
            "may_have_redeemed": partner.maybe_redeemed,
            "unanswered_since": partner.unanswered_since.map(|moment| moment.to_string()),
        },
        "assignee": assignee(settling.assignee),
        "next_step_at": next_step_at,
        "waiting_since": waiting_since,
        "under_way": settling.attempts_started > 0,
        "lookup_failures": {
            "missing": missing,
            "throttled": throttled,
            "trouble": trouble,
            "unanswered_since": unanswered_since.map(|moment| moment.to_string()),
        },
        "prize": settling.prize,
        "anomaly": settling.anomaly.as_ref().map(|anomaly| &anomaly.summary),
    })
}

/// Who acts next.
pub fn assignee(assignee: Assignee) -> &'static str {
    match assignee {
        Assignee::Service => "service",
        Assignee::Operator => "operator",
    }
}

/// An API name, or `-` if there is none.
pub fn word(value: Value) -> String {
    or_dash(value.as_str())
}
