use super::LiveScopeArgs;
use super::draw::{CallArgs, SkipArgs};
use crate::prelude::*;

#[derive(Subcommand)]
pub(crate) enum PrizeCommand {
    /// List the instant prizes that were won, oldest first
    List {
        #[command(flatten)]
        scope: LiveScopeArgs,
        /// List only prizes with this status: won, called, reached, identified, handed_over, forfeited, revoked
        #[arg(long, value_name = "STATUS")]
        status: Option<WinStatus>,
    },
    /// Log a call to a winner, or show the number to call
    Call(CallArgs<PrizeArgs>),
    /// Log that the winner has shown an identity card
    Confirm(PrizeArgs),
    /// Log that the winner has the prize
    HandOver(PrizeArgs),
    /// Take the prize from a winner, for a reason and before a witness; it is not given again by itself
    Forfeit(SkipArgs<PrizeArgs>),
}

#[derive(Args)]
pub(crate) struct PrizeArgs {
    /// Id of the submission that won, or the reference that the winner quotes
    #[arg(value_name = "ID-OR-REF")]
    pub(crate) name: String,
}
