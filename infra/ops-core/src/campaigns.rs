mod diff;
mod meaning;
mod meanwhile;
mod notes;
pub mod test_data;
pub mod versions;

use common::domain::cipher::SecretKey;
use common::domain::code::Alphabet;
use common::store::campaigns::{PauseChange, StoredCampaign};

use self::meaning::{PhonesOver, is_lower, range_above};
use crate::campaign_file::CampaignFile;
use crate::prelude::*;
use crate::statistics;
use crate::tables::unknown_campaign;

pub use self::diff::ChangeRow;
pub(crate) use self::diff::{FieldChange, differences, summary};
pub(crate) use self::meaning::Facts;
pub use self::meanwhile::{Meanwhile, meanwhile};

#[derive(Debug, Serialize)]
pub struct Plan {
    pub slug: CampaignSlug,
    pub change: Change,
    pub(crate) resumed: bool,
    pub(crate) differences: Vec<FieldChange>,
    /// Deletion begins within the hour because of the change.
    #[serde(skip)]
    pub deletes: Vec<PersonalData>,
    #[serde(skip)]
    before: Option<StoredCampaign>,
    #[serde(skip)]
    pub after: Campaign,
    #[serde(skip)]
    without_book: Vec<Scope>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Created,
    Updated,
    Unchanged,
}

impl Plan {
    pub fn rows(&self) -> Vec<ChangeRow> {
        match self.change {
            Change::Created => diff::rows_of_new(&self.differences, &self.after),
            Change::Updated | Change::Unchanged => diff::rows(&self.differences, &self.after),
        }
    }

    /// The stored revision that is replaced; 0 if there is none.
    pub fn revision(&self) -> u64 {
        self.before.as_ref().map_or(0, |before| before.revision)
    }
}

/// Writes nothing.
pub async fn plan(tables: &Tables, file: &CampaignFile, now: Timestamp) -> Result<Plan> {
    let slug = &file.campaign.slug;
    let mut facts = Facts::new(now);
    let mut without_book = Vec::new();
    for scope in slug.scopes() {
        match tables.code_books.get(&scope).await? {
            Some(stored) if scope.environment.is_live() => {
                facts.live_codes = valid_codes(&stored.book);
            }
            Some(_) => {}
            None => without_book.push(scope),
        }
    }
    let before = tables.campaigns.get_stored(slug).await?;
    let after = merged(before.as_ref(), file);
    let (mut change, mut resumed, mut deletes) = (Change::Created, false, Vec::new());
    if let Some(StoredCampaign { campaign, .. }) = &before {
        change = Change::Unchanged;
        resumed = campaign.paused && !after.paused;
        deletes = campaign.newly_due(&after, now);
        if *campaign != after {
            change = Change::Updated;
            let environment = Environment::Live;
            let live = Scope {
                campaign: slug.clone(),
                environment,
            };
            facts.entries = statistics::entries(tables, &live).await?;
            facts.over_limit = phones_over_limit(tables, &live, campaign, &after).await?;
        }
    }
    let stored = before.as_ref().map(|before| &before.campaign);
    Ok(Plan {
        slug: slug.clone(),
        change,
        resumed,
        differences: differences(stored, &after, &facts)?,
        deletes,
        before,
        after,
        without_book,
    })
}

/// Judged by their entries in the numbers.
async fn phones_over_limit(
    tables: &Tables,
    live: &Scope,
    before: &Campaign,
    after: &Campaign,
) -> Result<Option<PhonesOver>> {
    let Some(limit) = after.limits.phone_total else {
        return Ok(None);
    };
    if !is_lower(before.limits.phone_total, Some(limit)) {
        return Ok(None);
    }
    // A limit counts submissions; receipts and partners may give more entries for one.
    let entries = u64::from(limit).saturating_mul(before.entries_per_submission.into());
    let Some((first, entries)) = range_above(entries) else {
        return Ok(None);
    };
    let phones = statistics::phones_by_entries(tables, live).await?;
    Ok(Some(PhonesOver {
        entries,
        phones: phones.iter().skip(first).sum(),
    }))
}

fn valid_codes(book: &CodeBook) -> u64 {
    let active = book
        .batches
        .iter()
        .filter(|batch| batch.status == BatchStatus::Active);
    active.map(Batch::count).sum()
}

