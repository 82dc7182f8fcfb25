//! The share of a key's rate limit that one environment has leased.
//!
//! The table counts a key's requests of each minute. An environment leases several at once:
//! - as many as it would use within `LEASE_TIME` at the pace of its last lease, at most twice that
//!   lease, so that little is lost when it stops;
//! - at most its share of what is left and of a small part of the limit, so that all leases
//!   together stay small, whether two environments or two hundred hold them;
//! - at most `PERCENT_FOR_ONE` of the limit, the cost of a dead environment.
//!
//! The last request of a lease renews it, so the next does not wait.

use std::time::Duration;

use super::Timestamp;

const LEASE_TIME: Duration = Duration::from_secs(4);
/// Share of what is left for all leases together.
const PERCENT_OF_LEFT: u64 = 5;
/// Added to it, as a share of the limit.
const PERCENT_OF_LIMIT: u64 = 2;
/// Matters only to one or two environments.
const PERCENT_FOR_ONE: u64 = 3;

#[derive(Clone, Debug, Default)]
pub struct LeasedQuota {
    minute: i64,
    limit: u32,
    held: u32,
    left_in_table: u32,
    leased: u32,
    last_lease: Option<(u32, Timestamp)>,
    arrivals: [Option<Timestamp>; 2],
}

impl LeasedQuota {
    pub fn begin(&mut self, limit: u32, now: Timestamp) {
        let minute = now.as_minutes();
        if self.minute != minute {
            let (last_lease, arrivals) = (self.last_lease, self.arrivals);
            *self = Self {
                minute,
                limit,
                left_in_table: limit,
                last_lease,
                arrivals,
                ..Self::default()
            };
        } else {
            if limit < self.limit {
                // Held requests were leased under the higher limit.
                self.held = 0;
            }
            self.left_in_table = self
                .left_in_table
                .saturating_add(limit)
                .saturating_sub(self.limit);
            self.limit = limit;
        }
    }

    /// Requests to lease before the next one; `None` if some are held or none are left.
    pub fn wanted(&self, now: Timestamp) -> Option<u32> {
        (self.held == 0 && self.left_in_table > 0).then(|| self.lease_size(now))
    }

    /// Requests to lease while the last held one is served. `None` if some are held, none are left,
    /// the previous request is too long ago, or the share is a single request: with one each ahead,
    /// two hundred environments would hold a third of a limit of 600.
    pub fn wanted_ahead(&self, now: Timestamp) -> Option<u32> {
        let [last, before] = self.arrivals;
        let is_busy = last
            .zip(before)
            .is_some_and(|(last, before)| last.since(before) < LEASE_TIME);
        self.wanted(now).filter(|wanted| is_busy && *wanted > 1)
    }

    fn lease_size(&self, now: Timestamp) -> u32 {
        let Some((last, leased_at)) = self.last_lease else {
            return 1;
        };
        let used_within = now.since(leased_at).as_millis().max(1);
        let needed = u128::from(last) * LEASE_TIME.as_millis() / used_within;
        let needed = needed.min(u128::from(last) * 2);
        let (limit, left) = (u64::from(self.limit), u64::from(self.left_in_table));
        let for_all = left * PERCENT_OF_LEFT + limit * PERCENT_OF_LIMIT;
        let leased_by_all = limit.saturating_sub(left).max(1);
        let share = for_all * (u64::from(self.leased) + 1) / leased_by_all;
        let at_most = share.min(for_all).min(limit * PERCENT_FOR_ONE) / 100;
        u32::try_from(needed.min(u128::from(at_most)))
            .unwrap_or(u32::MAX)
            .max(1)
    }

    pub fn add(&mut self, granted: u32, left_in_table: u32, now: Timestamp) {
        self.held = self.held.saturating_add(granted);
        self.leased = self.leased.saturating_add(granted);
        self.left_in_table = left_in_table;
        self.last_lease = Some((granted.max(1), now));
    }

    pub fn consume(&mut self, now: Timestamp) -> bool {
        let [last, _] = self.arrivals;
        self.arrivals = [Some(now), last];
        let admitted = self.held.checked_sub(1);
        self.held = admitted.unwrap_or(0);
        admitted.is_some()
    }

