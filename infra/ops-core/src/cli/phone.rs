use super::ScopeArgs;
use crate::prelude::*;

#[derive(Subcommand)]
pub(crate) enum PhoneCommand {
    /// Reject every submission of these phones
    Block(PhoneChangeArgs),
    /// Take submissions of these phones again
    Unblock(PhoneChangeArgs),
    /// List the blocked phones of a campaign's environment, oldest first
    List {
        #[command(flatten)]
        scope: ScopeArgs,
    },
}

#[derive(Args)]
pub(crate) struct PhoneChangeArgs {
    /// Slug of the campaign; applies to test and live
    #[arg(long, value_name = "SLUG")]
    pub(crate) campaign: CampaignSlug,
    /// Tanzanian mobile numbers; with -, type one when asked, so that it stays out of your shell's history
    // Not parsed by clap, whose error messages would repeat them. A number may contain spaces.
    #[arg(required_unless_present = "file", conflicts_with = "file", num_args = 1.., value_name = "PHONE")]
    pub(crate) phones: Vec<String>,
    /// CSV file with one number per line
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Heading of the column with the numbers [default: one such as phone, or the only column]
    #[arg(long, value_name = "HEADING", requires = "file")]
    pub(crate) column: Option<String>,
    /// Reason, in your words; it is recorded
    #[arg(long, value_name = "TEXT")]
    pub(crate) why: String,
}
