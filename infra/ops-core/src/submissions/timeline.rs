//! The history of a submission, from its records.

use common::domain::submission::PastState;

use super::code_entered::CodeEntered;
use crate::approvals::in_words;
use crate::prelude::*;

#[derive(Clone, Debug, Serialize)]
pub struct Timeline {
    pub id: String,
    #[serde(rename = "ref")]
    pub reference: String,
    pub request_id: Option<String>,
    #[serde(skip)]
    pub zone: Tz,
    pub events: Vec<Event>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Event {
    pub at: Timestamp,
    pub what: String,
}

impl Timeline {
    pub fn new(
        submission: &Submission,
        code_entered: Option<&CodeEntered>,
        receipt: Option<&Receipt>,
        zone: Tz,
    ) -> Self {
        let mut events = Vec::new();
        let mut add = |at, what: String| events.push(Event { at, what });
        if let Some(receipt) = receipt {
            add(
                receipt.created_at,
                format!("receipt {} made", receipt.receipt_id),
            );
            if let Some(arrived) = &receipt.arrived {
                add(arrived.seen_at, "its photo seen in storage".to_owned());
            }
        }
        let (now, mut decided) = (submission.state_now(), None);
        for (index, state) in submission.history.iter().chain([&now]).enumerate() {
            if let Some(decision) = state.decision.as_ref()
                && decided != Some(decision)
            {
                add(decision.at, format!("decided {}", said(decision)));
                decided = Some(decision);
            }
            let made = match submission.test_shift {
                _ if index > 0 => String::new(),
                Some(_) => format!("made, for {}: ", zoned_time(submission.created_at, zone)),
                None => "made: ".to_owned(),
            };
            add(
                submission.real_time(state.at),
                format!("{made}{}", sentence(state)),
            );
        }
        if let Some(entered) = code_entered {
            add(submission.sent_at(), entered.sentence());
        }
        if let Some((at, words)) = proposed(submission) {
            add(at, format!("{words}, if another person agrees"));
        }
        // Stable: at equal times, a receipt stays before its submission, a decision before its
        // result.
        events.sort_by_key(|event| event.at);
        events.extend(submission.settling.as_ref().map(|settling| {
            let next = match settling.assignee {
                Assignee::Service => "next step due",
                Assignee::Operator => "waits for a person since then",
            };
            Event {
                at: settling.next_step_at,
                what: next.to_owned(),
            }
        }));
        Self {
            id: submission.submission_id.to_string(),
            reference: submission.reference().to_string(),
            request_id: submission.request_id.clone(),
            zone,
            events,
        }
    }
}

fn sentence(state: &PastState) -> String {
    let PastState {
        status,
        reasons,
        is_under_way,
        anomaly,
        ..
    } = state;
    let message = status.message_key().as_str();
    let review = json!(status.review_status());
    let reasons = reasons.iter().map(String::as_str);
    let parts: Vec<_> = [status.state().as_str(), message]
        .into_iter()
        .chain(review.as_str())
        .chain(reasons.filter(|reason| *reason != message))
        .collect();
    let begun = if *is_under_way { "; a step begun" } else { "" };
    let anomaly = anomaly.as_ref().map(|anomaly| format!("; {anomaly}"));
    format!("{}{begun}{}", parts.join(", "), anomaly.unwrap_or_default())
}

fn said(decision: &OperatorDecision) -> String {
    let words = |by: &str, why: &Option<String>| match why {
        Some(why) => format!("by {by}: {why}"),
        None => format!("by {by}"),
    };
    let first = words(&decision.by, &decision.why);
    match &decision.confirmed {
        Some(second) => format!("{first}; confirmed {}", words(&second.by, &second.why)),
        None => first,
    }
}

/// A change that waits for a second person, and since when.
pub fn proposed(submission: &Submission) -> Option<(Timestamp, String)> {
    let Approval { change, decision } = submission.approval.as_ref()?;
    let words = format!("{}, asked for {}", in_words(change), said(decision));
    Some((decision.at, words))
}
