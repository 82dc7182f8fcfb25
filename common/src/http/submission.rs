//! The Submission object of replies.

use serde::Serialize;

use crate::domain::campaign::Campaign;
use crate::domain::ids::SubmissionId;
use crate::domain::message::{Language, MessageKey};
use crate::domain::partner::reply::Upstream;
use crate::domain::receipt::judgement::ReceiptSummary;
use crate::domain::submission::{DisplayStatus, ReviewStatus, State, Submission};
use crate::domain::timestamp::Timestamp;

/// A submission as callers see it.
#[derive(Clone, Debug, Serialize)]
pub struct SubmissionObject<'a> {
    id: String,
    #[serde(rename = "ref")]
    reference: String,
    campaign: &'a str,
    livemode: bool,
    state: State,
    review_status: Option<ReviewStatus>,
    display_status: DisplayStatus,
    message_key: MessageKey,
    message: &'a str,
    reasons: &'a [String],
    entries: u32,
    instant_win: Option<&'a str>,
    terminal: bool,
    poll_after_seconds: Option<u64>,
    replayed: bool,
    receipt: Option<ReceiptRecordObject<'a>>,
    upstream: Option<&'a Upstream>,
    created_at: String,
    updated_at: String,
}

/// What the tax authority's record says, as callers see it.
#[derive(Clone, Debug, Serialize)]
struct ReceiptRecordObject<'a> {
    date: Option<&'a str>,
    branch: Option<&'a str>,
    items_summary: Option<&'a str>,
    tra_verified: bool,
}

impl<'a> ReceiptRecordObject<'a> {
    fn new(summary: &'a ReceiptSummary) -> Self {
        Self {
            date: summary.date.as_deref(),
            branch: summary.branch.as_deref(),
            items_summary: summary.items_summary.as_deref(),
            tra_verified: true,
        }
    }
}

impl<'a> SubmissionObject<'a> {
    /// Renders a submission of a campaign in a language. `replayed` says that it is an earlier one,
    /// found by its code and phone.
    pub fn new(
        submission: &'a Submission,
        campaign: &'a Campaign,
        language: Language,
        replayed: bool,
        now: Timestamp,
    ) -> Self {
        let status = &submission.status;
        let id: SubmissionId = submission.submission_id;
        Self {
            id: id.to_string(),
            reference: submission.reference.to_string(),
            campaign: submission.scope.campaign.as_str(),
            livemode: submission.scope.environment.is_live(),
            state: status.state(),
            review_status: status.review_status(),
            display_status: status.display_status(),
            message_key: status.message_key(),
            message: campaign.messages.text(status.message_key(), language),
            reasons: &submission.reasons,
            entries: status.entries(),
            instant_win: status.instant_win(),
            terminal: status.is_terminal(),
            poll_after_seconds: submission.poll_after_seconds(now),
            replayed,
            receipt: submission.receipt.as_ref().map(ReceiptRecordObject::new),
            upstream: submission.upstream.as_ref(),
            created_at: submission.created_at.to_string(),
            updated_at: submission.updated_at.to_string(),
        }
    }
}
