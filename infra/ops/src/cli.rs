//! The command line: what can be asked for, and in which words.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use common::app::auth::DEFAULT_PER_MINUTE;
use common::domain::cipher::CODE_SYMBOLS;
use common::domain::ids::SubmissionId;
use common::domain::message::MessageKey;
use common::domain::scope::{CampaignSlug, Environment, Scope};

use crate::campaign_file::MAX_ENTRIES;
use crate::codes::mint::MAX_CODES;

/// Operates the Campaign Entry Service: campaigns, API keys, codes, submissions, phones.
///
/// It works on the stack that the environment points at: the tables' names from the stack's outputs
/// (CAMPAIGNS_TABLE and the others), and the AWS credentials that every AWS tool takes.
#[derive(Parser)]
#[command(name = "ops", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Print one JSON document instead of text; errors as JSON on standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Take variables from this file, such as the local stack's --ready-file: lines if its name ends in .env, else JSON
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) env_file: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Campaigns: apply their files, look at them, pause and resume them
    #[command(subcommand)]
    Campaign(CampaignCommand),
    /// API keys: issue, list, change, roll and revoke them
    #[command(subcommand)]
    Key(KeyCommand),
    /// Codes: mint, import and void them, rotate their key
    #[command(subcommand)]
    Code(CodeCommand),
    /// Submissions: look at them, settle by hand what waits for a person
    #[command(subcommand)]
    Submission(SubmissionCommand),
    /// Phones: a campaign's blocklist
    #[command(subcommand)]
    Phone(PhoneCommand),
    /// The deployment's secret, which the keys of codes are encrypted under
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Bring the records of the first release into the form of this one, once after the update
    Migrate,
    /// Walk through every operation of a deployment, in test mode
    Smoke {
        /// Where the API is, such as https://entry.example.com; http is meant for this machine, else https
        #[arg(long)]
        url: String,
    },
}

#[derive(Subcommand)]
pub(crate) enum CampaignCommand {
    /// Create or update campaigns; a bad file changes nothing
    Apply {
        /// Campaign files, in YAML
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// List the campaigns
    List,
    /// Show a campaign
    Show {
        /// The campaign
        slug: CampaignSlug,
    },
    /// Take no entries for now
    Pause {
        /// The campaign
        slug: CampaignSlug,
    },
    /// Take entries again
    Resume {
        /// The campaign
        slug: CampaignSlug,
    },
}

#[derive(Subcommand)]
pub(crate) enum KeyCommand {
    /// Issue a key and print it, this once
    Issue {
        #[command(flatten)]
        scope: ScopeArgs,
        /// Who gets it
        #[arg(long)]
        label: Option<String>,
        /// Requests that it may make each minute
        #[arg(long, value_name = "N", default_value_t = DEFAULT_PER_MINUTE,
              value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        per_minute: u32,
    },
    /// List a campaign's keys
    List {
        /// The campaign
        #[arg(long, value_name = "SLUG")]
        campaign: CampaignSlug,
    },
    /// Change how many requests a minute a key lets in
    Set {
        /// The key's id, as `key list` shows it; not the key itself
        #[arg(value_name = "KEY-ID")]
        key_id: String,
        /// Requests that it may make each minute
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        per_minute: u32,
    },
    /// Issue a key in place of another and print it, this once; the other works for some time more
    Roll {
        /// The other key's id, as `key list` shows it; not the key itself
        #[arg(value_name = "KEY-ID")]
        key_id: String,
        /// How many hours the other key still works
        #[arg(long, value_name = "HOURS", default_value_t = 24, value_parser = clap::value_parser!(u16).range(0..=720))]
        old_valid_for: u16,
    },
    /// Revoke a key
    Revoke {
        /// The key's id, as `key list` shows it; not the key itself
        #[arg(value_name = "KEY-ID")]
        key_id: String,
    },
}

#[derive(Subcommand)]
pub(crate) enum CodeCommand {
    /// Mint codes into a new file
    Mint {
        #[command(flatten)]
        scope: ScopeArgs,
        /// How many
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_CODES))]
        count: u64,
        /// Where to write them; must not exist yet
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
        /// The instant prize of every one of them, in words
        #[arg(long, value_name = "TEXT")]
        prize: Option<String>,
        /// The batch's name
        #[arg(long, value_name = "NAME")]
        batch: Option<String>,
        /// Symbols in a code; only before the first minting of the environment
        #[arg(long, value_name = "N",
              value_parser = clap::value_parser!(u8).range(i64::from(*CODE_SYMBOLS.start())..=i64::from(*CODE_SYMBOLS.end())))]
        length: Option<u8>,
        /// Mint even when a guess is right more often than once in a million times
        #[arg(long)]
        allow_weak: bool,
    },
    /// Import codes that were printed elsewhere
    Import {
        #[command(flatten)]
        scope: ScopeArgs,
        /// One code a line, in the first column
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The instant prize of every one of them, in words
        #[arg(long, value_name = "TEXT")]
        prize: Option<String>,
        /// The batch's name; an imported batch of this name is added to
        #[arg(long, value_name = "NAME")]
        batch: Option<String>,
        /// Import even when a guess is right more often than once in a million times
        #[arg(long)]
        allow_weak: bool,
    },
    /// Withdraw codes; who entered with one stays in
    Void {
        #[command(flatten)]
        scope: ScopeArgs,
        #[command(flatten)]
        what: VoidArgs,
    },
    /// List the batches
    Batches {
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// Mint under a new version of the key from now on; codes that are minted stay good
    Rotate {
        #[command(flatten)]
        scope: ScopeArgs,
    },
}

