//! What each value of a submission's enums means.

use common::domain::message::MessageKey;
use common::domain::submission::{DisplayStatus, ReviewStatus, State};

pub(super) fn state_meaning(state: State) -> &'static str {
    match state {
        State::Pending => "Still being checked: the receipt, or the partner's answer.",
        State::Accepted => "The consumer is in. Final.",
        State::Rejected => "The consumer is not in. Final; code, receipt and limits are free again.",
        State::Unknown => {
            "The partner or the tax authority has not answered. The service keeps asking by itself."
        }
    }
}

pub(super) fn review_meaning(status: ReviewStatus) -> &'static str {
    match status {
        ReviewStatus::Verified => "The receipt counts.",
        ReviewStatus::UnderReview => "A person looks at the receipt.",
        ReviewStatus::Declined => "The receipt does not count.",
    }
}

pub(super) fn display_meaning(status: DisplayStatus) -> &'static str {
    match status {
        DisplayStatus::Entered => "The consumer is in.",
        DisplayStatus::Checking => "Being checked; the result comes by itself, within seconds or hours.",
        DisplayStatus::ReceiptInReview => "A person looks at the receipt; the result comes by itself.",
        DisplayStatus::NotAccepted => "The consumer is not in.",
        DisplayStatus::NeedsAttention => {
            "Not in because of the receipt: the consumer can send a better one, with the same code."
        }
    }
}

/// When a message key is used.
pub(crate) fn message_meaning(key: MessageKey) -> &'static str {
    match key {
        MessageKey::Entered => "Accepted.",
        MessageKey::InstantWin => "Accepted, with an instant prize in `instant_win`.",
        MessageKey::Checking => "A partner, or the tax authority, has still to answer.",
        MessageKey::ReceiptReceived => "The receipt is being checked, by the service or by a person.",
        MessageKey::Invalid => "The code does not exist or was withdrawn.",
        MessageKey::CodeRequired => {
            "For your form: no code was typed. No submission has this key without a test code."
        }
        MessageKey::AlreadyUsed => "Another phone redeemed the code.",
        MessageKey::CodeHeld => "Another phone's submission with this code is still being checked.",
        MessageKey::DailyLimit => "The phone reached `limits.phone_daily`.",
        MessageKey::EntryLimit => "The phone reached `limits.phone_total`.",
        MessageKey::Blocked => "The phone is on the campaign's blocklist.",
        MessageKey::RateLimited => {
            "Too many wrong codes from this phone, or too many receipts still being checked."
        }
        MessageKey::CampaignNotStarted => "The entry window has not started.",
        MessageKey::CampaignEnded => "The entry window is over.",
        MessageKey::CampaignPaused => "The operator paused the campaign.",
        MessageKey::ReceiptUnreadable => "The file shows no readable receipt.",
        MessageKey::ReceiptNotUploaded => "The photo did not arrive.",
        MessageKey::ReceiptWrongStore => "The receipt is from a shop that does not take part.",
        MessageKey::ReceiptOutsideWindow => "The purchase was outside the entry window.",
        MessageKey::ReceiptNoQualifyingProduct => "The receipt lists no participating product.",
        MessageKey::ReceiptAlreadyUsed => "The receipt was entered before.",
        MessageKey::ReceiptNotFound => "The tax authority does not know the receipt, or it was cancelled.",
        MessageKey::ReceiptTimeMismatch => "The typed time is not the one on the receipt.",
        MessageKey::ServiceUnavailable => {
            "For your page: the service could not be reached. Only test codes produce it."
        }
        MessageKey::FileTooLarge => "The photo is over 5 MB.",
        MessageKey::FileWrongType => "The file is not a JPEG, PNG or WebP photo.",
    }
}
