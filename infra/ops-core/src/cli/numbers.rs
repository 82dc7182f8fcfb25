//! `ops numbers`.

use chrono::NaiveDate;
use clap::{Args, Subcommand};
use common::domain::scope::{CampaignSlug, Environment};

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
    /// Exits with 1 if numbers differ and are not corrected; those that change while it reads do not count.
    Verify {
        /// The campaign
        #[arg(long, value_name = "SLUG")]
        campaign: CampaignSlug,
        /// test or live
        #[arg(long, default_value = "live", value_name = "ENVIRONMENT")]
        environment: Environment,
        /// Make the numbers what the count gives; the campaign has to be quiet for five minutes
        #[arg(long)]
        correct: bool,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
}