#[derive(Subcommand)]
pub(crate) enum SecretCommand {
    /// Make a new version of it and encrypt all code books under that, or finish a rotation that was cut short
    Rotate,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct VoidArgs {
    /// A whole batch
    #[arg(long, value_name = "NAME")]
    pub(crate) batch: Option<String>,
    /// The codes of a file, one a line
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

#[derive(Subcommand)]
pub(crate) enum SubmissionCommand {
    /// Show a submission by its id, or those with a reference
    Show {
        /// The id, or the reference that a consumer quotes
        #[arg(value_name = "ID-OR-REF")]
        name: String,
        /// Show the phone in full
        #[arg(long)]
        show_phone: bool,
        /// Show the receipt's code and time, or its QR code's text: whoever has them can look it up
        #[arg(long)]
        show_receipt: bool,
    },
    /// Show what happened to a submission, in order, from the records
    Story {
        /// The id, or the reference that a consumer quotes
        #[arg(value_name = "ID-OR-REF")]
        name: String,
    },
    /// List a campaign's submissions, newest first; the unsettled ones longest waiting first
    List {
        /// The campaign
        #[arg(long, value_name = "SLUG")]
        campaign: CampaignSlug,
        /// test or live
        #[arg(long, default_value = "live", value_name = "ENVIRONMENT")]
        environment: Environment,
        /// Only those that are not settled: who acts next, since when or until when, and why
        #[arg(long)]
        unsettled: bool,
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
    },
    /// Let the service settle submissions by itself again that wait for a person, as after an outage
    Resume {
        /// The submissions' ids
        #[arg(required = true, value_name = "ID")]
        ids: Vec<SubmissionId>,
    },
    /// Settle a submission by hand
    Settle {
        /// The submission's id
        id: SubmissionId,
        #[command(flatten)]
        verdict: VerdictArgs,
        #[command(flatten)]
        accept: AcceptArgs,
        /// Why, in your words; it goes into the record
        #[arg(long, value_name = "TEXT")]
        why: String,
        /// Who decided [default: $USER]
        #[arg(long, value_name = "NAME")]
        by: Option<String>,
    },
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct VerdictArgs {
    /// The consumer is in
    #[arg(long)]
    pub(crate) accept: bool,
    /// The consumer is not in, for the reason that this message key names
    #[arg(long, value_name = "KEY", value_parser = refusing_key)]
    pub(crate) reject: Option<MessageKey>,
}

/// What can be said with `--accept` alone.
#[derive(Args)]
pub(crate) struct AcceptArgs {
    /// Entries that it earns [default: what its receipt was counted to earn, else entries_per_submission]
    #[arg(long, value_name = "N", conflicts_with = "reject",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_ENTRIES)))]
    pub(crate) entries: Option<u32>,
    /// The receipt's verification code, as you read it: nobody else can enter with that receipt then
    // Taken as any text, so that no message about the command line repeats it.
    #[arg(long, value_name = "CODE", conflicts_with = "reject")]
    pub(crate) receipt_code: Option<String>,
    /// Accept a receipt whose verification code nobody can read; it can be entered again
    #[arg(long, conflicts_with_all = ["reject", "receipt_code"])]
    pub(crate) without_receipt_code: bool,
}

fn refusing_key(text: &str) -> Result<MessageKey, String> {
    let refusing: Vec<_> = MessageKey::ALL.iter().filter(|key| key.refuses()).collect();
    refusing.iter().find(|key| key.as_str() == text).map(|key| **key).ok_or_else(|| {
        let names: Vec<_> = refusing.iter().map(|key| key.as_str()).collect();
        format!("it must be a message key that refuses: {}", names.join(", "))
    })
}

#[derive(Subcommand)]
pub(crate) enum PhoneCommand {
    /// Refuse every submission of these phones
    Block(PhoneArgs),
    /// Take these phones' submissions again
    Unblock(PhoneArgs),
}

#[derive(Args)]
pub(crate) struct PhoneArgs {
    /// The campaign; both its environments
    #[arg(long, value_name = "SLUG")]
    pub(crate) campaign: CampaignSlug,
    /// Tanzanian mobile numbers
    // Taken as any text, also with spaces, so that no message about the command line repeats it.
    #[arg(required = true, num_args = 1.., value_name = "PHONE")]
    pub(crate) phones: Vec<String>,
}

#[derive(Args)]
pub(crate) struct ScopeArgs {
    /// The campaign
    #[arg(long, value_name = "SLUG")]
    campaign: CampaignSlug,
    /// test or live
    #[arg(long, value_name = "ENVIRONMENT")]
    environment: Environment,
}

impl From<ScopeArgs> for Scope {
    fn from(args: ScopeArgs) -> Self {
        Self { campaign: args.campaign, environment: args.environment }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
