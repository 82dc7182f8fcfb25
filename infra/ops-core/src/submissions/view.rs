//! The view of a submission.

use chrono_tz::Tz;
use common::domain::partner::reply::{PartnerMessage, UpstreamCode};
use common::domain::receipt::judgement::ReceiptSummary;
use common::domain::receipt::payload::VerificationCode;
use common::domain::receipt::photo::PhotoType;
use common::domain::receipt::{Receipt, Source};
use common::domain::retry::{LookupFailures, PartnerProgress};
use common::domain::settling::{Assignee, PendingSettlement};
use common::domain::submission::approval::ProposedChange;
use common::domain::submission::{DeclaredPurchase, Submission};
use common::domain::timestamp::Timestamp;
use serde_json::{Value, json};

use super::code_entered::CodeEntered;
use super::timeline::{proposed, said};
use crate::format::{grouped, or_dash, zoned_time};
use crate::receipts::ReceiptView;
use crate::view::{Columns, extended, facts, of_record, write_times_out};

/// Shown in place of a receipt's secrets.
const HIDDEN: &str = "hidden; --show-receipt shows it";
/// Shown in place of the link to a photo that has arrived.
const HIDDEN_PHOTO: &str = "hidden; --show-photo links to it";

const FACTS: &Columns = &[
    ("ref", "/ref"),
    ("id", "/id"),
    ("campaign", "/campaign"),
    ("environment", "/environment"),
    ("phone", "/phone"),
    ("state", "/state"),
    ("review_status", "/review_status"),
    ("display_status", "/display_status"),
    ("message_key", "/message_key"),
    ("reasons", "/reasons"),
    ("entries", "/entries"),
    ("instant_win", "/instant_win"),
    ("region", "/region"),
    ("receipt_id", "/receipt_id"),
    ("day", "/day"),
    ("created_at", "/created_at"),
    ("updated_at", "/updated_at"),
];
const SETTLING: &Columns = &[
    ("assignee", "/settling/assignee"),
    ("anomaly", "/settling/anomaly"),
];
const TYPED: &Columns = &[("receipt_type", "/receipt_source/type")];
const PHOTO: &Columns = &[
    ("receipt_type", "/receipt_source/type"),
    ("photo_type", "/receipt_source/arrived/content_type"),
    ("photo_bytes", "/receipt_source/arrived/bytes"),
    ("photo_seen_at", "/receipt_source/arrived/seen_at"),
    ("link_expires_at", "/receipt_source/link/expires_at"),
];

/// A submission and how much of it to show.
pub struct SubmissionView<'a> {
    pub submission: &'a Submission,
    /// Masked or in clear.
    pub phone: String,
    /// The entry because of which its code was refused.
    pub code_entered: Option<CodeEntered>,
    pub receipt: Option<ReceiptView>,
    /// The campaign's time zone, for the times in the text.
    pub zone: Tz,
    /// True to show the receipt's code and what it says.
    pub show_receipt: bool,
}