    /// An estimate; too high while others lease as well.
    pub fn remaining(&self) -> u32 {
        self.held.saturating_add(self.left_in_table)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A minute of a key's requests over environments.
    struct Minute {
        limit: u32,
        leased: u32,
        calls: u32,
        /// Requests that waited for a lease.
        waits: u32,
        admitted: u32,
        environments: Vec<LeasedQuota>,
    }

    impl Minute {
        fn new(limit: u32, environments: usize) -> Self {
            let environments = vec![LeasedQuota::default(); environments];
            Self {
                limit,
                leased: 0,
                calls: 0,
                waits: 0,
                admitted: 0,
                environments,
            }
        }

        fn request(&mut self, environment: usize, millis: u64) {
            let now = Timestamp::from_millis(60_000 + i64::try_from(millis).expect("a minute"));
            let quota = &mut self.environments[environment];
            quota.begin(self.limit, now);
            self.waits += u32::from(quota.wanted(now).is_some());
            self.lease(environment, now, LeasedQuota::wanted);
            self.admitted += u32::from(self.environments[environment].consume(now));
            self.lease(environment, now, LeasedQuota::wanted_ahead);
        }

        fn lease(
            &mut self,
            environment: usize,
            now: Timestamp,
            wanted: impl Fn(&LeasedQuota, Timestamp) -> Option<u32>,
        ) {
            let quota = &mut self.environments[environment];
            if let Some(wanted) = wanted(quota, now) {
                let granted = wanted.min(self.limit - self.leased);
                self.leased += granted;
                self.calls += 1;
                quota.add(granted, self.limit - self.leased, now);
            }
        }

        /// Percent of possible requests admitted, and calls per hundred requests.
        fn metrics(&self, requests: u32) -> (u32, u32) {
            (
                self.admitted * 100 / requests.min(self.limit),
                self.calls * 100 / requests,
            )
        }
    }

    /// The spread of requests over environments.
    #[derive(Clone, Copy, Debug)]
    enum Load {
        Even,
        /// The first gets as many as all after it.
        Skewed,
        /// A quarter is busy, another every five seconds.
        Moving,
    }

    fn pick(load: Load, environments: usize, random: u64, millis: u64) -> usize {
        let environments = u64::try_from(environments).expect("a few hundred");
        let picked = match load {
            Load::Even => random % environments,
            Load::Skewed => u64::from(random.trailing_zeros()) % environments,
            Load::Moving => {
                let busy = (environments / 4).max(1);
                (millis / 5_000 * busy + random % busy) % environments
            }
        };
        usize::try_from(picked).expect("an index")
    }

    /// SplitMix64: every case is reproducible.
    fn next(random: &mut u64) -> u64 {
        *random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (*random ^ (*random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Least percentage admitted. Environments busy in turns leave leases unused.
    fn floor(load: Load) -> u32 {
        if matches!(load, Load::Moving) { 90 } else { 95 }
    }

    proptest! {
        #[test]
        fn dead_environment_leaves_nearly_the_whole_limit_to_others(
            limit in prop_oneof![Just(600_u32), Just(6_000)],
            environments in prop_oneof![Just(1_usize), Just(2), Just(4)],
            load in prop_oneof![Just(Load::Even), Just(Load::Skewed), Just(Load::Moving)],
            demand in 120_u32..400,
            within_seconds in 6_u64..60,
            dies_after_percent in 0_u32..100,
            seed in any::<u64>(),
        ) {
            let requests = limit * demand / 100;
            let dies_after = requests * dies_after_percent / 100;
            let mut minute = Minute::new(limit, environments);
            let mut random = seed;
            for number in 0..requests {
                let millis = u64::from(number) * within_seconds * 1_000 / u64::from(requests);
                let picked = pick(load, environments, next(&mut random), millis);
                minute.request(picked, millis);
                if number == dies_after {
                    // A new one takes the busy one's place just after its request.
                    minute.environments[picked] = LeasedQuota::default();
                }
            }
            let (admitted, _) = minute.metrics(requests);
            prop_assert!(minute.admitted <= limit);
            prop_assert!(admitted >= floor(load), "{admitted} % of {limit} with {environments}, {load:?}");
        }

        #[test]
        fn nearly_the_whole_limit_is_admitted_and_never_more(
            limit in prop_oneof![Just(600_u32), Just(6_000)],
            environments in prop_oneof![Just(1_usize), Just(2), Just(32), Just(200)],
            load in prop_oneof![Just(Load::Even), Just(Load::Skewed), Just(Load::Moving)],
            // Requests in percent of the limit, and their part of the minute.
            demand in 80_u32..400,
            within_seconds in 6_u64..60,
            seed in any::<u64>(),
        ) {
            let requests = limit * demand / 100;
            let mut minute = Minute::new(limit, environments);
            let mut random = seed;
            for number in 0..requests {
                let millis = u64::from(number) * within_seconds * 1_000 / u64::from(requests);
                minute.request(pick(load, environments, next(&mut random), millis), millis);
            }
            let (admitted, _) = minute.metrics(requests);
            prop_assert!(minute.admitted <= limit);
            prop_assert!(admitted >= floor(load), "{admitted} % of {limit} with {environments}, {load:?}");
        }
    }

    /// One unlucky minute may have less.
    #[test]
    fn environments_busy_in_turns_use_nearly_the_whole_limit() {
        const MINUTES: u32 = 100;
        for (limit, environments) in [(600, 4), (600, 32), (6_000, 4), (6_000, 32), (6_000, 200)] {
            let mut random = 7;
            let admitted = (0..MINUTES).map(|_| {
                let mut minute = Minute::new(limit, environments);
                for number in 0..limit * 3 / 2 {
                    let millis = u64::from(number) * 40_000 / u64::from(limit);
                    minute.request(
                        pick(Load::Moving, environments, next(&mut random), millis),
                        millis,
                    );
                }
                minute.metrics(limit * 3 / 2).0
            });
            let average = admitted.sum::<u32>() / MINUTES;
            assert!(average >= 95, "{average} % of {limit} with {environments}");
        }
    }

    #[test]
    fn leases_are_rare_in_a_busy_environment() {
        for (limit, environments, percent) in [
            (600, 1, 10),
            (6_000, 32, 20),
            (60_000, 32, 5),
            (60_000, 200, 10),
        ] {
            let mut minute = Minute::new(limit, environments);
            for number in 0..limit {
                let millis = u64::from(number) * 60_000 / u64::from(limit);
                minute.request(
                    usize::try_from(number).expect("a number") % environments,
                    millis,
                );
            }
            let (admitted, calls) = minute.metrics(limit);
            assert!(
                admitted >= 95 && calls < percent,
                "{limit}, {environments}: {admitted} %, {calls} calls"
            );
        }
    }

    #[test]
    fn busy_environment_waits_for_two_leases_of_twenty() {
        let mut minute = Minute::new(600, 1);
        (0..20).for_each(|number| minute.request(0, number * 100));
        assert_eq!((minute.admitted, minute.waits), (20, 2));
    }

    #[test]
    fn idle_environment_does_not_lease_ahead() {
        let mut minute = Minute::new(600, 1);
        (0..10).for_each(|number| minute.request(0, number * 5_000));
        assert_eq!((minute.admitted, minute.leased), (10, 10));
    }

    /// Also from one minute to the next.
    #[test]
    fn requests_close_together_lease_several_ahead() {
        let last = Timestamp::from_millis(118_000);
        for (leased, gap, ahead) in [(2, 3_999, Some(2)), (2, 4_000, None), (1, 3_999, None)] {
            let mut quota = LeasedQuota::default();
            quota.begin(6_000, last);
            quota.add(leased, 6_000 - leased, last);
            assert!(quota.consume(last));
            let now = last.after(Duration::from_millis(gap));
            quota.begin(6_000, now);
            quota.consume(now);
            assert_eq!(quota.wanted(now), Some(leased));
            assert_eq!(quota.wanted_ahead(now), ahead, "{leased} for {gap} ms");
        }
    }

    #[test]
    fn raised_limit_is_used_at_once_and_a_lowered_one_is_kept() {
        let now = Timestamp::from_millis(90_000);
        let mut quota = LeasedQuota::default();
        quota.begin(1, now);
        quota.add(quota.wanted(now).expect("none is held"), 0, now);
        assert!(quota.consume(now));
        assert_eq!(quota.wanted(now), None, "all is leased");
        quota.begin(3, now);
        assert_eq!((quota.wanted(now), quota.remaining()), (Some(1), 2));
        quota.begin(1, now);
        assert_eq!((quota.wanted(now), quota.remaining()), (None, 0));
    }

    #[test]
    fn held_requests_are_given_up_under_a_lowered_limit_alone() {
        let now = Timestamp::from_millis(90_000);
        let mut quota = LeasedQuota::default();
        quota.begin(100, now);
        quota.add(10, 90, now);
        for (limit, remaining) in [(100, 100), (110, 110), (105, 95)] {
            quota.begin(limit, now);
            assert_eq!(quota.remaining(), remaining, "{limit}");
        }
        assert!(!quota.consume(now));
    }

    #[test]
    fn an_environment_that_used_its_lease_slowly_asks_for_fewer() {
        let mut quota = LeasedQuota::default();
        let now = Timestamp::from_millis(120_000);
        quota.begin(6_000, now);
        quota.add(50, 5_000, now);
        (0..50).for_each(|_| assert!(quota.consume(now)));
        let later = Timestamp::from_millis(140_000);
        assert_eq!(
            quota.wanted(later),
            Some(10),
            "50 lasted 20 seconds, so 10 last four"
        );
    }

    #[test]
    fn the_pace_of_the_last_minute_is_remembered() {
        let mut quota = LeasedQuota::default();
        let first = Timestamp::from_millis(119_000);
        quota.begin(6_000, first);
        quota.add(50, 3_000, first);
        let next = Timestamp::from_millis(120_000);
        quota.begin(6_000, next);
        assert_eq!(
            quota.wanted(next),
            Some(100),
            "twice the last lease, which lasted a second"
        );
    }
}
