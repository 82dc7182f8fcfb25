//! Most sweeps read one record: nothing is due. No index lists a campaign's submissions, so all are
//! read, once for each environment.

use common::app::job::EventContext;
use common::aws::photos::Photos;
use common::config::ConfigError;
use common::domain::{Campaign, CampaignSlug, PersonalData, Scope, Timestamp};
use common::error::StoreResult;
use common::store::campaigns::Campaigns;
use common::store::draws::Draws;
use common::store::entrants::Entrants;
use common::store::instant::Wins;
use common::store::retention::{
    CampaignRetention, Deletion, LOOK_INTERVAL, PostponeReason, Postponement, RetentionSchedule,
    RetentionTable, Revised,
};
use common::store::submissions::{RetentionPage, Submissions};
use common::store::table_pages::Position;

/// 500 submissions or 400 photos each: a few seconds.
const MAX_PAGES: u32 = 10;

pub(crate) struct RetentionSweep {
    campaigns: Campaigns,
    retention: RetentionTable,
    submissions: Submissions,
    entrants: Entrants,
    draws: Draws,
    wins: Wins,
    photos: Photos,
}

#[derive(Default)]
pub(crate) struct Slice {
    pub(crate) phones: u64,
    pub(crate) photos: u64,
}

impl RetentionSweep {
    pub(crate) fn connect(context: &EventContext) -> Result<Self, ConfigError> {
        let (env, client) = (&context.env, &context.aws.dynamodb());
        Ok(Self {
            campaigns: Campaigns::from_env(env, client)?,
            retention: RetentionTable::from_env(env, client)?,
            submissions: Submissions::from_env(env, client)?,
            entrants: Entrants::from_env(env, client)?,
            draws: Draws::from_env(env, client)?,
            wins: Wins::from_env(env, client)?,
            photos: Photos::from_env(env, &context.aws)?,
        })
    }

    pub(crate) async fn sweep(&self, now: Timestamp) -> StoreResult<Slice> {
        let before = self.retention.schedule().await?;
        let current = match before.value.current.clone() {
            Some(slug) => Some(slug),
            None if before.value.next_look.is_some_and(|next| now < next) => {
                return Ok(Slice::default());
            }
            None => self.first_due(now).await?,
        };
        let mut slice = Slice::default();
        let after = match current {
            None => RetentionSchedule {
                current: None,
                next_look: Some(now.after(LOOK_INTERVAL)),
            },
            Some(slug) if self.delete_of(&slug, now, &mut slice).await? => RetentionSchedule {
                current: Some(slug),
                next_look: None,
            },
            // Perhaps another campaign is due.
            Some(_) => RetentionSchedule::default(),
        };
        if after != before.value {
            // Another sweep may have done so; the next one continues there.
            self.retention
                .save_schedule(&Revised {
                    value: after,
                    ..before
                })
                .await?;
        }
        Ok(slice)
    }

    async fn first_due(&self, now: Timestamp) -> StoreResult<Option<CampaignSlug>> {
        for campaign in self.campaigns.list().await? {
            let is_over = |data| campaign.keeps_until(data).is_some_and(|until| until <= now);
            if PersonalData::ALL.into_iter().any(is_over)
                && self
                    .retention
                    .get(&campaign.slug)
                    .await?
                    .value
                    .next(&campaign, now)
                    .is_some()
            {
                return Ok(Some(campaign.slug));
            }
        }
        Ok(None)
    }

    async fn delete_of(
        &self,
        slug: &CampaignSlug,
        now: Timestamp,
        slice: &mut Slice,
    ) -> StoreResult<bool> {
        // Read for each slice: an operator may have moved its end.
        let Some(campaign) = self.campaigns.get(slug).await? else {
            return Ok(false);
        };
        let mut retention = self.retention.get(slug).await?;
        let Some(mut deletion) = retention.value.next(&campaign, now) else {
            return Ok(false);
        };
        let scope = Scope {
            campaign: slug.clone(),
            environment: deletion.environment,
        };
        deletion.postponed = self.postponement(&scope, deletion.data, now).await?;
        if deletion.postponed.is_some() {
            self.save(&campaign, &mut retention, deletion).await?;
            return Ok(true);
        }
        if deletion.position == Position::End {
            // Reading again finds what was left.
            (deletion.position, deletion.done, deletion.left) = (Position::Start, 0, 0);
        }
        for _ in 0..MAX_PAGES {
            match deletion.data {
                PersonalData::Phones => {
                    let page = self
                        .submissions
                        .remove_personal_data(&scope, deletion.position.clone())
                        .await?;
                    slice.phones += page.done;
                    take(&mut deletion, page, now);
                }
                PersonalData::Photos => {
                    let deleted = self.photos.delete_some(&scope).await?;
                    slice.photos += deleted;
                    deletion.done += deleted;
                    deletion.finished_at = (deleted == 0).then_some(now);
                }
                PersonalData::Limits => {
                    let page = self
                        .entrants
                        .forget_erased(&scope, deletion.position.clone())
                        .await?;
                    take(&mut deletion, page, now);
                }
            }
            let ends = deletion.finished_at.is_some() || deletion.postponed.is_some();
            if !self
                .save(&campaign, &mut retention, deletion.clone())
                .await?
                || ends
            {
                break;
            }
        }
        Ok(true)
    }

    async fn postponement(
        &self,
        scope: &Scope,
        data: PersonalData,
        now: Timestamp,
    ) -> StoreResult<Option<Postponement>> {
        if data == PersonalData::Limits {
            return Ok(None);
        }
        let reason = if self.submissions.count_unsettled(scope).await? > 0 {
            PostponeReason::Unsettled
        } else if data == PersonalData::Phones
            && (!self.draws.unfinished(scope, now).await?.is_empty()
                || self.has_open_wins(scope).await?)
        {
            PostponeReason::PrizesClaimed
        } else {
            return Ok(None);
        };
        Ok(Some(Postponement::new(reason, now)))
    }

    /// Prizes of the test environment are none.
    async fn has_open_wins(&self, scope: &Scope) -> StoreResult<bool> {
        let is_live = scope.environment.is_live();
        Ok(is_live && self.wins.list(scope).await?.iter().any(|win| win.is_open()))
    }

    /// False if another sweep wrote it.
    async fn save(
        &self,
        campaign: &Campaign,
        retention: &mut Revised<CampaignRetention>,
        deletion: Deletion,
    ) -> StoreResult<bool> {
        retention.value.update(deletion);
        let is_saved = self.retention.save(&campaign.slug, retention).await?;
        retention.revision += 1;
        Ok(is_saved)
    }
}

/// At the table's end; what was left is scheduled again.
fn take(deletion: &mut Deletion, page: RetentionPage, now: Timestamp) {
    deletion.done += page.done;
    deletion.left += page.left;
    deletion.position = page.position;
    if deletion.position != Position::End {
        return;
    }
    if deletion.left == 0 {
        deletion.finished_at = Some(now);
    } else {
        deletion.postponed = Some(Postponement::new(PostponeReason::SubmissionsLeft, now));
    }
}
