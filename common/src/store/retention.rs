//! The progress of deleting campaigns' personal data.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::StoreResult;
use super::table_pages::Position;
use crate::domain::{Campaign, CampaignSlug, Environment, PersonalData, Timestamp};

pub const KEY: &str = "campaign";
pub const VARIABLE: &str = "RETENTION_TABLE";
/// No slug has a `#`.
const SCHEDULE: &str = "#schedule";

/// Photos still arrive after a campaign's end.
const PHOTOS_REPEAT: Duration = Duration::from_hours(7 * 24);
pub const LOOK_INTERVAL: Duration = Duration::from_hours(1);
/// All submissions are read again after this.
const REREAD_INTERVAL: Duration = Duration::from_hours(24);

/// `revision` is replaced by a change; 0 before the first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revised<T> {
    pub revision: u64,
    #[serde(flatten)]
    pub value: T,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetentionSchedule {
    pub current: Option<CampaignSlug>,
    pub next_look: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CampaignRetention {
    pub deletions: Vec<Deletion>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deletion {
    pub environment: Environment,
    pub data: PersonalData,
    /// A moved end starts a new deletion.
    pub end: Timestamp,
    pub done: u64,
    /// Submissions that could not be changed yet.
    pub left: u64,
    pub position: Position,
    pub postponed: Option<Postponement>,
    pub finished_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Postponement {
    pub reason: PostponeReason,
    pub until: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PostponeReason {
    Unsettled,
    SubmissionsLeft,
    PrizesClaimed,
}

impl Postponement {
    pub fn new(reason: PostponeReason, now: Timestamp) -> Self {
        Self {
            reason,
            until: now.after(reason.interval()),
        }
    }
}

impl PostponeReason {
    fn interval(self) -> Duration {
        match self {
            Self::Unsettled | Self::PrizesClaimed => LOOK_INTERVAL,
            Self::SubmissionsLeft => REREAD_INTERVAL,
        }
    }
}

impl CampaignRetention {
    pub fn deletion(
        &self,
        campaign: &Campaign,
        environment: Environment,
        data: PersonalData,
    ) -> Option<&Deletion> {
        let mut deletions = self.deletions.iter();
        deletions.find(|deletion| {
            (deletion.environment, deletion.data, Some(deletion.end))
                == (environment, data, campaign.window.end)
        })
    }

    /// Data past its retention, neither deleted nor postponed.
    pub fn next(&self, campaign: &Campaign, now: Timestamp) -> Option<Deletion> {
        let scopes = Environment::ALL
            .into_iter()
            .flat_map(|environment| PersonalData::ALL.map(|data| (environment, data)));
        scopes
            .filter(|(_, data)| {
                campaign
                    .keeps_until(*data)
                    .is_some_and(|until| until <= now)
            })
            .find_map(|(environment, data)| {
                let Some(begun) = self.deletion(campaign, environment, data) else {
                    return Some(Deletion::new(environment, data, campaign.window.end?));
                };
                (!begun.is_finished(now) && !begun.waits(now)).then(|| begun.clone())
            })
    }

    /// True if a deletion may be running, or have changed something within a span before `now`.
    pub fn was_active(
        &self,
        campaign: &Campaign,
        environment: Environment,
        data: PersonalData,
        now: Timestamp,
        span: Duration,
    ) -> bool {
        let is_due = campaign.keeps_until(data).is_some_and(|until| until <= now);
        let is_active = |begun: &Deletion| match (begun.finished_at, begun.postponed) {
            (Some(finished_at), _) => now.since(finished_at) < span,
            (None, Some(Postponement { reason, until })) => {
                !begun.waits(now) || now.after(reason.interval()).since(until) < span
            }
            (None, None) => true,
        };
        is_due
            && self
                .deletion(campaign, environment, data)
                .is_none_or(is_active)
    }

    pub fn update(&mut self, deletion: Deletion) {
        self.deletions.retain(|other| {
            (other.environment, other.data) != (deletion.environment, deletion.data)
        });
        self.deletions.push(deletion);
    }
}

impl Deletion {
    fn is_finished(&self, now: Timestamp) -> bool {
        self.finished_at
            .is_some_and(|at| self.data != PersonalData::Photos || now < at.after(PHOTOS_REPEAT))
    }

    fn waits(&self, now: Timestamp) -> bool {
        self.postponed
            .is_some_and(|postponed| now < postponed.until)
    }

    fn new(environment: Environment, data: PersonalData, end: Timestamp) -> Self {
        Self {
            environment,
            data,
            end,
            done: 0,
            left: 0,
            position: Position::Start,
            postponed: None,
            finished_at: None,
        }
    }
}

store! {
    RetentionTable
}

impl RetentionTable {
    pub async fn schedule(&self) -> StoreResult<Revised<RetentionSchedule>> {
        self.read(SCHEDULE).await
    }

    pub async fn save_schedule(&self, schedule: &Revised<RetentionSchedule>) -> StoreResult<bool> {
        self.write(SCHEDULE, schedule).await
    }

    pub async fn get(&self, slug: &CampaignSlug) -> StoreResult<Revised<CampaignRetention>> {
        self.read(slug.as_str()).await
    }

    /// A timeline of two sweeps: both read page 7; the first writes that page 8 is next; the
    /// second's condition fails, so it counts nothing and stops.
    pub async fn save(
        &self,
        slug: &CampaignSlug,
        retention: &Revised<CampaignRetention>,
    ) -> StoreResult<bool> {
        self.write(slug.as_str(), retention).await
    }

    async fn read<T: Default + DeserializeOwned>(&self, key: &str) -> StoreResult<Revised<T>> {
        let found = self.table.find(key, "reading what is deleted").await?;
        Ok(found.unwrap_or_default())
    }

    async fn write<T: Clone + Serialize>(
        &self,
        key: &str,
        record: &Revised<T>,
    ) -> StoreResult<bool> {
        let next = Revised {
            revision: record.revision + 1,
            value: record.value.clone(),
        };
        self.table
            .put(key, &next)
            .when("attribute_not_exists(#campaign) OR revision = :before")
            .bind(":before", record.revision)
            .send("writing what is deleted")
            .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::campaign::{Retention as RetentionDays, Window};

    const DAY: i64 = 24 * 60 * 60 * 1000;
    const END: Timestamp = Timestamp::from_millis(DAY);

    fn campaign(days: [Option<u32>; 2]) -> Campaign {
        let [phones_days, photos_days] = days;
        Campaign {
            window: Window {
                start: None,
                end: Some(END),
            },
            retention: Some(RetentionDays {
                phones_days,
                photos_days,
            }),
            ..Campaign::example()
        }
    }

    fn at(days: i64) -> Timestamp {
        Timestamp::from_millis(DAY * (1 + days))
    }

    #[test]
    fn data_of_each_environment_is_deleted_once_its_days_are_over() {
        let campaign = campaign([Some(2), Some(1)]);
        let mut retention = CampaignRetention::default();
        assert_eq!(
            retention.next(&campaign, Timestamp::from_millis(2 * DAY - 1)),
            None
        );
        let mut order = Vec::new();
        while let Some(next) = retention.next(&campaign, at(1)) {
            order.push((next.environment, next.data));
            retention.update(Deletion {
                finished_at: Some(at(1)),
                ..next
            });
        }
        let both = |data| [(Environment::Test, data), (Environment::Live, data)];
        assert_eq!(order, both(PersonalData::Photos));
        let phones = retention
            .next(&campaign, at(2))
            .map(|next| (next.environment, next.data));
        assert_eq!(phones, Some((Environment::Test, PersonalData::Phones)));
    }

    #[test]
    fn photos_are_looked_for_again_every_week_and_phones_are_not() {
        let campaign = campaign([Some(1), Some(1)]);
        let mut retention = CampaignRetention::default();
        while let Some(next) = retention.next(&campaign, at(1)) {
            retention.update(Deletion {
                finished_at: Some(at(1)),
                done: 3,
                ..next
            });
        }
        assert_eq!(retention.next(&campaign, at(7)), None);
        while let Some(next) = retention.next(&campaign, at(8)) {
            assert_eq!((next.data, next.done), (PersonalData::Photos, 3));
            retention.update(Deletion {
                finished_at: Some(at(8)),
                ..next
            });
        }
        assert_eq!(retention.next(&campaign, at(14)), None);
    }

    #[test]
    fn deletion_is_active_until_after_its_last_slice() {
        const SPAN: Duration = Duration::from_mins(5);
        let campaign = campaign([Some(1), None]);
        let mut retention = CampaignRetention::default();
        let is_active = |retention: &CampaignRetention, now: Timestamp| {
            retention.was_active(
                &campaign,
                Environment::Live,
                PersonalData::Phones,
                now,
                SPAN,
            )
        };
        assert!(!is_active(&retention, Timestamp::from_millis(2 * DAY - 1)));
        assert!(is_active(&retention, at(1)), "the next sweep begins");
        let begun = Deletion::new(Environment::Live, PersonalData::Phones, END);
        retention.update(begun.clone());
        assert!(is_active(&retention, at(1)), "it is running");
        for reason in [
            PostponeReason::PrizesClaimed,
            PostponeReason::SubmissionsLeft,
        ] {
            let postponement = Postponement::new(reason, at(1));
            retention.update(Deletion {
                postponed: Some(postponement),
                ..begun.clone()
            });
            assert!(is_active(&retention, at(1)) && is_active(&retention, postponement.until));
            assert!(!is_active(&retention, at(1).after(SPAN)), "{reason:?}");
        }
        retention.update(Deletion {
            finished_at: Some(at(2)),
            ..begun
        });
        assert!(is_active(&retention, at(2)) && !is_active(&retention, at(2).after(SPAN)));
    }

    #[test]
    fn a_postponed_deletion_waits_and_the_others_do_not() {
        let campaign = campaign([Some(1), None]);
        let mut retention = CampaignRetention::default();
        let test = retention.next(&campaign, at(1)).expect("it is time");
        let postponed = Some(Postponement {
            reason: PostponeReason::Unsettled,
            until: at(2),
        });
        retention.update(Deletion {
            postponed,
            ..test.clone()
        });
        let next = retention
            .next(&campaign, at(1))
            .expect("the other environment");
        assert_eq!(next.environment, Environment::Live);
        retention.update(Deletion {
            finished_at: Some(at(1)),
            ..next
        });
        assert_eq!(retention.next(&campaign, at(1)), None);
        assert_eq!(
            retention.next(&campaign, at(2)),
            Some(Deletion { postponed, ..test })
        );
    }

    #[test]
    fn a_campaign_that_was_prolonged_is_done_anew() {
        let mut campaign = campaign([Some(1), None]);
        let mut retention = CampaignRetention::default();
        while let Some(next) = retention.next(&campaign, at(1)) {
            retention.update(Deletion {
                finished_at: Some(at(1)),
                done: 7,
                ..next
            });
        }
        campaign.window.end = Some(at(5));
        assert_eq!(retention.next(&campaign, at(5)), None);
        let next = retention.next(&campaign, at(6)).expect("it is time again");
        assert_eq!((next.done, next.end), (0, at(5)));
    }

    #[test]
    fn nothing_is_deleted_of_a_campaign_without_an_end() {
        let without_end = Campaign {
            window: Window::default(),
            ..campaign([Some(1), Some(1)])
        };
        assert_eq!(
            CampaignRetention::default().next(&without_end, Timestamp::MAX),
            None
        );
    }
}
