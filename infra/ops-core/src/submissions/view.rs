use common::aws::photos::LINK_LIFETIME;
use common::domain::receipt::photo::PhotoType;
use common::domain::retry::{LookupFailures, PartnerProgress};
use common::domain::settling::PendingSettlement;
use common::domain::submission::DeclaredPurchase;

use super::code_entered::CodeEntered;
use super::timeline::{Timeline, proposed};
use super::{Disclosure, record_disclosure};
use crate::approvals::proposal_json;
use crate::prelude::*;

const HIDDEN: &str = "hidden; --show-receipt shows it";
const HIDDEN_PHOTO: &str = "hidden; --show-photo links to it";

/// The columns of exports and the first facts, each with its place in the view. Those that end in `_local` are in the campaign's
/// time zone. New ones are added at the end, since the spreadsheets of others count them.
pub(crate) const COLUMNS: [(&str, &str); 34] = [
    ("id", "/id"),
    ("ref", "/ref"),
    ("campaign", "/campaign"),
    ("environment", "/environment"),
    ("entrant_id", "/entrant_id"),
    ("phone", "/phone"),
    ("state", "/state"),
    ("review_status", "/review_status"),
    ("display_status", "/display_status"),
    ("message_key", "/message_key"),
    ("reasons", "/reasons"),
    ("entries", "/entries"),
    ("instant_win", "/instant_win"),
    ("day", "/day"),
    ("created_at", "/created_at"),
    ("created_at_local", "/created_at"),
    ("updated_at", "/updated_at"),
    ("updated_at_local", "/updated_at"),
    ("region", "/region"),
    ("claimed_items", "/claimed_items"),
    ("claimed_branch", "/claimed/branch"),
    ("consent_version", "/consent/version"),
    ("consent_language", "/consent/language"),
    ("receipt_id", "/receipt_id"),
    ("receipt_date", "/receipt/date"),
    ("receipt_branch", "/receipt/branch"),
    ("receipt_items", "/receipt/items_summary"),
    ("upstream_code", "/partner_said/code"),
    ("upstream_message", "/partner_said/message"),
    ("decided_by", "/decision/by"),
    ("decided_at", "/decision/at"),
    ("decided_at_local", "/decision/at"),
    ("decision_why", "/decision/why"),
    ("channel", "/channel"),
];

/// Further facts.
const FACTS: &Columns = &[
    ("counted_entries", "/receipt/counted_entries"),
    ("confirmed_by", "/decision/confirmed/by"),
    ("confirmed_why", "/decision/confirmed/why"),
    ("assignee", "/settling/assignee"),
    ("next_step_at", "/settling/next_step_at"),
    ("waiting_since", "/settling/waiting_since"),
    ("under_way", "/settling/under_way"),
    ("lookup_failures", "/settling/lookups"),
    ("anomaly", "/settling/anomaly"),
    ("anomaly_said", "/anomaly_said"),
    ("purchase", "/purchase"),
    ("receipt_type", "/receipt_source/type"),
    ("receipt_code", "/receipt_source/code"),
    ("receipt_time", "/receipt_source/time"),
    ("qr_payload", "/receipt_source/qr_payload"),
    ("photo_type", "/receipt_source/arrived/content_type"),
    ("photo_bytes", "/receipt_source/arrived/bytes"),
    ("photo_seen_at", "/receipt_source/arrived/seen_at"),
    ("photo_link", "/receipt_source/link/url"),
    ("link_expires_at", "/receipt_source/link/expires_at"),
];

pub struct SubmissionView<'a> {
    submission: &'a Submission,
    phone: String,
    /// The reason why its code was refused.
    code_entered: Option<CodeEntered>,
    receipt: Option<Receipt>,
    /// Shows the photo to anyone who has it.
    link: Option<Value>,
    pub zone: Tz,
    show_receipt: bool,
}

impl<'a> SubmissionView<'a> {
    /// Showing a hidden part writes a row first.
    pub async fn load(
        tables: &Tables,
        submission: &'a Submission,
        show: Disclosure,
        now: Timestamp,
    ) -> Result<Self> {
        if show != Disclosure::default() {
            record_disclosure(tables, submission, show, now).await?;
        }
        let receipt = tables.receipt(submission).await?;
        let link = match &receipt {
            Some(receipt) if show.photo && receipt.arrived.is_some() => {
                let photos = tables.photos()?;
                let url = photos.link(&receipt.scope, receipt.receipt_id).await?;
                Some(json!({ "url": url, "expires_at": now.after(LINK_LIFETIME) }))
            }
            Some(_) | None => None,
        };
        let zone = tables.zone(&submission.scope).await?;
        Ok(Self {
            submission,
            phone: phones::shown(tables, submission, show.phone).await?,
            code_entered: CodeEntered::before(tables, submission, zone).await?,
            receipt,
            link,
            zone,
            show_receipt: show.receipt,
        })
    }

    pub fn timeline(&self) -> Timeline {
        let (entered, receipt) = (self.code_entered.as_ref(), self.receipt.as_ref());
        Timeline::new(self.submission, entered, receipt, self.zone)
    }

