//! The history of a submission, from its records.

use chrono_tz::Tz;
use common::domain::settling::Assignee;
use common::domain::submission::approval::{Acceptance, Approval, ProposedChange};
use common::domain::submission::correction::Correction;
use common::domain::submission::{OperatorDecision, PastState, Submission};
use common::domain::timestamp::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::code_entered::CodeEntered;
use crate::format::entries_in_words;
use crate::receipts::ReceiptView;

/// What happened to a submission.
#[derive(Clone, Debug, Serialize)]
pub struct Timeline {
    pub id: String,
    #[serde(rename = "ref")]
    pub reference: String,
    /// The request that made it.
    pub request_id: Option<String>,
    /// The campaign's time zone.
    #[serde(skip)]
    pub zone: Tz,
    /// Oldest first.
    pub events: Vec<Event>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Event {
    pub at: Timestamp,
    pub what: String,
}

impl Timeline {
    /// Builds the history from the records.
    pub fn new(
        submission: &Submission,
        code_entered: Option<&CodeEntered>,
        receipt: Option<&ReceiptView>,
        zone: Tz,
    ) -> Self {
        let mut events = Vec::new();
        if let Some(ReceiptView { receipt, .. }) = receipt {
            events.push((
                receipt.created_at,
                format!("receipt {} made", receipt.receipt_id),
            ));
            let arrived = receipt.arrived.as_ref();
            events.extend(
                arrived.map(|arrived| (arrived.seen_at, "its photo seen in storage".to_owned())),
            );
        }
        let (now, mut decided) = (submission.state_now(), None);
        for (index, state) in submission.history.iter().chain([&now]).enumerate() {
            let decision = state
                .decision
                .as_ref()
                .filter(|decision| decided != Some(*decision));
            events.extend(
                decision.map(|decision| (decision.at, format!("decided {}", said(decision)))),
            );
            decided = decision.or(decided);
            let made = if index == 0 { "made: " } else { "" };
            events.push((state.at, format!("{made}{}", sentence(state))));
        }
        events.extend(code_entered.map(|entered| (submission.created_at, entered.sentence())));
        let proposed = proposed(submission)
            .map(|(at, words)| (at, format!("{words}, if another person agrees")));
        events.extend(proposed);
        // The sort is stable: of events at the same time, a receipt stays before its submission, and a decision before
        // its result.
        events.sort_by_key(|(at, _)| *at);
        events.extend(submission.settling.as_ref().map(|settling| {
            let next = match settling.assignee {
                Assignee::Service => "next step due",
                Assignee::Operator => "waits for a person since then",
            };
            (settling.next_step_at, next.to_owned())
        }));
        Self {
            id: submission.submission_id.to_string(),
            reference: submission.reference().to_string(),
            request_id: submission.request_id.clone(),
            zone,
            events: events
                .into_iter()
                .map(|(at, what)| Event { at, what })
                .collect(),
        }
    }
}

/// Describes a state that a submission reached.
fn sentence(state: &PastState) -> String {
    let PastState {
        status,
        reasons,
        is_under_way,
        anomaly,
        ..
    } = state;
    let name = |value: Value| value.as_str().unwrap_or_default().to_owned();
    let mut sentence = format!("{}, {}", name(json!(status.state())), status.message_key());
    if let Some(review) = status.review_status() {
        sentence.push_str(&format!(", {}", name(json!(review))));
    }
    let reasons: Vec<_> = reasons
        .iter()
        .filter(|reason| *reason != status.message_key().as_str())
        .collect();
    for reason in reasons {
        sentence.push_str(&format!(", {reason}"));
    }
    if *is_under_way {
        sentence.push_str("; a step begun");
    }
    if let Some(anomaly) = anomaly {
        sentence.push_str(&format!("; {anomaly}"));
    }
    sentence
}

/// A decision in words: by whom, and why.
pub fn said(decision: &OperatorDecision) -> String {
    let words = |by: &str, why: &Option<String>| {
        let why = why
            .as_ref()
            .map(|why| format!(": {why}"))
            .unwrap_or_default();
        format!("by {by}{why}")
    };
    let second = decision.confirmed.as_ref();
    let second = second.map(|second| format!("; confirmed {}", words(&second.by, &second.why)));
    format!(
        "{}{}",
        words(&decision.by, &decision.why),
        second.unwrap_or_default()
    )
}

/// What waits for a second person, in words, and since when.
pub fn proposed(submission: &Submission) -> Option<(Timestamp, String)> {
    let Approval { change, decision } = submission.approval.as_ref()?;
    let what = match change {
        ProposedChange::Accept(Acceptance { entries, .. }) => {
            format!("accept with {}", entries_in_words(*entries))
        }
        ProposedChange::Correct(Correction::Revoke { free_code: false }) => "revoke".to_owned(),
        ProposedChange::Correct(Correction::Revoke { free_code: true }) => {
            "revoke and free the code".to_owned()
        }
        ProposedChange::Correct(Correction::Reopen) => "reopen".to_owned(),
    };
    Some((decision.at, format!("{what}, asked for {}", said(decision))))
}
