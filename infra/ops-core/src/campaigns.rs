//! Applies campaign files, in two steps so that the change can be looked at first, and sets the pause switch.

mod diff;
mod meaning;
pub mod test_data;
pub mod versions;

use common::domain::campaign::{Campaign, PersonalData};
use common::domain::cipher::SecretKey;
use common::domain::codebook::{Batch, BatchStatus, CodeBook};
use common::domain::scope::{CampaignSlug, Environment, Scope};
use common::domain::timestamp::Timestamp;
use common::random;
use common::store::campaign_versions::CampaignChange;
use common::store::campaigns::{PauseChange, StoredCampaign};
use serde::Serialize;
use serde_json::json;

pub(crate) use self::diff::{FieldChange, differences, text, text_of_new};
pub(crate) use self::meaning::Facts;
use self::meaning::{PhonesOver, is_lower, range_above};
use crate::audit::Action;
use crate::campaign_file::CampaignFile;
use crate::failure::Failure;
use crate::numbers;
use crate::tables::{Tables, unknown_campaign};

/// What applying a file changes.
#[derive(Debug)]
pub struct Plan {
    before: Option<StoredCampaign>,
    after: Campaign,
    /// Environments without a code book.
    without_book: Vec<Scope>,
    live_codes: u64,
    entries: i64,
    over_limit: Option<PhonesOver>,
}

/// What applying a file did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// The campaign.
    pub slug: CampaignSlug,
    /// How it was changed.
    pub change: Change,
    /// True if it was paused before and is not now.
    pub resumed: bool,
}

/// How applying a file changed a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It did not exist before.
    Created,
    /// It was changed.
    Updated,
    /// It was the same before.
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

impl Plan {
    /// The campaign as the file makes it.
    pub fn after(&self) -> &Campaign {
        &self.after
    }

    /// How the campaign will change.
    pub fn change(&self) -> Change {
        match &self.before {
            None => Change::Created,
            Some(before) if before.campaign == self.after => Change::Unchanged,
            Some(_) => Change::Updated,
        }
    }

    /// The personal data whose deletion begins within the hour because of the change.
    pub(crate) fn deletes(&self, now: Timestamp) -> Vec<PersonalData> {
        let before = self.before.as_ref().map(|before| &before.campaign);
        before
            .map(|before| before.newly_due(&self.after, now))
            .unwrap_or_default()
    }

    /// The report of carrying it out.
    pub fn outcome(&self) -> Applied {
        let was_paused = self
            .before
            .as_ref()
            .is_some_and(|before| before.campaign.paused);
        let resumed = was_paused && !self.after.paused;
        Applied {
            slug: self.after.slug.clone(),
            change: self.change(),
            resumed,
        }
    }

    /// The fields that differ.
    pub(crate) fn differences(&self, now: Timestamp) -> Result<Vec<FieldChange>, Failure> {
        let Self {
            live_codes,
            entries,
            over_limit,
            ..
        } = *self;
        let facts = Facts {
            now,
            live_codes,
            entries,
            over_limit,
        };
        differences(
            self.before.as_ref().map(|before| &before.campaign),
            &self.after,
            &facts,
        )
    }
}

/// Compares a file with the campaign that is stored; writes nothing.
pub async fn plan(tables: &Tables, file: &CampaignFile) -> Result<Plan, Failure> {
    let slug = &file.campaign.slug;
    let (mut without_book, mut live_codes) = (Vec::new(), 0);
    for environment in Environment::ALL {
        let scope = Scope {
            campaign: slug.clone(),
            environment,
        };
        match tables.code_books.get(&scope).await? {
            Some(stored) if environment.is_live() => {
                live_codes = valid_codes(&stored.book);
            }
            Some(_) => {}
            None => without_book.push(scope),
        }
    }
    let before = tables.campaigns.get_stored(slug).await?;
    let after = merged(before.as_ref(), file);
    let (mut entries, mut over_limit) = (0, None);
    if let Some(StoredCampaign { campaign, .. }) =
        before.as_ref().filter(|before| before.campaign != after)
    {
        let live = Scope {
            campaign: slug.clone(),
            environment: Environment::Live,
        };
        entries = numbers::entries(tables, &live).await?;
        over_limit = phones_over_limit(tables, &live, campaign, &after).await?;
    }
    Ok(Plan {
        after,
        before,
        without_book,
        live_codes,
        entries,
        over_limit,
    })
}