/// The campaign with the file applied; keeps what no file can set.
fn merged(before: Option<&StoredCampaign>, file: &CampaignFile) -> Campaign {
    let mut campaign = file.campaign.clone();
    if let Some(before) = before.map(|before| &before.campaign) {
        campaign.archived = before.archived;
        campaign.webhooks = before.webhooks;
        campaign
            .instant_plan_test
            .clone_from(&before.instant_plan_test);
        campaign
            .instant_plan_live
            .clone_from(&before.instant_plan_live);
        if !file.says_paused {
            campaign.paused = before.paused;
        }
    }
    campaign
}

/// Fails if the campaign changed since `plan`; applying the file again finishes a partial write.
pub async fn carry_out(tables: &Tables, plan: &Plan, change: CampaignChange) -> Result<()> {
    let is_same = plan.change == Change::Unchanged;
    if is_same && plan.without_book.is_empty() {
        return Ok(());
    }
    let fields: Vec<_> = plan.differences.iter().map(|one| &one.field).collect();
    let details = json!({ "change": plan.change, "fields": fields });
    let action = Action::new("campaign.apply").in_campaign(&plan.slug);
    tables.audit.append(action.with(details), change.at).await?;
    // No campaign may exist without its books.
    for scope in &plan.without_book {
        tables.code_books.start(scope, new_book()).await?;
    }
    if is_same {
        return Ok(());
    }
    let written = tables.campaign_versions.write(
        &tables.campaigns,
        plan.before.as_ref(),
        &plan.after,
        change,
    );
    check_written(&plan.slug, written.await?)
}

fn check_written(slug: &CampaignSlug, is_written: bool) -> Result<()> {
    if is_written {
        return Ok(());
    }
    bail!(
        "campaign_changed",
        "`{slug}` was changed by another operator in the meantime, so yours was not written; run this again to see what it \
         changes now"
    )
}

pub async fn apply(tables: &Tables, files: &[CampaignFile], now: Timestamp) -> Result<()> {
    for file in files {
        let plan = plan(tables, file, now).await?;
        carry_out(tables, &plan, CampaignChange { at: now, by: None }).await?;
    }
    Ok(())
}

/// Opens a campaign that takes only test codes, or archives it. Needs neither code books nor the
/// deployment's secret, to which a deployer has no right; keeps no versions.
pub(crate) async fn write_without_code_books(
    tables: &Tables,
    file: &CampaignFile,
    is_over: bool,
    now: Timestamp,
) -> Result<()> {
    let slug = &file.campaign.slug;
    let before = tables.campaigns.get_stored(slug).await?;
    let campaign = Campaign {
        archived: is_over,
        paused: is_over,
        ..file.campaign.clone()
    };
    let name = if is_over {
        "campaign.archive"
    } else {
        "campaign.apply"
    };
    let action = Action::new(name).in_campaign(slug);
    tables.audit.append(action, now).await?;
    let written = tables.campaigns.replace(before.as_ref(), &campaign).await?;
    check_written(slug, written)
}

fn new_book() -> CodeBook {
    CodeBook {
        minting_key: SecretKey::from_random(random::bytes()),
        digest_key: SecretKey::from_random(random::bytes()),
        alphabet: Alphabet::Mixed,
        minted_length: None,
        minted: 0,
        batches: Vec::new(),
    }
}

/// Functions follow within seconds.
pub async fn set_paused(
    tables: &Tables,
    slug: &CampaignSlug,
    paused: bool,
    why: Option<&str>,
    now: Timestamp,
) -> Result<()> {
    tables.campaign(slug).await?;
    let name = if paused {
        "campaign.pause"
    } else {
        "campaign.resume"
    };
    let action = Action::new(name).in_campaign(slug);
    let action = why.into_iter().fold(action, Action::because);
    tables.audit.append(action, now).await?;
    let change = PauseChange {
        paused,
        at: now,
        by: tables.audit.operator_in_full().await?,
        why: why.map(str::to_owned),
    };
    if tables.campaigns.set_paused(slug, &change).await? {
        Ok(())
    } else {
        Err(unknown_campaign(slug))
    }
}
