use serde::Serialize;

use crate::domain::MessageKey;

/// Result of a pre-check. New values may be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PrecheckResult {
    /// The code can be entered, or this phone entered it before.
    Valid,
    /// The code does not exist or was withdrawn.
    Invalid,
    /// Another phone redeemed the code, or holds it with a submission that is still being checked (`code_held`).
    AlreadyUsed,
    /// Only a submission can tell: a partner checks the codes of this campaign, or it has none.
    Unsupported,
}

/// Result of a pre-check. It does not hold or redeem the code; the submission checks it again.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Precheck")]
pub struct PrecheckObject<'a> {
    /// Whether the code could be entered now.
    pub precheck: PrecheckResult,
    /// Reason why the code cannot be entered: `invalid`, `already_used` or `code_held`. Null otherwise.
    pub message_key: Option<MessageKey>,
    /// Text for `message_key`, or null.
    #[schemars(length(max = 320))]
    pub message: Option<&'a str>,
}
