//! Prizes of winning moments through a fleet.

use std::time::Duration;

use common::domain::codebook::{CodeBook, Origin};
use common::domain::instant::DEFAULT_CURVE;
use common::domain::scope::Environment;
use common::domain::timestamp::Timestamp;
use futures_util::stream::{self, StreamExt};
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::fleet::{Fleet, Routing};
use service_tests::moments::{NO_CAPS, OpenPlan};

use super::{Bench, CALLERS, LATENCY};
use crate::operations::submission;
use crate::report::{Table, Verdicts};
use crate::stopwatch::{self, Durations, millis};

/// The most that one plan is made for.
const MOMENTS_A_SECOND: u32 = 5;
const MOMENT_ENVIRONMENTS: [usize; 3] = [4, 16, 32];
/// Of a day of 24 seconds, with ten entries in the hours of weight one.
const MOMENTS_OF_DAY: u32 = 200;
const ENTRIES_A_WEIGHT: u32 = 10;
const NIGHT_HOURS: u64 = 7;
const CODES: u64 = 10_000_000;

impl Bench {
    /// Entries while moments pass, and after the last.
    pub(super) async fn moments(&self, span: Duration, verdicts: &mut Verdicts) {
        let span = span * 4;
        let prizes = MOMENTS_A_SECOND * u32::try_from(span.as_secs()).expect("short");
        println!("## Winning moments through a fleet\n");
        println!(
            "{prizes} moments in {span:?}, and a caller for each environment; a call takes {LATENCY:?} more.\n"
        );
        let mut table = Table::new([
            "environments",
            "entries",
            "prizes",
            "due to won: p50 ms",
            "p99 ms",
            "write units an entry",
            "read units",
            "kept",
        ]);
        for environments in MOMENT_ENVIRONMENTS {
            let (campaign, fleet) = self.with_codes(environments).await;
            let now = self.world.direct.clock.now();
            let day = (span, [1].as_slice());
            let plan = OpenPlan::over(&campaign, now, day, &[prizes], NO_CAPS).await;
            self.world.proxy.take_seen();
            let started = stopwatch::now();
            let caller = async |_| {
                let mut entries = 0_u32;
                while started.elapsed() < span + Duration::from_secs(2) {
                    self.enter(&campaign, &fleet).await;
                    entries += 1;
                }
                entries
            };
            let entries: Vec<u32> = stream::iter(0..environments)
                .map(caller)
                .buffer_unordered(environments)
                .collect()
                .await;
            let entries = f64::from(entries.iter().sum::<u32>());
            let seen = self.world.proxy.take_seen();
            let wins = plan.wins().await;
            let mut delays = Durations::default();
            // Only for this list: a win belongs to no one moment.
            for (win, moment) in wins.iter().zip(&plan.schedule.all_moments()[0]) {
                delays.push(win.accepted_at.since(*moment));
            }
            let kept = verdicts.check(plan.given().await == [prizes], || {
                format!("{} of {prizes} prizes were given", wins.len())
            });
            table.row(&[
                &environments,
                &entries,
                &wins.len(),
                &millis(delays.median()),
                &millis(delays.percentile(99)),
                &format_args!("{:.3}", seen.write_units / entries),
                &format_args!("{:.3}", (seen.capacity - seen.write_units) / entries),
                &kept,
            ]);
        }
        table.print();
    }

    /// Entries an hour as the default curve has them, in a day of 24 seconds: what a prize's odds are
    /// at night, with moments by that curve and even over the day.
    pub(super) async fn odds(&self) {
        let (_, weights) = DEFAULT_CURVE;
        let hours = Duration::from_secs(24);
        println!("## Odds of an entry at night and by day\n");
        println!(
            "A day of {hours:?} with entries by the default curve; night is its first seven hours.\n"
        );
        let mut table = Table::new(["moments", "entries", "prizes", "night to day"]);
        for (name, curve) in [("by the curve", weights.as_slice()), ("even", &[1])] {
            let (campaign, fleet) = self.with_codes(CALLERS).await;
            let now = self.world.direct.clock.now();
            let plan = OpenPlan::over(&campaign, now, (hours, curve), &[MOMENTS_OF_DAY], NO_CAPS);
            let plan = plan.await;
            let started = plan.schedule.plan().header().days[0].start();
            let times = (0..).zip(weights).flat_map(|(hour, weight)| {
                let entries = weight * ENTRIES_A_WEIGHT;
                (0..entries).map(move |n| {
                    started.after(Duration::from_secs(hour) + Duration::from_secs(1) * n / entries)
                })
            });
            let times: Vec<_> = times.collect();
            let night = started.after(Duration::from_secs(NIGHT_HOURS));
            let entering = stream::iter(times.clone()).map(async |at| {
                tokio::time::sleep(at.since(self.world.direct.clock.now())).await;
                self.enter(&campaign, &fleet).await;
            });
            let entered: Vec<()> = entering.buffer_unordered(CALLERS).collect().await;
            let wins = plan.wins().await;
            let of_night = |at: &Timestamp| *at < night;
            let share = |won: usize, entered: usize| {
                f64::from(u32::try_from(won).expect("few"))
                    / f64::from(u32::try_from(entered).expect("few"))
            };
            let entries = times.iter().filter(|at| of_night(at)).count();
            let won = wins.iter().filter(|win| of_night(&win.accepted_at)).count();
            let odds = share(won, entries) / share(wins.len() - won, entered.len() - entries);
            table.row(&[
                &name,
                &entered.len(),
                &wins.len(),
                &format_args!("{odds:.1}"),
            ]);
        }
        table.print();
    }

    /// A campaign with codes enough, and a fleet for its entries, behind the slow proxy.
    async fn with_codes(&self, environments: usize) -> (TestCampaign, Fleet) {
        let campaign = TestCampaign::on(&self.world.direct, plain()).await;
        let mint = |book: &mut CodeBook| {
            book.minted = CODES;
            book.batches[0].origin = Origin::Minted {
                first: 0,
                count: CODES,
            };
        };
        campaign.change_book(Environment::Live, mint).await;
        let fleet = self.fleet("create-submission", Routing::Skewed);
        fleet.warm_up(environments).await;
        self.world.proxy.slow_down(LATENCY);
        (campaign, fleet)
    }

    async fn enter(&self, campaign: &TestCampaign, fleet: &Fleet) {
        let number = self.world.fresh();
        let code = campaign.code(number.into());
        let ask = submission(&phone(number), &code);
        let answer = fleet.invoke(&ask.event(&campaign.live_key)).await;
        let answer = answer.expect("an answer");
        assert_eq!(answer["statusCode"], 200, "{answer}");
    }
}
