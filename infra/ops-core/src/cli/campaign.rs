use crate::prelude::*;

#[derive(Subcommand)]
pub(crate) enum CampaignCommand {
    /// Create or update campaigns, after showing what changes; an invalid file changes nothing
    Apply(ApplyArgs),
    /// Write a file with every field explained, to fill in and apply
    Init {
        /// Where to write it; must not exist yet
        #[arg(default_value = "campaign.yaml", value_name = "FILE")]
        file: PathBuf,
    },
    /// Print the JSON Schema of campaign files, for editors
    Schema,
    /// List the campaigns
    List {
        /// Archived ones too
        #[arg(long)]
        all: bool,
    },
    /// Show a campaign
    Show {
        /// The campaign
        slug: CampaignSlug,
        /// As a file that can be applied again
        #[arg(long)]
        yaml: bool,
        /// As it was then; `campaign history` lists the numbers
        #[arg(long, value_name = "N", requires = "yaml")]
        revision: Option<u64>,
    },
    /// Show what was changed in a campaign, when and by whom, newest first
    History {
        /// The campaign
        slug: CampaignSlug,
        /// Maximum number of changes
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=500))]
        limit: u16,
    },
    /// Write the file of a new campaign that is like another one
    Clone {
        /// The campaign to copy
        slug: CampaignSlug,
        /// The new campaign's slug
        new: CampaignSlug,
        /// Where to write it; must not exist yet [default: standard output]
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Take no entries until it is resumed
    Pause {
        /// The campaign
        slug: CampaignSlug,
        /// Why, for the record
        #[arg(long, value_name = "TEXT")]
        why: Option<String>,
    },
    /// Take entries again
    Resume {
        /// The campaign
        slug: CampaignSlug,
        /// Why, for the record
        #[arg(long, value_name = "TEXT")]
        why: Option<String>,
    },
    /// Archive a campaign that is over: lists leave it out, and it takes no entries
    Archive {
        /// The campaign
        slug: CampaignSlug,
        /// Take it out of the archive
        #[arg(long)]
        undo: bool,
    },
    /// Delete everything that test keys made: submissions, entrants, uses of codes, receipts and their photos;
    /// reads five whole tables
    ClearTestData {
        /// The campaign
        slug: CampaignSlug,
    },
}

#[derive(Args)]
pub(crate) struct ApplyArgs {
    /// Campaign files, in YAML
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Apply a campaign that asks for neither a code nor a receipt
    #[arg(long)]
    pub(crate) allow_anyone: bool,
    /// With --yes: apply a change after which personal data is past its retention, so that its deletion begins within the hour
    #[arg(long)]
    pub(crate) delete_now: bool,
}
