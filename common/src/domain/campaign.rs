use std::time::Duration;

use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::instant::InstantRules;
use super::message::MessageOverrides;
use super::receipt::rules::ReceiptRules;
use super::{CampaignSlug, Environment, PartnerRules, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Campaign {
    pub slug: CampaignSlug,
    pub name: String,
    pub brand: String,
    pub timezone: Tz,
    pub paused: bool,
    pub window: Window,
    pub code: CodePolicy,
    pub limits: PhoneLimits,
    /// Default if neither receipt nor partner sets a number.
    pub entries_per_submission: u32,
    pub wrong_codes: WrongCodeLimit,
    pub messages: MessageOverrides,
    pub receipt: Option<ReceiptRules>,
    pub partner: Option<PartnerRules>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consent: Option<ConsentText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention: Option<Retention>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instant: Option<InstantRules>,
    /// Left out of operators' lists; takes no entries.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// Endpoints for webhooks, in both environments.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub webhooks: u32,
    /// Entries look for winning moments only if it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instant_plan_test: Option<PublishedPlan>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instant_plan_live: Option<PublishedPlan>,
}

/// What callers see of a plan of winning moments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedPlan {
    pub commitment: Digest,
    pub prizes: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsentText {
    pub version: String,
    pub en: String,
    pub sw: String,
}

/// Days after the campaign's end. `None` keeps phones, and photos for `PhotoRetentionDays`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    pub phones_days: Option<u32>,
    pub photos_days: Option<u32>,
}

text_enum! {
    pub enum PersonalData {
        /// Phone numbers, with regions, claims and the words of operators and partners.
        Phones = "phones",
        Photos = "photos",
        /// Used limits of erased persons, by the digest of their phone.
        Limits = "limits",
    }
}

impl PersonalData {
    pub const SETTABLE: [Self; 2] = [Self::Phones, Self::Photos];
}

/// Start is included, end is not; `None` is no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    pub start: Option<Timestamp>,
    pub end: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodePolicy {
    Service,
    Partner,
    None,
}

/// Submissions per phone; null means no limit.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[schemars(inline)]
pub struct PhoneLimits {
    /// Per day, in the campaign's time zone.
    pub phone_daily: Option<u32>,
    /// Over the whole campaign.
    pub phone_total: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongCodeLimit {
    pub count: u32,
    pub minutes: u32,
}

impl Default for WrongCodeLimit {
    /// Enough for honest typing, hopeless for guessing.
    fn default() -> Self {
        Self {
            count: 10,
            minutes: 60,
        }
    }
}

text_enum! {
    /// State of the campaign at the time of the request.
    #[derive(schemars::JsonSchema)]
    pub enum CampaignStatus {
        /// Entries are taken.
        Live = "live",
        /// The operator paused the campaign. Submissions answer `campaign_paused`.
        Paused = "paused",
        /// The entry window has not started. Submissions answer `campaign_not_started`.
        NotStarted = "not_started",
        /// The entry window is over. Submissions answer `campaign_ended`.
        Ended = "ended",
    }
}

impl Campaign {
    /// The pause switch takes precedence over the window.
    pub fn status(&self, now: Timestamp) -> CampaignStatus {
        if self.archived {
            CampaignStatus::Ended
        } else if self.paused {
            CampaignStatus::Paused
        } else if self.window.start.is_some_and(|start| now < start) {
            CampaignStatus::NotStarted
        } else if self.window.end.is_some_and(|end| now >= end) {
            CampaignStatus::Ended
        } else {
            CampaignStatus::Live
        }
    }

    pub fn instant_plan(&self, environment: Environment) -> Option<&PublishedPlan> {
        match environment {
            Environment::Test => self.instant_plan_test.as_ref(),
            Environment::Live => self.instant_plan_live.as_ref(),
        }
    }

    pub fn has_webhooks(&self) -> bool {
        self.webhooks > 0
    }

    pub fn needs_code(&self) -> bool {
        match self.code {
            CodePolicy::Service | CodePolicy::Partner => true,
            CodePolicy::None => false,
        }
    }

    pub fn needs_receipt(&self) -> bool {
        self.receipt.as_ref().is_some_and(|rules| rules.required)
    }

    /// Days after the end, which can be put off until then.
    pub const LIMITS_DAYS: u32 = 30;