impl SubmissionView<'_> {
    /// The document for programs.
    pub(crate) fn as_json(&self) -> Value {
        let submission = self.submission;
        let mut view = as_json(submission, &self.phone);
        if let Some(entered) = &self.code_entered {
            view = extended(view, [("code_entered", entered.as_json())]);
        }
        let source = self.receipt.as_ref().map(|seen| {
            let link = seen.photo.as_ref();
            let link = link
                .map(|link| json!({ "url": link.url, "expires_at": link.expires_at.to_string() }));
            let source = receipt_source(&seen.receipt, self.show_receipt);
            match seen.receipt.source {
                Source::Photo { .. } => extended(source, [("link", json!(link))]),
                Source::Typed { .. } => source,
            }
        });
        view = extended(view, [("receipt_source", json!(source))]);
        if !self.show_receipt {
            return view;
        }
        let anomaly = submission
            .settling
            .as_ref()
            .and_then(|settling| settling.anomaly.as_ref());
        let purchase = submission.purchase.as_ref().map(VerificationCode::as_str);
        let excerpt = anomaly.map(|anomaly| &anomaly.excerpt);
        extended(
            view,
            [
                ("purchase", json!(purchase)),
                ("anomaly_said", json!(excerpt)),
            ],
        )
    }

    /// All that is known, by the names of the API, as text.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let (submission, view) = (self.submission, self.as_json());
        let mut pairs = facts(FACTS, &view, self.zone);
        let decision = submission.decision.as_ref();
        pairs.extend([
            ("claimed", or_dash(submission.claimed.as_ref().map(claimed))),
            ("receipt", or_dash(submission.receipt.as_ref().map(receipt))),
            (
                "partner_said",
                or_dash(submission.upstream.as_ref().map(upstream)),
            ),
            (
                "decision",
                or_dash(
                    decision
                        .map(|one| format!("at {} {}", zoned_time(one.at, self.zone), said(one))),
                ),
            ),
            (
                "proposal",
                or_dash(proposed(submission).map(|(_, words)| words)),
            ),
        ]);
        pairs.extend(
            self.code_entered
                .as_ref()
                .map(|entered| ("code", entered.sentence())),
        );
        if let Some(settling) = &submission.settling {
            pairs.extend(facts(SETTLING, &view, self.zone));
            pairs.push((
                "next_step",
                next_step(settling, |at| zoned_time(at, self.zone)),
            ));
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
            if submission.partner_code.is_some() {
                let may_have = if maybe_redeemed {
                    "perhaps; ask it about the id"
                } else {
                    "no"
                };
                pairs.push(("partner_redeemed", may_have.to_owned()));
            }
            let excerpt = settling
                .anomaly
                .as_ref()
                .and_then(|anomaly| anomaly.excerpt.as_deref());
            pairs.extend(excerpt.map(|excerpt| ("anomaly_said", self.secret(excerpt))));
        }
        if let Some(seen) = &self.receipt {
            let purchase = submission.purchase.as_ref().map(VerificationCode::as_str);
            pairs.push(("purchase", or_dash(purchase.map(|code| self.secret(code)))));
            match &seen.receipt.source {
                Source::Typed { code, time } => {
                    pairs.extend(facts(TYPED, &view, self.zone));
                    pairs.push(("receipt_code", self.secret(code)));
                    pairs.push(("receipt_time", self.secret(&time.expose())));
                }
                Source::Photo { qr_payload, .. } => {
                    let payload = qr_payload.as_deref().map(|payload| self.secret(payload));
                    let link = seen.photo.as_ref().map(|link| link.url.as_str());
                    let link = link.or(seen.receipt.arrived.as_ref().map(|_| HIDDEN_PHOTO));
                    pairs.extend(facts(PHOTO, &view, self.zone));
                    pairs.push(("qr_payload", or_dash(payload)));
                    pairs.push(("photo_link", or_dash(link)));
                }
            }
        }
        pairs
    }

    fn secret(&self, text: &str) -> String {
        if self.show_receipt { text } else { HIDDEN }.to_owned()
    }
}

/// Claimed products and the branch.
fn claimed(claimed: &DeclaredPurchase) -> String {
    let items = claimed
        .items
        .iter()
        .map(|item| format!("{} x {}", item.qty, item.key));
    let branch = claimed.branch.iter().map(|branch| format!("at {branch}"));
    items.chain(branch).collect::<Vec<_>>().join(", ")
}

