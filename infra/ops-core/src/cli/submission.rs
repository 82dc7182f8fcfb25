use super::LiveScopeArgs;
use crate::prelude::*;

#[derive(Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) scope: LiveScopeArgs,
    /// List only unsettled submissions, with who acts next, when, and why
    #[arg(long, conflicts_with_all = ["phone", "code", "reference"])]
    pub(crate) unsettled: bool,
    /// List the submissions of a phone; with -, type it when asked, so that it stays out of your shell's history
    // Neither phone nor code is parsed by clap, whose error messages would repeat them.
    #[arg(long, value_name = "PHONE", conflicts_with_all = ["code", "reference"])]
    pub(crate) phone: Option<String>,
    /// List the submission that has a code, and say who entered it; with -, type the code when asked
    #[arg(long, value_name = "CODE", conflicts_with = "reference")]
    pub(crate) code: Option<String>,
    /// List the submissions with a reference
    #[arg(long = "ref", value_name = "REF")]
    pub(crate) reference: Option<Reference>,
    /// List only submissions in this state: pending, accepted, rejected, unknown; by itself, accepted or rejected takes
    /// as long as a list of all
    #[arg(long, value_name = "STATE")]
    pub(crate) state: Option<State>,
    /// Maximum number of submissions
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
}

#[derive(Args)]
pub(crate) struct CorrectionArgs {
    /// Id of the submission, or the reference that the consumer quotes
    #[arg(value_name = "ID-OR-REF")]
    pub(crate) name: String,
    /// Reason, in your words; it is recorded. If a prize was won, or a draw of the entry is frozen and not finished, a second person has to run the command too
    #[arg(long, value_name = "TEXT")]
    pub(crate) why: String,
}
