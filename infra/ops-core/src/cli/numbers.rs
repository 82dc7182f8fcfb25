use clap::{Args, ValueEnum};

use super::LiveScopeArgs;
use crate::statistics::Days;

#[derive(Args)]
pub(crate) struct NumbersArgs {
    /// Compare the numbers with a count of all records, or set them to it
    #[arg(value_enum)]
    pub(crate) action: Option<CountAction>,
    #[command(flatten)]
    pub(crate) scope: LiveScopeArgs,
    #[command(flatten)]
    pub(crate) days: Days,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CountAction {
    /// Compare the numbers with a count of all records, which takes about a minute for ten million submissions. Exits with 1
    /// if numbers differ; those that change while it reads do not count
    Verify,
    /// Set the numbers of a campaign that has been paused for five minutes to a count of all records. Exits with 1 if some
    /// were left, because they changed while it read
    Recount,
}