    /// `None` if the campaign has no end, or sets no retention for this data.
    pub fn keeps_until(&self, data: PersonalData) -> Option<Timestamp> {
        const DAY: Duration = Duration::from_hours(24);
        let days = match data {
            PersonalData::Phones => self.retention?.phones_days,
            PersonalData::Photos => self.retention?.photos_days,
            PersonalData::Limits => Some(Self::LIMITS_DAYS),
        };
        Some(self.window.end?.after(DAY * days?))
    }

    /// Data whose retention ends with `after` but had not before. Its deletion cannot be undone.
    pub fn newly_due(&self, after: &Self, now: Timestamp) -> Vec<PersonalData> {
        let is_due =
            |campaign: &Self, data| campaign.keeps_until(data).is_some_and(|until| until <= now);
        let is_new = |data: &PersonalData| is_due(after, *data) && !is_due(self, *data);
        PersonalData::SETTABLE.into_iter().filter(is_new).collect()
    }

    pub fn takes_typed_receipts(&self) -> bool {
        self.receipt.as_ref().is_some_and(|rules| rules.typed)
    }
}

#[cfg(test)]
impl Campaign {
    pub(crate) fn example() -> Self {
        Self {
            slug: "demo".parse().expect("a slug"),
            name: "Demo".to_owned(),
            brand: "Demo".to_owned(),
            timezone: Tz::Africa__Dar_es_Salaam,
            paused: false,
            window: Window::default(),
            code: CodePolicy::Service,
            limits: PhoneLimits::default(),
            entries_per_submission: 1,
            wrong_codes: WrongCodeLimit::default(),
            messages: MessageOverrides::default(),
            receipt: None,
            partner: None,
            consent: None,
            retention: None,
            instant: None,
            archived: false,
            webhooks: 0,
            instant_plan_test: None,
            instant_plan_live: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn campaign(paused: bool, start: Option<i64>, end: Option<i64>) -> Campaign {
        let window = Window {
            start: start.map(Timestamp::from_millis),
            end: end.map(Timestamp::from_millis),
        };
        Campaign {
            paused,
            window,
            ..Campaign::example()
        }
    }

    #[test]
    fn the_start_belongs_to_the_window_and_the_end_does_not() {
        let campaign = campaign(false, Some(10), Some(20));
        let status = |millis| campaign.status(Timestamp::from_millis(millis));
        assert_eq!(status(9), CampaignStatus::NotStarted);
        assert_eq!(status(10), CampaignStatus::Live);
        assert_eq!(status(19), CampaignStatus::Live);
        assert_eq!(status(20), CampaignStatus::Ended);
    }

    #[test]
    fn a_pause_comes_before_the_window() {
        let status = campaign(true, Some(10), None).status(Timestamp::from_millis(0));
        assert_eq!(status, CampaignStatus::Paused);
    }

    #[test]
    fn an_archived_campaign_is_over_whatever_its_window_says() {
        for paused in [false, true] {
            let archived = Campaign {
                archived: true,
                ..campaign(paused, None, None)
            };
            assert_eq!(
                archived.status(Timestamp::from_millis(0)),
                CampaignStatus::Ended
            );
        }
    }

    #[test]
    fn data_is_kept_for_days_after_the_end_or_for_good() {
        const DAY: i64 = 24 * 60 * 60 * 1000;
        let retention = Retention {
            phones_days: Some(90),
            photos_days: None,
        };
        let ended = Campaign {
            retention: Some(retention),
            ..campaign(false, None, Some(5))
        };
        let until = Some(Timestamp::from_millis(5 + 90 * DAY));
        assert_eq!(ended.keeps_until(PersonalData::Phones), until);
        assert_eq!(ended.keeps_until(PersonalData::Photos), None);
        let limits = ended
            .window
            .end
            .map(|end| end.after(Duration::from_hours(24 * 30)));
        assert_eq!(ended.keeps_until(PersonalData::Limits), limits);
        let without_end = Campaign {
            window: Window::default(),
            archived: true,
            ..ended.clone()
        };
        assert_eq!(without_end.keeps_until(PersonalData::Phones), None);
        assert_eq!(
            Campaign {
                retention: None,
                ..ended
            }
            .keeps_until(PersonalData::Phones),
            None
        );
    }

    #[test]
    fn a_change_makes_due_what_was_kept_until_then() {
        const DAY: i64 = 24 * 60 * 60 * 1000;
        let ends = |end: i64, phones_days, photos_days| Campaign {
            retention: Some(Retention {
                phones_days: Some(phones_days),
                photos_days: Some(photos_days),
            }),
            ..campaign(false, None, Some(end * DAY))
        };
        let (now, kept) = (Timestamp::from_millis(20 * DAY), ends(15, 30, 10));
        for (after, due) in [
            (ends(15, 30, 10), &[][..]),
            (ends(15, 6, 10), &[]),
            (ends(15, 5, 10), &[PersonalData::Phones]),
            (ends(10, 30, 10), &[PersonalData::Photos]),
            (ends(-15, 30, 10), &PersonalData::SETTABLE),
            (
                Campaign {
                    retention: None,
                    ..kept.clone()
                },
                &[],
            ),
        ] {
            assert_eq!(kept.newly_due(&after, now), due, "{after:?}");
        }
        assert_eq!(
            ends(-15, 30, 10).newly_due(&ends(-20, 30, 10), now),
            [],
            "both were due before"
        );
        assert_eq!(
            campaign(false, None, None).newly_due(&ends(10, 30, 10), now),
            [PersonalData::Photos]
        );
    }

    #[test]
    fn absent_settings_are_not_stored() {
        let campaign = Campaign::example();
        let stored = serde_json::to_value(&campaign).expect("JSON");
        for name in [
            "consent",
            "retention",
            "archived",
            "webhooks",
            "instant_plan_test",
        ] {
            assert_eq!(stored.get(name), None, "{name}");
        }
        assert_eq!(
            serde_json::from_value::<Campaign>(stored).expect("a campaign"),
            campaign
        );
    }

    #[test]
    fn stored_campaign_has_webhooks_from_one_endpoint_on() {
        for (webhooks, expected) in [(0, false), (1, true), (2, true)] {
            let campaign = Campaign {
                webhooks,
                ..Campaign::example()
            };
            let stored = serde_json::to_value(&campaign).expect("JSON");
            let read: Campaign = serde_json::from_value(stored).expect("a campaign");
            assert_eq!(read.has_webhooks(), expected, "{webhooks}");
        }
    }

    #[test]
    fn each_environment_has_its_own_instant_plan() {
        let plan = |prize: &str| PublishedPlan {
            commitment: Digest::from_parts(&[]),
            prizes: vec![prize.to_owned()],
        };
        let campaign = Campaign {
            instant_plan_test: Some(plan("A cup")),
            instant_plan_live: Some(plan("A kettle")),
            ..Campaign::example()
        };
        for (environment, prize) in [
            (Environment::Test, "A cup"),
            (Environment::Live, "A kettle"),
        ] {
            assert_eq!(campaign.instant_plan(environment), Some(&plan(prize)));
        }
    }

    #[test]
    fn a_zone_is_stored_by_its_iana_name() {
        let zones = |json: &str| serde_json::from_str::<Tz>(json);
        for name in [
            "Africa/Dar_es_Salaam",
            "Africa/Nairobi",
            "America/Argentina/Buenos_Aires",
            "UTC",
            "US/Eastern",
        ] {
            let json = format!("\"{name}\"");
            let zone = zones(&json).expect(name);
            assert_eq!(
                (zone.name(), serde_json::to_string(&zone).expect("JSON")),
                (name, json)
            );
        }
        for text in [
            "",
            "Mars/Olympus",
            "+03:00",
            "+03",
            "UTC+3",
            "EAT",
            "Africa/Dar es Salaam",
        ] {
            assert!(zones(&format!("\"{text}\"")).is_err(), "{text}");
        }
    }

    #[test]
    fn code_is_needed_if_the_service_or_a_partner_judges_it() {
        let needs_code = |code| {
            Campaign {
                code,
                ..Campaign::example()
            }
            .needs_code()
        };
        assert!(needs_code(CodePolicy::Service));
        assert!(needs_code(CodePolicy::Partner));
        assert!(!needs_code(CodePolicy::None));
    }

    #[test]
    fn what_the_receipt_block_says_goes_for_the_campaign() {
        let campaign = |required: bool, typed: bool| {
            let rules = ReceiptRules {
                required,
                typed,
                ..ReceiptRules::default()
            };
            Campaign {
                receipt: Some(rules),
                ..Campaign::example()
            }
        };
        for (required, typed) in [(true, false), (false, true)] {
            let campaign = campaign(required, typed);
            assert_eq!(
                (campaign.needs_receipt(), campaign.takes_typed_receipts()),
                (required, typed)
            );
        }
        let without = Campaign::example();
        assert!(!without.needs_receipt() && !without.takes_typed_receipts());
    }
}
