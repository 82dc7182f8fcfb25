use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::submission::ReviewStatus;
use crate::domain::{
    Campaign, DisplayStatus, Language, MessageKey, PartnerMessage, ReceiptSummary, State,
    Submission, SubmissionId, Timestamp,
};
use crate::http::schema::{Day, Key, Reference, Slug, Time, Uuid};

/// One attempt of a consumer to enter, including refused ones.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Submission")]
pub struct SubmissionObject<'a> {
    /// Submission id, a random UUID.
    #[schemars(with = "Uuid")]
    id: String,
    /// Short reference that the consumer can quote: four characters, a dash, four characters; digits and capitals.
    #[schemars(with = "Reference")]
    #[serde(rename = "ref")]
    reference: String,
    /// Campaign slug.
    #[schemars(with = "Slug")]
    campaign: &'a str,
    /// `false` if it was created with a test key.
    livemode: bool,
    /// Current state.
    state: State,
    /// Result of looking at the receipt. Null without a receipt, and until the receipt has been read.
    review_status: Option<ReviewStatus>,
    /// The one status to show to the consumer.
    display_status: DisplayStatus,
    /// Message to show. Branch on this, never on `message`.
    message_key: MessageKey,
    /// Text for `message_key` in the request's language, including the campaign's own wording.
    #[schemars(length(max = 320))]
    message: &'a str,
    /// Reasons behind the outcome: message keys, and reasons for the service operator. For logs, not for branching.
    /// [List of reasons](/docs/outcomes#reasons).
    #[schemars(
        length(max = 10),
        inner(length(min = 1, max = 64), regex(pattern = "^[a-z][a-z0-9_]*$"))
    )]
    reasons: &'a [String],
    /// Entries earned; 0 until accepted.
    entries: u32,
    /// Instant prize as text, or null.
    #[schemars(length(max = 200))]
    instant_win: Option<&'a str>,
    /// `true` once `state` is `accepted` or `rejected`. Stop polling then.
    terminal: bool,
    /// Seconds to wait before you read the submission again; null when `terminal`.
    #[schemars(range(min = 1, max = 86_400))]
    poll_after_seconds: Option<u64>,
    /// `true` when this phone has already entered this code; you get the earlier submission.
    replayed: bool,
    /// Summary of the tax authority's record. Null until the authority returned it, and without a receipt.
    receipt: Option<ReceiptRecordObject<'a>>,
    /// Consent that the consumer gave, at `created_at`. Null for submissions made before consent was recorded.
    consent: Option<ConsentObject<'a>>,
    /// The partner's own reply, if a partner checks codes. Unstable: never branch on it.
    upstream: Option<&'a PartnerMessage>,
    /// Creation time.
    #[schemars(with = "Time")]
    created_at: String,
    /// Time of the last change.
    #[schemars(with = "Time")]
    updated_at: String,
}

/// A consumer's consent.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct ConsentObject<'a> {
    /// Version of the text, or null if neither the campaign nor the request named one.
    #[schemars(length(min = 1, max = 40))]
    version: Option<&'a str>,
    /// Language of the request: `en` or `sw`. More may be added.
    #[schemars(with = "String", length(min = 2, max = 10))]
    language: Language,
}

/// Summary of the tax authority's record of a receipt.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "ReceiptRecord")]
struct ReceiptRecordObject<'a> {
    /// Date of the receipt in Tanzania (Africa/Dar_es_Salaam), whatever the campaign's time zone.
    #[schemars(with = "Option<Day>")]
    date: Option<&'a str>,
    /// Key of the participating shop, or null. Its name is in `receipt.branches` of the campaign.
    #[schemars(with = "Option<Key>")]
    branch: Option<&'a str>,
    /// Qualifying items as text, or null.
    #[schemars(length(max = 20_000))]
    items_summary: Option<&'a str>,
    /// Always `true`.
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
    /// An earlier submission, found by its code and phone, is `replayed`.
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
            reference: submission.reference().to_string(),
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
            consent: submission.consent.as_ref().map(|consent| ConsentObject {
                version: consent.version.as_deref(),
                language: consent.language,
            }),
            upstream: submission.upstream.as_ref(),
            created_at: submission.created_at.to_string(),
            updated_at: submission.updated_at.to_string(),
        }
    }
}
