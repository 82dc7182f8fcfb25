//! The first reason against a submission applies.

use super::campaign::CampaignStatus;
use super::{Campaign, Entrant, MessageKey, PhoneChecks, SubmissionId, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeStatus {
    NotNeeded,
    Free,
    /// Its submission was not rejected.
    OwnedBySamePhone(SubmissionId),
    /// The submission is another phone's.
    Redeemed(SubmissionId),
    /// The other phone's submission is not settled.
    HeldByOther(SubmissionId),
    Invalid,
    /// A sentinel asks for it.
    Forced(MessageKey),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Replay(SubmissionId),
    Admit,
    Reject(MessageKey),
}

/// Unknown facts count as harmless; the write's conditions check them.
pub fn decide(
    campaign: &Campaign,
    entrant: &Entrant,
    code: &CodeStatus,
    checks: PhoneChecks,
    now: Timestamp,
) -> Decision {
    if let CodeStatus::OwnedBySamePhone(earlier) = code {
        return Decision::Replay(*earlier);
    }
    let rejection = closed(campaign.status(now))
        .or_else(|| entrant.barred(checks, now))
        .or_else(|| code.rejection())
        .or_else(|| entrant.over_limit(campaign.limits));
    rejection.map_or(Decision::Admit, Decision::Reject)
}

fn closed(status: CampaignStatus) -> Option<MessageKey> {
    match status {
        CampaignStatus::Live => None,
        CampaignStatus::Paused => Some(MessageKey::CampaignPaused),
        CampaignStatus::NotStarted => Some(MessageKey::CampaignNotStarted),
        CampaignStatus::Ended => Some(MessageKey::CampaignEnded),
    }
}

impl CodeStatus {
    pub fn holder(&self) -> Option<SubmissionId> {
        match self {
            Self::Redeemed(holder) | Self::HeldByOther(holder) => Some(*holder),
            Self::NotNeeded
            | Self::Free
            | Self::OwnedBySamePhone(_)
            | Self::Invalid
            | Self::Forced(_) => None,
        }
    }

    pub fn rejection(&self) -> Option<MessageKey> {
        match self {
            Self::NotNeeded | Self::Free | Self::OwnedBySamePhone(_) => None,
            Self::Redeemed(_) => Some(MessageKey::AlreadyUsed),
            Self::HeldByOther(_) => Some(MessageKey::CodeHeld),
            Self::Invalid => Some(MessageKey::Invalid),
            Self::Forced(key) => Some(*key),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::campaign::{PhoneLimits, Window};

    const NOW: Timestamp = Timestamp::from_millis(1_000);

    fn other() -> SubmissionId {
        "c0ffee00-0000-8000-8000-000000000001"
            .parse()
            .expect("an id")
    }

    #[test]
    fn a_code_that_cannot_be_used_is_rejected_for_its_own_reason() {
        for (status, expected) in [
            (CodeStatus::NotNeeded, None),
            (CodeStatus::Free, None),
            (
                CodeStatus::OwnedBySamePhone(SubmissionId::from_random([1; 24])),
                None,
            ),
            (CodeStatus::Redeemed(other()), Some(MessageKey::AlreadyUsed)),
            (CodeStatus::HeldByOther(other()), Some(MessageKey::CodeHeld)),
            (CodeStatus::Invalid, Some(MessageKey::Invalid)),
            (
                CodeStatus::Forced(MessageKey::EntryLimit),
                Some(MessageKey::EntryLimit),
            ),
        ] {
            assert_eq!(status.rejection(), expected, "{status:?}");
        }
    }

    #[test]
    fn holder_of_a_code_is_the_other_phones_submission() {
        for status in [
            CodeStatus::Redeemed(other()),
            CodeStatus::HeldByOther(other()),
        ] {
            assert_eq!(status.holder(), Some(other()), "{status:?}");
        }
        assert_eq!(CodeStatus::OwnedBySamePhone(other()).holder(), None);
    }

    /// Inputs of a decision, true for a reason to reject.
    #[derive(Clone, Debug)]
    struct Facts {
        paused: bool,
        not_started: bool,
        ended: bool,
        blocked: bool,
        throttled: bool,
        open_receipts: bool,
        checks: PhoneChecks,
        code: CodeStatus,
        daily: bool,
        total: bool,
    }

    impl Facts {
        fn decide(&self) -> Decision {
            let campaign = Campaign {
                paused: self.paused,
                window: Window {
                    start: Some(Timestamp::from_millis(if self.not_started {
                        1_001
                    } else {
                        1_000
                    })),
                    end: Some(Timestamp::from_millis(if self.ended {
                        1_000
                    } else {
                        1_001
                    })),
                },
                limits: PhoneLimits {
                    phone_daily: Some(2),
                    phone_total: Some(5),
                },
                ..Campaign::example()
            };
            let entrant = Entrant {
                blocked: self.blocked,
                today: if self.daily { 2 } else { 1 },
                total: if self.total { 5 } else { 4 },
                throttled_until: Some(Timestamp::from_millis(if self.throttled {
                    1_001
                } else {
                    1_000
                })),
                open_receipts: if self.open_receipts { 20 } else { 19 },
                ..Entrant::default()
            };
            decide(&campaign, &entrant, &self.code, self.checks, NOW)
        }

        /// Reasons in order of precedence.
        fn rejections(&self) -> Vec<MessageKey> {
            let of_the_code = match &self.code {
                CodeStatus::NotNeeded | CodeStatus::Free | CodeStatus::OwnedBySamePhone(_) => None,
                CodeStatus::Redeemed(_) => Some(MessageKey::AlreadyUsed),
                CodeStatus::HeldByOther(_) => Some(MessageKey::CodeHeld),
                CodeStatus::Invalid => Some(MessageKey::Invalid),
                CodeStatus::Forced(key) => Some(*key),
            };
            [
                self.paused.then_some(MessageKey::CampaignPaused),
                self.not_started.then_some(MessageKey::CampaignNotStarted),
                self.ended.then_some(MessageKey::CampaignEnded),
                self.blocked.then_some(MessageKey::Blocked),
                (self.throttled && self.checks.throttle).then_some(MessageKey::RateLimited),
                (self.open_receipts && self.checks.open_receipts)
                    .then_some(MessageKey::RateLimited),
                of_the_code,
                self.daily.then_some(MessageKey::DailyLimit),
                self.total.then_some(MessageKey::EntryLimit),
            ]
            .into_iter()
            .flatten()
            .collect()
        }
    }

    fn any_code() -> impl Strategy<Value = CodeStatus> {
        prop_oneof![
            Just(CodeStatus::NotNeeded),
            Just(CodeStatus::Free),
            any::<[u8; 24]>()
                .prop_map(|bytes| CodeStatus::OwnedBySamePhone(SubmissionId::from_random(bytes))),
            Just(CodeStatus::Redeemed(other())),
            Just(CodeStatus::HeldByOther(other())),
            Just(CodeStatus::Invalid),
            prop::sample::select(MessageKey::ALL.to_vec()).prop_map(CodeStatus::Forced),
        ]
    }

    prop_compose! {
        fn any_facts()(
            flags in any::<[bool; 10]>(), code in any_code()
        ) -> Facts {
            let [paused, not_started, ended, blocked, throttled, daily, total, many, throttle, open] = flags;
            let checks = PhoneChecks { throttle, open_receipts: open };
            Facts { paused, not_started, ended, blocked, throttled, open_receipts: many, checks, code, daily, total }
        }
    }

    proptest! {
        #[test]
        fn first_obstacle_rejects_and_without_any_the_consumer_is_in(facts in any_facts()) {
            let expected = match (&facts.code, facts.rejections().first()) {
                (CodeStatus::OwnedBySamePhone(earlier), _) => Decision::Replay(*earlier),
                (_, Some(first)) => Decision::Reject(*first),
                (_, None) => Decision::Admit,
            };
            prop_assert_eq!(facts.decide(), expected);
        }

        #[test]
        fn one_thing_more_in_the_way_never_lets_anybody_in(facts in any_facts(), which in 0usize..8) {
            let mut worse = facts.clone();
            let flags = [
                &mut worse.paused, &mut worse.not_started, &mut worse.ended, &mut worse.blocked,
                &mut worse.throttled, &mut worse.open_receipts, &mut worse.daily, &mut worse.total,
            ];
            *flags.into_iter().nth(which).expect("one of eight") = true;
            match (facts.decide(), worse.decide()) {
                (Decision::Replay(earlier), after) => prop_assert_eq!(after, Decision::Replay(earlier)),
                (Decision::Admit, after) => {
                    let applies = match which {
                        4 => worse.checks.throttle,
                        5 => worse.checks.open_receipts,
                        _ => true,
                    };
                    let rejected = matches!(after, Decision::Reject(_));
                    prop_assert_eq!(rejected, applies, "{:?}", after);
                }
                (Decision::Reject(_), after) => {
                    prop_assert!(matches!(after, Decision::Reject(_)), "{:?}", after);
                }
            }
        }
    }
}