/// Phones that have more than a lower limit takes, by their entries in the numbers.
async fn phones_over_limit(
    tables: &Tables,
    live: &Scope,
    before: &Campaign,
    after: &Campaign,
) -> Result<Option<PhonesOver>, Failure> {
    let Some(limit) = after.limits.phone_total else {
        return Ok(None);
    };
    if !is_lower(before.limits.phone_total, Some(limit)) {
        return Ok(None);
    }
    // A limit counts submissions, and receipts and partners may give more entries for one than this.
    let entries = u64::from(limit).saturating_mul(before.entries_per_submission.into());
    let Some((first, entries)) = range_above(entries) else {
        return Ok(None);
    };
    let phones = numbers::phones_by_entries(tables, live).await?;
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

/// The campaign after applying a file. What no file can set stays as it is.
fn merged(before: Option<&StoredCampaign>, file: &CampaignFile) -> Campaign {
    let mut campaign = file.campaign.clone();
    if let Some(StoredCampaign {
        campaign: before, ..
    }) = before
    {
        campaign.archived = before.archived;
        if !file.says_paused {
            campaign.paused = before.paused;
        }
    }
    campaign
}

/// Writes what was planned, with a code book for each environment.
///
/// # Errors
/// When the campaign was changed since the plan was made, or a table does not answer. Then applying the file again
/// finishes it.
pub async fn carry_out(
    tables: &Tables,
    plan: &Plan,
    change: CampaignChange,
) -> Result<Applied, Failure> {
    if plan.change() != Change::Unchanged || !plan.without_book.is_empty() {
        let differences = plan.differences(change.at)?;
        let fields: Vec<_> = differences.iter().map(|one| one.field.as_str()).collect();
        let details = json!({ "change": plan.change(), "fields": fields });
        let action = Action::new("campaign.apply").in_campaign(&plan.after.slug);
        tables.audit.append(action.with(details), change.at).await?;
    }
    // The books come first, so that there is no campaign without them.
    for scope in &plan.without_book {
        tables.code_books.start(scope, new_book()).await?;
    }
    if plan.change() != Change::Unchanged {
        let Plan { before, after, .. } = plan;
        let written =
            tables
                .campaign_versions
                .write(&tables.campaigns, before.as_ref(), after, change);
        if !written.await? {
            return Err(changed_by_another(&after.slug));
        }
    }
    Ok(plan.outcome())
}

/// Another operator wrote the campaign, or paused it, since it was read.
pub(crate) fn changed_by_another(slug: &CampaignSlug) -> Failure {
    let message = format!(
        "`{slug}` was changed by another operator in the meantime, so yours was not written; run this again to see what it \
         changes now"
    );
    Failure::new("campaign_changed", message)
}

/// Applies files without asking.
pub async fn apply(
    tables: &Tables,
    files: &[CampaignFile],
    now: Timestamp,
) -> Result<Vec<Applied>, Failure> {
    let mut applied = Vec::new();
    for file in files {
        let plan = plan(tables, file).await?;
        applied.push(carry_out(tables, &plan, CampaignChange { at: now, by: None }).await?);
    }
    Ok(applied)
}

/// Creates or updates a campaign that takes only test codes, which are in no book, and takes it out of the archive. Needs
/// neither the table of code books nor the deployment's secret, and keeps no versions.
///
/// # Errors
/// When the table does not answer, or others keep changing the campaign.
pub async fn apply_without_code_books(
    tables: &Tables,
    file: &CampaignFile,
    now: Timestamp,
) -> Result<(), Failure> {
    let before = tables.campaigns.get_stored(&file.campaign.slug).await?;
    let campaign = Campaign {
        archived: false,
        ..merged(before.as_ref(), file)
    };
    let is_same = before
        .as_ref()
        .is_some_and(|before| before.campaign == campaign);
    if !is_same {
        tables
            .audit
            .append(
                Action::new("campaign.apply").in_campaign(&campaign.slug),
                now,
            )
            .await?;
    }
    if is_same || tables.campaigns.replace(before.as_ref(), &campaign).await? {
        return Ok(());
    }
    Err(changed_by_another(&campaign.slug))
}

/// Archives a campaign of [`apply_without_code_books`]. Pauses it as well, for releases that know no archive.
///
/// # Errors
/// When there is no such campaign, others keep changing it, or the table does not answer.
pub(crate) async fn archive_without_versions(
    tables: &Tables,
    slug: &CampaignSlug,
    now: Timestamp,
) -> Result<(), Failure> {
    let before = versions::stored(tables, slug).await?;
    let campaign = Campaign {
        archived: true,
        paused: true,
        ..before.campaign.clone()
    };
    tables
        .audit
        .append(Action::new("campaign.archive").in_campaign(slug), now)
        .await?;
    match tables.campaigns.replace(Some(&before), &campaign).await? {
        true => Ok(()),
        false => Err(changed_by_another(slug)),
    }
}

/// A code book with new keys and no codes.
fn new_book() -> CodeBook {
    CodeBook {
        minting_key: SecretKey::from_random(random::bytes()),
        digest_key: SecretKey::from_random(random::bytes()),
        minted_length: None,
        minted: 0,
        batches: Vec::new(),
    }
}

/// Pauses or resumes a campaign, with the operator's reason if there is one; functions follow within seconds.
///
/// # Errors
/// When there is no such campaign, or the table does not answer.
pub async fn set_paused(
    tables: &Tables,
    slug: &CampaignSlug,
    paused: bool,
    why: Option<&str>,
    now: Timestamp,
) -> Result<(), Failure> {
    tables.campaign(slug).await?;
    let action = Action::new(if paused {
        "campaign.pause"
    } else {
        "campaign.resume"
    })
    .in_campaign(slug);
    let action = why.into_iter().fold(action, Action::because);
    tables.audit.append(action, now).await?;
    let by = tables.audit.operator_in_full().await?;
    let change = PauseChange {
        paused,
        at: now,
        by,
        why: why.map(str::to_owned),
    };
    if tables.campaigns.set_paused(slug, &change).await? {
        Ok(())
    } else {
        Err(unknown_campaign(slug))
    }
}
