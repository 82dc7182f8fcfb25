//! `ops numbers`.

use chrono::NaiveDate;
use clap::{Args, Subcommand};
use common::domain::scope::{CampaignSlug, Environment, Scope};

use crate::confirm::ConfirmArgs;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct NumbersArgs {
    /// The campaign
    #[arg(long, value_name = "SLUG", required = true)]
    pub(crate) campaign: Option<CampaignSlug>,
    /// test or live
    #[arg(long, default_value = "live", value_name = "ENVIRONMENT")]
    pub(crate) environment: Environment,
    /// From this day on, by the campaign's time zone, such as 2026-11-22
    #[arg(long, value_name = "DAY")]
    pub(crate) from: Option<NaiveDate>,
    /// Up to and including this day
    #[arg(long, value_name = "DAY")]
    pub(crate) to: Option<NaiveDate>,
    #[command(subcommand)]
    pub(crate) command: Option<NumbersCommand>,
}

#[derive(Subcommand)]
pub(crate) enum NumbersCommand {
    /// Compare the numbers with a count of all records, which takes about a minute for ten million submissions
    ///
    /// Exits with 1 if numbers differ; those that change while it reads do not count.
    Verify(CountArgs),
    /// Set the numbers of a campaign that has been paused for five minutes to a count of all records
    ///
    /// Exits with 1 if some were left, because they changed while it read.
    Recount(CountArgs),
}

#[derive(Args)]
pub(crate) struct CountArgs {
    /// The campaign
    #[arg(long, value_name = "SLUG")]
    campaign: CampaignSlug,
    /// test or live
    #[arg(long, default_value = "live", value_name = "ENVIRONMENT")]
    environment: Environment,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

impl CountArgs {
    pub(crate) fn split(self) -> (Scope, ConfirmArgs) {
        let Self {
            campaign,
            environment,
            confirm,
        } = self;
        let scope = Scope {
            campaign,
            environment,
        };
        (scope, confirm)
    }
}
