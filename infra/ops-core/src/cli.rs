//! The command line: commands, arguments and their help.

mod campaign;
mod draw;
mod instant;
mod numbers;
mod phone;
mod prize;
mod submission;
mod time;
mod webhook;

use clap::Parser;
use common::app::auth::DEFAULT_PER_MINUTE;

use crate::audit::RowFilter;
use crate::campaign_file::MAX_ENTRIES;
use crate::codes::import::ImportRequest;
use crate::codes::mint::MintRequest;
use crate::export::ExportArgs;
use crate::keys::{OLD_KEY_HOURS, PER_MINUTE, VALID_HOURS};
use crate::prelude::*;

pub(crate) use self::campaign::{ApplyArgs, CampaignCommand};
pub(crate) use self::draw::{
    CallArgs, CallOutcome, DrawArgs, DrawCommand, FreezeArgs, SkipArgs, VerifyArgs, WinnerArgs,
};
pub(crate) use self::instant::{InstantCommand, PlanArgs};
pub(crate) use self::numbers::{CountAction, NumbersArgs};
pub(crate) use self::phone::{PhoneChangeArgs, PhoneCommand};
pub(crate) use self::prize::{PrizeArgs, PrizeCommand};
pub(crate) use self::submission::{CorrectionArgs, ListArgs};
pub use self::time::{Moment, TimeOfDay};
pub(crate) use self::webhook::{EndpointArgs, ReplayArgs, WebhookCommand};

/// Operate the Campaign Entry Service: campaigns, API keys, codes, submissions, phones, webhooks
///
/// The environment says which stack to work on: it has the names of the tables (CAMPAIGNS_TABLE and others, from the
/// stack's outputs) and the same AWS credentials as for every AWS tool.
#[derive(Parser)]
#[command(name = "ops", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Print one JSON document instead of text, and errors as JSON on standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Read variables from this file, such as the local stack's --ready-file: NAME=VALUE lines in *.env, otherwise JSON
    /// [default: $OPS_ENV_FILE, then ./ready.json if the environment names no stack]
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) env_file: Option<PathBuf>,
    /// Your name, recorded beside your AWS identity [default: $OPS_BY; for decisions, the name in that identity]; only for
    /// commands that record something
    #[arg(long, global = true, value_name = "NAME", value_parser = name)]
    pub(crate) by: Option<String>,
    /// Do it without asking, for scripts
    #[arg(long, global = true)]
    pub(crate) yes: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Apply campaign files; list, show, pause and resume campaigns
    #[command(subcommand)]
    Campaign(CampaignCommand),
    /// Issue, list, change, roll and revoke API keys
    #[command(subcommand)]
    Key(KeyCommand),
    /// Mint, import, show and void codes; list their batches
    #[command(subcommand)]
    Code(CodeCommand),
    /// List and show submissions; settle them by hand
    #[command(subcommand)]
    Submission(SubmissionCommand),
    /// Find, hand over and erase a person's data
    #[command(subcommand)]
    Person(PersonCommand),
    /// Draw winners so that anyone can check it: freeze the entries of a period, draw, show
    #[command(subcommand)]
    Draw(DrawCommand),
    /// Give instant prizes at random moments that anyone can check
    #[command(subcommand)]
    Instant(InstantCommand),
    /// List the instant prizes that were won, and log calls to their winners
    #[command(subcommand)]
    Prize(PrizeCommand),
    /// Export submissions, entrants or winners into a new file; takes about a minute for ten million submissions
    Export(ExportArgs),
    /// Show the numbers of a campaign: entries, outcomes, regions, phones, codes, receipts
    Numbers(NumbersArgs),
    /// Block and unblock phones; list the blocked ones
    #[command(subcommand)]
    Phone(PhoneCommand),
    /// Send events about submissions to a brand's server: add endpoints, test, stop and replay
    #[command(subcommand)]
    Webhook(WebhookCommand),
    /// Rotate the deployment's secret, under which the keys of codes are encrypted
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Read and verify the audit log: who changed or looked at what, and why
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Show who you are to AWS, which stack the environment names, and which role's rights you have
    Whoami,
    /// Open the operator's console: pages in a browser on this machine, with the rights of your credentials
    Console {
        /// Port on 127.0.0.1 [default: a free one]
        #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
        port: u16,
        /// Only print the link, and open no browser
        #[arg(long)]
        no_browser: bool,
    },
    /// Print what a shell needs to complete commands and options, such as: source <(ops completions bash)
    Completions { shell: clap_complete::Shell },
    /// Call every endpoint of a deployment in test mode
    Smoke {
        /// URL of the API, such as https://entry.example.com; without a scheme, http on this machine, otherwise https
        #[arg(long)]
        url: String,
    },
}