    /// Masked, unless it was asked for.
    pub fn phone(&self) -> &str {
        &self.phone
    }

    pub fn code_entered(&self) -> Option<&CodeEntered> {
        self.code_entered.as_ref()
    }

    pub fn has_photo(&self) -> bool {
        let source = self.receipt.as_ref().map(|receipt| &receipt.source);
        matches!(source, Some(Source::Photo { .. }))
    }

    pub(crate) fn as_json(&self) -> Value {
        let submission = self.submission;
        let source = self.receipt.as_ref().map(|receipt| {
            let source = receipt_source(receipt, self.show_receipt);
            extended(source, self.has_photo().then(|| ("link", json!(self.link))))
        });
        let entered = self.code_entered.as_ref();
        let mut more = vec![("receipt_source", json!(source))];
        more.extend(entered.map(|entered| ("code_entered", entered.as_json())));
        if self.show_receipt {
            more.push(("purchase", json!(submission.purchase)));
            more.push(("anomaly_said", json!(anomaly_excerpt(submission))));
        }
        extended(as_json(submission, self.phone.as_str()), more)
    }

    /// Named as in the API.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let (submission, receipt) = (self.submission, self.receipt.as_ref());
        let partner = partner_progress(submission);
        let asked = |partner: PartnerProgress| {
            let redeemed = match partner.maybe_redeemed {
                true => "perhaps redeemed; ask it about the id",
                false => "not redeemed",
            };
            format!("asked {} times in vain, {redeemed}", partner.attempts)
        };
        let has_hidden = self.link.is_none() && receipt.is_some_and(|one| one.arrived.is_some());
        let others = [
            ("proposal", proposed(submission).map(|(_, words)| words)),
            (
                "code",
                self.code_entered.as_ref().map(CodeEntered::sentence),
            ),
            ("partner", partner.map(asked)),
            (
                "receipt_code",
                receipt
                    .filter(|_| !self.show_receipt)
                    .map(|_| HIDDEN.to_owned()),
            ),
            ("photo_link", has_hidden.then(|| HIDDEN_PHOTO.to_owned())),
        ];
        let view = self.as_json();
        let mut known = facts(&COLUMNS, &view, self.zone);
        known.extend(facts(FACTS, &view, self.zone));
        known.retain(|(_, value)| !value.is_empty());
        known.extend(
            others
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        known
    }
}

fn anomaly_excerpt(submission: &Submission) -> Option<&str> {
    let anomaly = submission.settling.as_ref()?.anomaly.as_ref()?;
    anomaly.excerpt.as_deref()
}

fn items_in_words(claimed: &DeclaredPurchase) -> String {
    let items = claimed.items.iter();
    joined(items.map(|item| format!("{} x {}", item.qty, item.key)))
}

/// `None` if there were none.
fn lookup_failures(failures: LookupFailures) -> Option<String> {
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
                    "seen_at": arrived.seen_at,
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
pub(crate) fn as_json(submission: &Submission, phone: impl Into<Value>) -> Value {
    let Submission { scope, status, .. } = submission;
    let view = json!({
        "id": submission.submission_id,
        "ref": submission.reference().to_string(),
        "scope": scope,
        "phone": phone.into(),
        "display_status": status.display_status(),
        "reasons": submission.reasons,
        "region": submission.region,
        "channel": submission.channel,
        "claimed": submission.claimed,
        "claimed_items": submission.claimed.as_ref().map(items_in_words),
        "consent": submission.consent,
        "receipt_id": submission.receipt_id,
        "receipt": submission.receipt,
        "purchase_known": submission.purchase.is_some(),
        "partner_said": submission.upstream,
        "settling": submission.settling.as_ref().map(settling),
        "decision": submission.decision,
        "proposal": submission.approval.as_ref().map(proposal_json),
        "second_look": submission.spot_check,
        "day": submission.day,
        "created_at": submission.created_at,
        "updated_at": submission.updated_at,
    });
    match json!(status) {
        Value::Object(status) => extended(of_record(&view), status),
        _ => view,
    }
}

/// The partner's silence; `None` without a partner's code.
pub fn partner_progress(submission: &Submission) -> Option<PartnerProgress> {
    let settling = submission.settling.as_ref()?;
    submission
        .partner_code
        .is_some()
        .then(|| settling.partner_progress())
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
        "assignee": settling.assignee,
        "next_step_at": Some(settling.next_step_at).filter(|_| !is_waiting),
        "waiting_since": Some(settling.next_step_at).filter(|_| is_waiting),
        "under_way": settling.attempts_started > 0,
        "lookup_failures": {
            "missing": missing,
            "throttled": throttled,
            "trouble": trouble,
            "unanswered_since": unanswered_since,
        },
        "lookups": lookup_failures(settling.lookup_failures()),
        "prize": settling.prize,
        "anomaly": settling.anomaly.as_ref().map(|anomaly| &anomaly.summary),
    })
}
