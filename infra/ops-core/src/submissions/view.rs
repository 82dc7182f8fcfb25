use chrono_tz::Tz;
use common::config::Env;
use common::domain::partner::reply::{PartnerMessage, UpstreamCode};
use common::domain::receipt::judgement::ReceiptSummary;
use common::domain::receipt::payload::VerificationCode;
use common::domain::receipt::photo::PhotoType;
use common::domain::receipt::{Receipt, Source};
use common::domain::retry::LookupFailures;
use common::domain::settling::{Assignee, PendingSettlement};
use common::domain::submission::{DeclaredPurchase, Submission};
use common::domain::timestamp::Timestamp;
use serde_json::{Value, json};

use super::code_entered::CodeEntered;
use super::timeline::{Timeline, proposed, said};
use super::{Disclosure, record_disclosure};
use crate::approvals::proposal_json;
use crate::failure::Failure;
use crate::format::{NOTHING, grouped, zoned_time};
use crate::phones;
use crate::receipts::{self, ReceiptView};
use crate::tables::Tables;
use crate::view::{self, Columns, extended, of_record, write_times_out};

const HIDDEN: &str = "hidden; --show-receipt shows it";
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
    ("assignee", "/settling/assignee"),
    ("anomaly", "/settling/anomaly"),
    ("receipt_type", "/receipt_source/type"),
    ("photo_type", "/receipt_source/arrived/content_type"),
    ("photo_bytes", "/receipt_source/arrived/bytes"),
    ("photo_seen_at", "/receipt_source/arrived/seen_at"),
    ("link_expires_at", "/receipt_source/link/expires_at"),
];

pub struct SubmissionView<'a> {
    submission: &'a Submission,
    phone: String,
    /// The reason why its code was refused.
    code_entered: Option<CodeEntered>,
    receipt: Option<ReceiptView>,
    pub zone: Tz,
    show_receipt: bool,
}

impl<'a> SubmissionView<'a> {
    /// Showing a hidden part writes a row first.
    pub async fn load(
        tables: &Tables,
        env: &Env,
        submission: &'a Submission,
        show: Disclosure,
        now: Timestamp,
    ) -> Result<Self, Failure> {
        let recorded = record_disclosure(tables, submission, show, now).await?;
        let photo = recorded.as_ref().filter(|_| show.photo);
        let zone = tables.campaign(&submission.scope.campaign).await?.timezone;
        Ok(Self {
            submission,
            phone: phones::shown(tables, submission, show.phone).await?,
            code_entered: CodeEntered::before(tables, submission, zone).await?,
            receipt: receipts::of_submission(tables, env, submission, photo, now).await?,
            zone,
            show_receipt: show.receipt,
        })
    }

    pub fn timeline(&self) -> Timeline {
        let (entered, receipt) = (self.code_entered.as_ref(), self.receipt.as_ref());
        Timeline::new(self.submission, entered, receipt, self.zone)
    }

    pub fn has_photo(&self) -> bool {
        let source = self.receipt.as_ref().map(|seen| &seen.receipt.source);
        matches!(source, Some(Source::Photo { .. }))
    }

    pub(crate) fn as_json(&self) -> Value {
        let submission = self.submission;
        let source = self.receipt.as_ref().map(|seen| {
            let source = receipt_source(&seen.receipt, self.show_receipt);
            let link = seen.photo.as_ref().map(of_record);
            extended(source, self.has_photo().then(|| ("link", json!(link))))
        });
        let entered = self.code_entered.as_ref();
        let mut more = vec![("receipt_source", json!(source))];
        more.extend(entered.map(|entered| ("code_entered", entered.as_json())));
        if self.show_receipt {
            more.push(("purchase", json!(submission.purchase)));
            more.push(("anomaly_said", json!(anomaly_excerpt(submission))));
        }
        extended(as_json(submission, &self.phone), more)
    }

