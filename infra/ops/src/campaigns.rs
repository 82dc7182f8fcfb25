//! Applies campaign files; pauses and resumes campaigns.

use common::domain::cipher::SecretKey;
use common::domain::codebook::{CodeBook, DEFAULT_CODE_SYMBOLS};
use common::domain::scope::{CampaignSlug, Environment, Scope};
use common::random;
use serde::Serialize;

use crate::campaign_file::CampaignFile;
use crate::failure::Failure;
use crate::tables::{Tables, unknown_campaign};

/// The result of applying one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// The campaign that the file describes.
    pub slug: CampaignSlug,
    /// How the stored campaign changed.
    pub change: Change,
    /// Whether applying the file ended a pause.
    pub resumed: bool,
}

/// How applying a file changed the stored campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// There was no campaign with this slug.
    Created,
    /// At least one field differs from before.
    Updated,
    /// Nothing was written.
    Unchanged,
}

impl Change {
    /// `created`, `updated` or `unchanged`.
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
/// When a table does not answer. Earlier campaigns stay written; running it again writes the rest.
pub async fn apply(tables: &Tables, files: &[CampaignFile]) -> Result<Vec<Applied>, Failure> {
    let mut applied = Vec::new();
    for file in files {
        let slug = file.campaign.slug.clone();
        // Books first, so that no campaign is ever without them.
        for environment in Environment::ALL {
            let scope = Scope { campaign: slug.clone(), environment };
            tables.code_books.start(&scope, new_book()).await?;
        }
        applied.push(apply_without_code_books(tables, file).await?);
    }
    Ok(applied)
}

/// Creates or updates a campaign that takes only test codes, which are in no book. Needs neither the table of code
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

/// Writes one campaign; `None` if someone else changed it since it was read.
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

/// A code book with new keys and no codes.
fn new_book() -> CodeBook {
    CodeBook {
        minting_keys: vec![SecretKey::from_random(random::bytes())],
        digest_key: SecretKey::from_random(random::bytes()),
        symbols: DEFAULT_CODE_SYMBOLS,
        minted: 0,
        batches: Vec::new(),
    }
}

/// Pauses or resumes a campaign; functions follow within seconds.
///
/// # Errors
/// When there is no such campaign, or the table does not answer.
pub async fn set_paused(tables: &Tables, slug: &CampaignSlug, paused: bool) -> Result<(), Failure> {
    if tables.campaigns.set_paused(slug, paused).await? { Ok(()) } else { Err(unknown_campaign(slug)) }
}
