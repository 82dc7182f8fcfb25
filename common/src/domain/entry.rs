//! The one decision: whether a consumer is in, and if not, why. First that applies.

use super::campaign::{Campaign, CampaignStatus};
use super::entrant::Entrant;
use super::ids::SubmissionId;
use super::message::MessageKey;
use super::moment::Moment;

/// What is known of the code that came with a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeFinding {
    /// The campaign takes none.
    NotNeeded,
    /// Genuine and free, as far as is known.
    Free,
    /// This phone's own earlier submission, not rejected, has it.
    Yours(SubmissionId),
    /// Another phone redeemed it.
    Redeemed,
    /// Another phone's submission, not settled yet, has it.
    Held,
    /// Not genuine, or withdrawn.
    Wrong,
    /// A sentinel that asks to be refused.
    Asked(MessageKey),
}

/// What to do with a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Answer with this earlier one.
    Replay(SubmissionId),
    /// Let the consumer in.
    Enter,
    /// Record it as refused.
    Refuse(MessageKey),
}

/// Decides from what is known. A fact that is not known counts as harmless: the write's conditions
/// then decide whether it is.
pub fn decide(campaign: &Campaign, entrant: &Entrant, code: &CodeFinding, now: Moment) -> Decision {
    if let CodeFinding::Yours(earlier) = code {
        return Decision::Replay(*earlier);
    }
    let refusal = closed(campaign.status(now))
        .or_else(|| entrant.barred(now))
        .or_else(|| code.refusal())
        .or_else(|| entrant.over_limit(campaign.limits));
    refusal.map_or(Decision::Enter, Decision::Refuse)
}

fn closed(status: CampaignStatus) -> Option<MessageKey> {
    match status {
        CampaignStatus::Live => None,
        CampaignStatus::Paused => Some(MessageKey::CampaignPaused),
        CampaignStatus::NotStarted => Some(MessageKey::CampaignNotStarted),
        CampaignStatus::Ended => Some(MessageKey::CampaignEnded),
    }
}

impl CodeFinding {
    /// The message key that refuses the code, for a submission and for a pre-check alike.
    pub fn refusal(&self) -> Option<MessageKey> {
        match self {
            Self::NotNeeded | Self::Free | Self::Yours(_) => None,
            Self::Redeemed => Some(MessageKey::AlreadyUsed),
            Self::Held => Some(MessageKey::CodeHeld),
            Self::Wrong => Some(MessageKey::Invalid),
            Self::Asked(key) => Some(*key),
        }
    }
}