    /// Named as in the API.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let submission = self.submission;
        let time = |at| zoned_time(at, self.zone);
        let settling = submission.settling.as_ref();
        let partner = settling.map(PendingSettlement::partner_progress);
        let source = self.receipt.as_ref().map(|seen| &seen.receipt.source);
        let (code, sent_at, payload) = match source {
            Some(Source::Typed { code, time }) => (Some(code.as_str()), Some(time.expose()), None),
            Some(Source::Photo { qr_payload, .. }) => (None, None, qr_payload.as_deref()),
            None => (None, None, None),
        };
        let secret = |text: &str| if self.show_receipt { text } else { HIDDEN }.to_owned();
        let purchase = submission.purchase.as_ref().map(VerificationCode::as_str);
        let decision = submission.decision.as_ref();
        let facts = [
            ("claimed", submission.claimed.as_ref().map(claimed)),
            ("receipt", submission.receipt.as_ref().map(receipt)),
            ("partner_said", submission.upstream.as_ref().map(upstream)),
            (
                "decision",
                decision.map(|one| format!("at {} {}", time(one.at), said(one))),
            ),
            ("proposal", proposed(submission).map(|(_, words)| words)),
            (
                "code",
                self.code_entered.as_ref().map(CodeEntered::sentence),
            ),
            (
                "next_step",
                settling.map(|settling| next_step(settling, time)),
            ),
            (
                "lookup_failures",
                settling.and_then(|settling| lookup_failures(settling.lookup_failures())),
            ),
            (
                "partner_asked",
                partner
                    .filter(|partner| partner.attempts > 0)
                    .map(|partner| format!("{} times in vain", partner.attempts)),
            ),
            (
                "partner_redeemed",
                partner
                    .filter(|_| submission.partner_code.is_some())
                    .map(|partner| match partner.maybe_redeemed {
                        true => "perhaps; ask it about the id".to_owned(),
                        false => "no".to_owned(),
                    }),
            ),
            ("anomaly_said", anomaly_excerpt(submission).map(secret)),
            (
                "purchase",
                purchase.filter(|_| source.is_some()).map(secret),
            ),
            ("receipt_code", code.map(secret)),
            ("receipt_time", sent_at.as_deref().map(secret)),
            ("qr_payload", payload.map(secret)),
            ("photo_link", self.photo_link()),
        ];
        let facts = facts
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        view::facts(FACTS, &self.as_json(), self.zone)
            .into_iter()
            .filter(|(_, value)| !matches!(value.as_str(), "" | NOTHING))
            .chain(facts)
            .collect()
    }

    fn photo_link(&self) -> Option<String> {
        let seen = self.receipt.as_ref()?;
        let link = seen.photo.as_ref().map(|link| link.url.clone());
        link.or_else(|| seen.receipt.arrived.map(|_| HIDDEN_PHOTO.to_owned()))
    }
}

fn anomaly_excerpt(submission: &Submission) -> Option<&str> {
    let anomaly = submission.settling.as_ref()?.anomaly.as_ref()?;
    anomaly.excerpt.as_deref()
}

fn claimed(claimed: &DeclaredPurchase) -> String {
    let items = claimed
        .items
        .iter()
        .map(|item| format!("{} x {}", item.qty, item.key));
    let branch = claimed.branch.iter().map(|branch| format!("at {branch}"));
    items.chain(branch).collect::<Vec<_>>().join(", ")
}

fn receipt(receipt: &ReceiptSummary) -> String {
    let counted = receipt
        .counted_entries
        .map(|entries| format!("{} entries counted", grouped(entries.into())));
    let parts = [
        &receipt.date,
        &receipt.branch,
        &receipt.items_summary,
        &counted,
    ];
    let parts: Vec<_> = parts.into_iter().flatten().cloned().collect();
    parts.join(", ")
}

fn upstream(upstream: &PartnerMessage) -> String {
    let code = match &upstream.code {
        UpstreamCode::Number(number) => number.to_string(),
        UpstreamCode::Text(text) => text.clone(),
    };
    match &upstream.message {
        Some(message) => format!("{code}: {message}"),
        None => code,
    }
}

/// The due time, or the start of waiting for an operator.
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

/// `None` if there were none.
pub fn lookup_failures(failures: LookupFailures) -> Option<String> {
    let LookupFailures {
        missing,
        throttled,
        trouble,
        unanswered_since: _,
    } = failures;
    let met: Vec<_> = [
        ("missing", missing),
        ("throttled", throttled),
        ("trouble", trouble),
    ]
    .into_iter()
    .filter(|(_, count)| *count > 0)
    .map(|(name, count)| format!("{name} x {count}"))
    .collect();
    (!met.is_empty()).then(|| met.join(", "))
}

pub(crate) fn receipt_source(receipt: &Receipt, with_secrets: bool) -> Value {
    match &receipt.source {
        Source::Typed { code, time } => {
            let secrets = [("code", json!(code)), ("time", json!(time.expose()))];
            extended(
                json!({ "type": "typed" }),
                secrets.into_iter().filter(|_| with_secrets),
            )
        }
        Source::Photo {
            content_type,
            size_bytes,
            qr_payload,
        } => {
            let arrived = receipt.arrived.as_ref().map(|arrived| {
                json!({
                    "bytes": arrived.bytes,
                    "content_type": arrived.photo_type.map(PhotoType::as_str),
                    "seen_at": arrived.seen_at.to_string(),
                })
            });
            let source = json!({
                "type": "photo",
                "content_type": content_type.as_str(),
                "size_bytes": size_bytes,
                "has_qr_payload": qr_payload.is_some(),
                "arrived": arrived,
            });
            extended(
                source,
                with_secrets.then(|| ("qr_payload", json!(qr_payload))),
            )
        }
    }
}

/// Leaves out the receipt's secrets.
pub(crate) fn as_json(submission: &Submission, phone: &str) -> Value {
    let Submission { scope, status, .. } = submission;
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
        "proposal": submission.approval.as_ref().map(proposal_json),
        "second_look": submission.second_look,
        "day": submission.day,
        "created_at": submission.created_at,
        "updated_at": submission.updated_at,
    });
    write_times_out(&mut view);
    match of_record(status) {
        Value::Object(status) => extended(view, status),
        _ => view,
    }
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

pub(crate) fn assignee(assignee: Assignee) -> &'static str {
    match assignee {
        Assignee::Service => "service",
        Assignee::Operator => "operator",
    }
}
