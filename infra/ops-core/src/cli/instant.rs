use super::time::TimeOfDay;
use super::{ScopeArgs, VerifyArgs};
use crate::draws::run::RoundSource;
use crate::prelude::*;

#[derive(Subcommand)]
pub(crate) enum InstantCommand {
    /// Fix and publish the moments of the campaign's instant prizes, before anyone can know them
    Plan(PlanArgs),
    /// Take the beacon's round of the plan and open it, once the round is there
    Arm {
        #[command(flatten)]
        scope: ScopeArgs,
        /// Ask this relay of the beacon instead of drand's public ones; or, where none can be reached, take a file with the
        /// whole reply of one
        #[arg(long, value_name = "URL-OR-FILE")]
        beacon: Option<RoundSource>,
    },
    /// Stop giving prizes at once; what is due meanwhile is given after `start`
    Stop {
        #[command(flatten)]
        scope: ScopeArgs,
        /// Reason, in your words; it is recorded
        #[arg(long, value_name = "TEXT")]
        why: String,
    },
    /// Give prizes again after a stop; two people start a plan that follows another one
    Start {
        #[command(flatten)]
        scope: ScopeArgs,
        /// Reason, in your words; it is recorded
        #[arg(long, value_name = "TEXT")]
        why: String,
    },
    /// Show the plan, its commitment and state, and prizes given up to the last midnight
    Show {
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// End a stopped plan for good: two people publish its secret, its entries, and a certificate
    Reveal {
        #[command(flatten)]
        scope: ScopeArgs,
        /// Reason, in your words; it is recorded
        #[arg(long, value_name = "TEXT")]
        why: String,
        /// Folder to write what is published to; must not exist yet
        #[arg(long, value_name = "DIR")]
        output: PathBuf,
    },
    /// Verify a revealed plan from its published files; needs no stack and no credentials
    Verify(VerifyArgs),
}

#[derive(Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    /// Time of the beacon's round, at least 10 minutes ahead and before the first day, such as 18:00 today or
    /// 2026-11-23T18:00, in the campaign's zone
    #[arg(long, value_name = "TIME")]
    pub(crate) at: TimeOfDay,
    /// Folder to write header.json and commitment.txt to; must not exist yet
    #[arg(long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Check the plan and show its numbers, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
