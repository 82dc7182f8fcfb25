//! Campaigns: applying files, and the pause switch.

use common::domain::cipher::SecretKey;
use common::domain::codebook::{CodeBook, DEFAULT_CODE_SYMBOLS};
use common::domain::scope::{CampaignSlug, Environment, Scope};
use common::random;
use serde::Serialize;

use crate::campaign_file::CampaignFile;
use crate::failure::Failure;
use crate::tables::{Tables, unknown_campaign};

/// What applying a file did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// The campaign.
    pub slug: CampaignSlug,
    /// What became of it.
    pub change: Change,
    /// Whether it was paused and no longer is.
    pub resumed: bool,
}

/// What became of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is new.
    Created,
    /// It is different now.
    Updated,
    /// It was like this before.
    Unchanged,
}

impl Change {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Unchanged => "unchanged",
        }
    }
}

/// Creates or updates campaigns, each with a code book for both environments.
///
/// # Errors
/// When a table does not answer. What was written before stays; running it again finishes the rest.
pub async fn apply(tables: &Tables, files: &[CampaignFile]) -> Result<Vec<Applied>, Failure> {
    let mut applied = Vec::new();
    for file in files {
        let slug = file.campaign.slug.clone();
        // The books come first, so that there is no campaign without them.
        for environment in Environment::ALL {
            let scope = Scope { campaign: slug.clone(), environment };
            tables.code_books.start(&scope, new_book()).await?;
        }
        applied.push(apply_without_code_books(tables, file).await?);
    }
    Ok(applied)
}

/// Creates or updates a campaign that takes test codes alone, which are in no book. It needs neither the table of code
/// books nor the deployment's secret.
///
/// # Errors
/// When the table does not answer.
pub async fn apply_without_code_books(tables: &Tables, file: &CampaignFile) -> Result<Applied, Failure> {
    loop {
        if let Some(applied) = try_to_apply(tables, file).await? {
            return Ok(applied);
        }
    }
}

/// Writes one campaign; `None` when somebody else wrote or paused it in between.
async fn try_to_apply(tables: &Tables, file: &CampaignFile) -> Result<Option<Applied>, Failure> {
    let before = tables.campaigns.get(&file.campaign.slug).await?;
    let mut campaign = file.campaign.clone();
    if let (Some(before), false) = (&before, file.says_paused) {
        campaign.paused = before.paused;
    }
    let change = match &before {
        None => Change::Created,
        Some(before) if *before == campaign => Change::Unchanged,
        Some(_) => Change::Updated,
    };
    let resumed = before.as_ref().is_some_and(|before| before.paused && !campaign.paused);
    let applied = Applied { slug: campaign.slug.clone(), change, resumed };
    let done = change == Change::Unchanged || tables.campaigns.replace(before.as_ref(), &campaign).await?;
    Ok(done.then_some(applied))
}

/// A code book with keys of its own and no codes.
fn new_book() -> CodeBook {
    CodeBook {
        minting_keys: vec![SecretKey::from_random(random::bytes())],
        digest_key: SecretKey::from_random(random::bytes()),
        symbols: DEFAULT_CODE_SYMBOLS,
        minted: 0,
        batches: Vec::new(),
    }
}

/// Turns the pause switch; functions follow within seconds.
///
/// # Errors
/// When there is no such campaign, or the table does not answer.
pub async fn set_paused(tables: &Tables, slug: &CampaignSlug, paused: bool) -> Result<(), Failure> {
    if tables.campaigns.set_paused(slug, paused).await? { Ok(()) } else { Err(unknown_campaign(slug)) }
}