fn receipt(receipt: &ReceiptSummary) -> String {
    let ReceiptSummary {
        date,
        branch,
        items_summary,
        counted_entries,
    } = receipt;
    let counted =
        counted_entries.map(|entries| format!("{} entries counted", grouped(entries.into())));
    let parts = [date, branch, items_summary, &counted];
    parts
        .into_iter()
        .flatten()
        .cloned()
        .collect::<Vec<_>>()
        .join(", ")
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
        .map(|message| format!(": {message}"));
    code + &message.unwrap_or_default()
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
pub fn lookup_failures(failures: LookupFailures) -> Option<String> {
    let LookupFailures {
        missing,
        throttled,
        trouble,
        unanswered_since: _,
    } = failures;
    let counts = [
        ("missing", missing),
        ("throttled", throttled),
        ("trouble", trouble),
    ];
    let met = counts.iter().filter(|(_, count)| *count > 0);
    let words: Vec<_> = met
        .map(|(name, count)| format!("{name} x {count}"))
        .collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// A receipt as the consumer sent it.
pub(crate) fn receipt_source(receipt: &Receipt, with_secrets: bool) -> Value {
    let (shown, secrets) = match &receipt.source {
        Source::Typed { code, time } => (
            json!({ "type": "typed" }),
            [("code", json!(code)), ("time", json!(time.expose()))].to_vec(),
        ),
        Source::Photo {
            content_type,
            size_bytes,
            qr_payload,
        } => {
            let arrived = receipt.arrived.as_ref().map(|arrived| {
                json!({
                    "bytes": arrived.bytes,
                    "content_type": arrived.photo_type.map(PhotoType::media_type),
                    "seen_at": arrived.seen_at.to_string(),
                })
            });
            let shown = json!({
                "type": "photo",
                "content_type": content_type.media_type(),
                "size_bytes": size_bytes,
                "has_qr_payload": qr_payload.is_some(),
                "arrived": arrived,
            });
            (shown, [("qr_payload", json!(qr_payload))].to_vec())
        }
    };
    secrets
        .into_iter()
        .filter(|_| with_secrets)
        .fold(shown, |shown, secret| extended(shown, [secret]))
}

/// The document of a submission, without its receipt's secrets.
pub(crate) fn as_json(submission: &Submission, phone: &str) -> Value {
    let Submission { scope, status, .. } = submission;
    let proposal = submission.approval.as_ref().map(|first| {
        let change = match &first.change {
            ProposedChange::Accept(first) => {
                json!({ "change": "accept", "entries": first.entries })
            }
            ProposedChange::Correct(correction) => json!(correction),
        };
        json!({ "correction": change, "decision": first.decision })
    });
    let mut view = json!({
        "id": submission.submission_id,
        "ref": submission.reference().to_string(),
        "campaign": scope.campaign,
        "environment": scope.environment,
        "phone": phone,
        "display_status": status.display_status(),
        "reasons": submission.reasons,
        "region": submission.region,
        "claimed": submission.claimed,
        "consent": submission.consent,
        "receipt_id": submission.receipt_id,
        "receipt": submission.receipt,
        "purchase_known": submission.purchase.is_some(),
        "partner_said": submission.upstream,
        "settling": submission.settling.as_ref().map(settling),
        "decision": submission.decision,
        "proposal": proposal,
        "second_look": submission.second_look,
        "day": submission.day,
        "created_at": submission.created_at,
        "updated_at": submission.updated_at,
    });
    write_times_out(&mut view);
    if let (Some(view), Value::Object(status)) = (view.as_object_mut(), of_record(status)) {
        view.extend(status);
    }
    view
}

fn settling(settling: &PendingSettlement) -> Value {
    let LookupFailures {
        missing,
        throttled,
        trouble,
        unanswered_since,
    } = settling.lookup_failures();
    let partner = settling.partner_progress();
    let is_waiting = settling.assignee == Assignee::Operator;
    json!({
        "partner": {
            "attempts": partner.attempts,
            "may_have_redeemed": partner.maybe_redeemed,
            "unanswered_since": partner.unanswered_since,
        },
        "assignee": assignee(settling.assignee),
        "next_step_at": Some(settling.next_step_at).filter(|_| !is_waiting),
        "waiting_since": Some(settling.next_step_at).filter(|_| is_waiting),
        "under_way": settling.attempts_started > 0,
        "lookup_failures": {
            "missing": missing,
            "throttled": throttled,
            "trouble": trouble,
            "unanswered_since": unanswered_since,
        },
        "prize": settling.prize,
        "anomaly": settling.anomaly.as_ref().map(|anomaly| &anomaly.summary),
    })
}

/// The name of who acts next.
pub(crate) fn assignee(assignee: Assignee) -> &'static str {
    match assignee {
        Assignee::Service => "service",
        Assignee::Operator => "operator",
    }
}