/// The definition of the command line, for the manuals.
pub fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

impl Command {
    /// True of commands that record nothing, so that a name would be taken for a filter.
    pub(crate) fn only_reads(&self) -> bool {
        matches!(
            self,
            Self::Audit(_)
                | Self::Whoami
                | Self::Completions { .. }
                | Self::Campaign(
                    CampaignCommand::List { .. }
                        | CampaignCommand::Show { .. }
                        | CampaignCommand::History { .. }
                )
                | Self::Key(KeyCommand::List { .. })
                | Self::Code(CodeCommand::Show { .. } | CodeCommand::Batches { .. })
                | Self::Submission(SubmissionCommand::Timeline { .. } | SubmissionCommand::List(_))
                | Self::Person(PersonCommand::Find { .. })
                | Self::Phone(PhoneCommand::List { .. })
                | Self::Draw(DrawCommand::Verify(_))
                | Self::Instant(InstantCommand::Show { .. } | InstantCommand::Verify(_))
                | Self::Prize(PrizeCommand::List { .. })
                | Self::Webhook(WebhookCommand::List { .. } | WebhookCommand::Deliveries { .. })
        )
    }
}

#[derive(Subcommand)]
pub(crate) enum KeyCommand {
    /// Issue a key and print it; it is never shown again
    Issue {
        #[command(flatten)]
        scope: ScopeArgs,
        /// Label of the key, such as the caller's name
        #[arg(long)]
        label: Option<String>,
        /// Limit of requests per minute
        #[arg(long, value_name = "N", default_value_t = DEFAULT_PER_MINUTE,
              value_parser = clap::value_parser!(u32).range(PER_MINUTE))]
        per_minute: u32,
        /// Hours that the key works, at most those of a year [default: until it is revoked]
        #[arg(long, value_name = "HOURS", value_parser = clap::value_parser!(u16).range(VALID_HOURS))]
        valid_for: Option<u16>,
    },
    /// List a campaign's keys
    List {
        /// Slug of the campaign
        #[arg(long, value_name = "SLUG")]
        campaign: CampaignSlug,
    },
    /// Change a key's limit of requests per minute
    Set {
        /// Id of the key, as `key list` shows it; not the key itself
        #[arg(value_name = "KEY-ID")]
        key_id: String,
        /// Limit of requests per minute
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(PER_MINUTE))]
        per_minute: u32,
    },
    /// Replace a key: print a new one, and let the old one work for some hours more
    Roll {
        /// Id of the old key, as `key list` shows it; not the key itself
        #[arg(value_name = "KEY-ID")]
        key_id: String,
        /// Hours that the old key still works
        #[arg(long, value_name = "HOURS", default_value_t = 24, value_parser = clap::value_parser!(u16).range(OLD_KEY_HOURS))]
        old_valid_for: u16,
    },
    /// Revoke a key, which cannot be undone
    Revoke {
        /// Id of the key, as `key list` shows it; not the key itself
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
        #[command(flatten)]
        request: MintRequest,
        /// File to write; must not exist yet
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Import codes that were printed elsewhere
    Import {
        #[command(flatten)]
        scope: ScopeArgs,
        #[command(flatten)]
        request: ImportRequest,
        /// Check and describe the codes, and import nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Void a batch of codes; entries made with them stay valid
    ///
    /// The question and --dry-run say how many codes are unused, which takes about a minute for ten million codes; with
    /// --yes, the batch is void at once.
    Void {
        #[command(flatten)]
        scope: ScopeArgs,
        /// Name of the batch
        #[arg(long, value_name = "NAME")]
        batch: String,
        /// Count what would be voided, and void nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Show a code: its batch, its state, and the submission that has it
    Show {
        #[command(flatten)]
        scope: ScopeArgs,
        /// The code; with -, type it when asked, so that it stays out of your shell's history
        // Any text is taken, so that no error about the command line repeats it.
        #[arg(value_name = "CODE")]
        code: String,
    },
    /// List the batches of codes
    Batches {
        #[command(flatten)]
        scope: ScopeArgs,
        /// Count the used and unused codes too, which takes about a minute for ten million codes
        #[arg(long)]
        used: bool,
    },
}

#[derive(Subcommand)]
pub(crate) enum SecretCommand {
    /// Create a new version of the secret and encrypt all code books and webhooks' secrets under it, or finish an
    /// interrupted rotation
    Rotate,
}

#[derive(Subcommand)]
pub(crate) enum SubmissionCommand {
    /// Show a submission by its id, or all submissions with a reference
    Show {
        /// Id of the submission, or the reference that the consumer quotes
        #[arg(value_name = "ID-OR-REF")]
        name: String,
        #[command(flatten)]
        show: Disclosure,
    },
    /// Show what happened to a submission, in order
    Timeline {
        /// Id of the submission, or the reference that the consumer quotes
        #[arg(value_name = "ID-OR-REF")]
        name: String,
    },
    /// List a campaign's submissions, newest first; with --unsettled, longest waiting first
    ///
    /// With --phone, --code, --ref, --unsettled or --state pending or unknown it answers at once. Without, it takes about a
    /// minute for ten million submissions, and asks first.
    List(ListArgs),
    /// Hand submissions that wait for an operator back to the service, for example after an outage
    Resume {
        /// Ids of the submissions, or references that the consumers quote
        #[arg(required = true, value_name = "ID-OR-REF")]
        names: Vec<String>,
    },
    /// Take an accepted submission back: it is rejected, and its entries and purchase are returned
    Revoke {
        #[command(flatten)]
        args: CorrectionArgs,
        /// Let the code be entered again, instead of leaving it used
        #[arg(long)]
        free_code: bool,
        /// The instant prize was handed over already: it stays with the winner
        #[arg(long)]
        keep_prize: bool,
    },
    /// Let a rejected or revoked submission wait for an operator again
    Reopen(CorrectionArgs),
    /// Take a request back that waits for a second operator: decline another operator's, or withdraw your own
    Decline {
        /// Id of the submission, or the reference that the consumer quotes
        #[arg(value_name = "ID-OR-REF")]
        name: String,
        /// Reason, in your words; it is recorded
        #[arg(long, value_name = "TEXT")]
        why: String,
    },
    /// Accept or reject a submission by hand
    Settle {
        /// Id of the submission, or the reference that the consumer quotes
        #[arg(value_name = "ID-OR-REF")]
        name: String,
        #[command(flatten)]
        verdict: VerdictArgs,
        #[command(flatten)]
        accept: AcceptArgs,
        /// Reason for the decision, in your words; it is recorded
        #[arg(long, value_name = "TEXT")]
        why: String,
    },
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct VerdictArgs {
    /// Accept the submission
    #[arg(long)]
    pub(crate) accept: bool,
    /// Reject the submission, with this message key as the reason
    #[arg(long, value_name = "KEY", value_parser = rejecting_key)]
    pub(crate) reject: Option<MessageKey>,
}

// Arguments that only go with `--accept`.
#[derive(Args)]
pub(crate) struct AcceptArgs {
    /// Entries to award [default: the number counted on its receipt, otherwise entries_per_submission]
    #[arg(long, value_name = "N", conflicts_with = "reject",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_ENTRIES)))]
    pub(crate) entries: Option<u32>,
    /// Verification code that you read on the receipt; no one else can then enter with the same receipt
    // Not parsed by clap, whose error messages would repeat it.
    #[arg(long, value_name = "CODE", conflicts_with = "reject")]
    pub(crate) receipt_code: Option<String>,
    /// Accept a receipt with an unreadable verification code; the same receipt could then be entered again
    #[arg(long, conflicts_with_all = ["reject", "receipt_code"])]
    pub(crate) without_receipt_code: bool,
}

fn name(text: &str) -> Result<String, String> {
    let name = one_line(text, 100).map(str::to_owned);
    name.ok_or_else(|| "a name has 1 to 100 characters, on one line".to_owned())
}

fn rejecting_key(text: &str) -> Result<MessageKey, String> {
    let rejecting = || MessageKey::ALL.into_iter().filter(|key| key.rejects());
    rejecting().find(|key| key.as_str() == text).ok_or_else(|| {
        let names = joined(rejecting().map(MessageKey::as_str));
        format!("it must be a message key that refuses: {names}")
    })
}

#[derive(Subcommand)]
pub(crate) enum PersonCommand {
    /// Show where a phone occurs, with its limits, blocks and latest submissions there
    Find {
        #[command(flatten)]
        person: PersonArgs,
    },
    /// Write everything that is held on a phone to a ZIP file
    Export {
        #[command(flatten)]
        person: PersonArgs,
        /// File to write; it must not exist
        #[arg(long, value_name = "FILE.zip")]
        output: PathBuf,
    },
    /// Replace a phone by a random id everywhere, and delete its photos, regions and claims
    Erase {
        #[command(flatten)]
        person: PersonArgs,
        /// Reason and order, for the record
        #[arg(long, value_name = "TEXT")]
        why: String,
    },
}

#[derive(Args)]
pub(crate) struct PersonArgs {
    /// Tanzanian mobile number; with -, type it when asked, so that it stays out of your shell's history
    // Not parsed by clap, whose error messages would repeat it.
    #[arg(long, value_name = "PHONE")]
    pub(crate) phone: String,
}

#[derive(Subcommand)]
pub(crate) enum AuditCommand {
    /// List the rows of some days, oldest first
    List {
        #[command(flatten)]
        filter: RowFilter,
        /// First day [default: 29 days before the last]; days and times are the campaign's, otherwise those of Dar es Salaam
        #[arg(long, value_name = "YYYY-MM-DD")]
        from: Option<NaiveDate>,
        /// Last day [default: today]
        #[arg(long, value_name = "YYYY-MM-DD")]
        to: Option<NaiveDate>,
    },
    /// Verify that no row was changed, removed or added by other means; reads the whole log
    Verify,
}

macro_rules! scope_args {
    ($name:ident, $(#[$environment:meta])+) => {
        #[derive(Args, Clone, Debug)]
        pub(crate) struct $name {
            /// Slug of the campaign
            #[arg(long, value_name = "SLUG")]
            pub(crate) campaign: CampaignSlug,
            $(#[$environment])+
            pub(crate) environment: Environment,
        }

        impl From<$name> for Scope {
            fn from(args: $name) -> Self {
                Self {
                    campaign: args.campaign,
                    environment: args.environment,
                }
            }
        }
    };
}

scope_args! {
    ScopeArgs,
    /// Environment: test or live
    #[arg(long, value_name = "ENVIRONMENT")]
}
scope_args! {
    LiveScopeArgs,
    /// Environment: live, or test for rehearsals
    #[arg(long, default_value = "live", value_name = "ENVIRONMENT")]
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
