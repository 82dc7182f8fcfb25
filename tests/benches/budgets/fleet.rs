//! Fleets of processes that handle one request at a time each, over one database behind a proxy.

mod moments;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use common::aws::settle_queue::TAX_VARIABLE;
use common::clock::Clock;
use common::domain::scope::Environment;
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use serde_json::Value;
use service_tests::campaign::phone;
use service_tests::fleet::{Fleet, Routing};
use service_tests::interceptor::{Disturbance, Interceptor};
use service_tests::load::{self, Plan, Report};
use service_tests::queue::Queue;
use service_tests::receipts::TIME;

use crate::binaries;
use crate::caller::Ask;
use crate::calls::share;
use crate::operations::Endpoint;
use crate::report::{Table, Verdicts};
use crate::stopwatch::{self, Durations, millis, per_second};
use crate::world::{Shop, World};

/// Least share of a rate limit that a fleet admits, in percent.
const ADMITTED_PERCENT: usize = 95;
const PER_MINUTE: [u32; 2] = [600, 3_000];
const ENVIRONMENTS: [usize; 3] = [2, 32, 200];
const CALLERS: usize = 32;
/// Added to each database call while entries are timed.
const LATENCY: Duration = Duration::from_millis(5);
/// Longer than any cache entry lives.
const IDLE: Duration = Duration::from_secs(6);

/// The first ones lease.
const WARM_REQUESTS: usize = 4;
/// Consecutive entries in one environment, and the least share with one round trip, in percent.
const WARM_ENTRIES: usize = 500;
const ONE_TRIP_PERCENT: usize = 90;
/// The template's maximum of receipt settlers, and many more.
const LOOKUP_ENVIRONMENTS: [usize; 2] = [2, 12];
/// More than can be looked up within `LOOKUP_SPAN`.
const RECEIPTS: usize = 60;
const LOOKUP_SPAN: Duration = Duration::from_secs(60);
/// Look-ups within `LOOKUP_SPAN`, at forty a minute; with many environments some slots stay free,
/// and the last may begin as the minute ends.
const LOOKUPS: std::ops::RangeInclusive<usize> = 36..=41;
/// Clients, and the share of each fault in percent.
const CLIENTS: u32 = 128;
const FAULTS_PERCENT: u32 = 5;

struct Bench {
    world: World,
    programs: BTreeMap<String, PathBuf>,
    variables: BTreeMap<String, String>,
}

pub(crate) async fn run(span: Duration, verdicts: &mut Verdicts) {
    let world = World::start().await;
    let mut variables = world.direct.variables.clone();
    let database = world.direct.database_url();
    variables.insert(
        "AWS_ENDPOINT_URL_DYNAMODB".to_owned(),
        world.proxy.in_front_of(&database).await,
    );
    let programs = binaries::build(&["get-campaign", "create-submission", "settle-receipts"])
        .into_iter()
        .collect();
    let bench = Bench {
        world,
        programs,
        variables,
    };
    bench.rate_limit(verdicts).await;
    bench.round_trips(verdicts).await;
    bench.warm_entries(verdicts).await;
    bench.entries(span).await;
    bench.moments(span, verdicts).await;
    bench.odds().await;
    bench.lookups(verdicts).await;
    crowd(span, verdicts).await;
}

impl Bench {
    fn fleet(&self, function: &str, routing: Routing) -> Fleet {
        Fleet::new(
            self.programs[function].clone(),
            &[],
            self.variables.clone(),
            routing,
        )
    }

    async fn rate_limit(&self, verdicts: &mut Verdicts) {
        println!("## A key's rate limit in a fleet\n");
        println!("Half as many requests again as it admits, at most {CALLERS} at once.\n");
        let mut table = Table::new([
            "environments",
            "routing",
            "limit",
            "admitted",
            "percent",
            "leases a request",
            "kept",
        ]);
        for environments in ENVIRONMENTS {
            for routing in [Routing::Even, Routing::Skewed] {
                let fleet = self.fleet("get-campaign", routing);
                fleet.warm_up(environments).await;
                for limit in PER_MINUTE {
                    let (admitted, leases) = self
                        .within_a_minute(&fleet, environments.min(CALLERS), limit)
                        .await;
                    let limit = usize::try_from(limit).expect("a few thousand");
                    let percent = admitted * 100 / limit;
                    let kept = verdicts
                        .check(percent >= ADMITTED_PERCENT && admitted <= limit, || {
                            format!("{environments} environments admitted {admitted} of {limit}")
                        });
                    table.row(&[
                        &environments,
                        &format_args!("{routing:?}"),
                        &limit,
                        &admitted,
                        &percent,
                        &format_args!("{leases:.2}"),
                        &kept,
                    ]);
                }
            }
        }
        table.print();
    }

    /// Requests admitted for a new key, and leases for each.
    async fn within_a_minute(&self, fleet: &Fleet, callers: usize, limit: u32) -> (usize, f64) {
        let clock = Clock::system();
        loop {
            let key = self
                .world
                .plain
                .campaign
                .issue(Environment::Test, limit)
                .await;
            let event = Ask::get("/api/v1/campaign").event(&key);
            let minute = clock.now().as_minutes();
            self.world.proxy.take_seen();
            let statuses = stream::iter(0..limit * 3 / 2)
                .map(|_| fleet.invoke(&event))
                .buffer_unordered(callers);
            let admitted = statuses.filter(|answer| {
                let status = answer
                    .as_ref()
                    .and_then(|answer| answer["statusCode"].as_u64());
                std::future::ready(status == Some(200))
            });
            let admitted = admitted.count().await;
            if clock.now().as_minutes() == minute {
                return (
                    admitted,
                    share(self.world.proxy.take_seen().leases(), admitted),
                );
            }
        }
    }

    async fn round_trips(&self, verdicts: &mut Verdicts) {
        println!("## Round trips to the database\n");
        println!("Of a new environment, an idle and a warm one. Calls at once are one.\n");
        self.world.proxy.slow_down(Duration::from_millis(20));
        let mut table = Table::new([
            "operation",
            "cold",
            "idle",
            "warm",
            "capacity units idle",
            "warm",
            "kept",
        ]);
        let operations = [
            (Endpoint::SubmitMinted, [3, 2, 1]),
            (Endpoint::SubmitUsedCode, [4, 2, 2]),
            (Endpoint::ReplayByKey, [3, 2, 2]),
            (Endpoint::ReplayByCodeAndPhone, [5, 3, 3]),
        ];
        for (operation, budget) in operations {
            let fleet = self.fleet("create-submission", Routing::Skewed);
            fleet.warm_up(1).await;
            let (cold, _) = self.trips(&fleet, operation).await;
            let mut warm = Vec::new();
            for _ in 0..WARM_REQUESTS {
                warm.push(self.trips(&fleet, operation).await);
            }
            let (warm, warm_units) = warm
                .into_iter()
                .min_by_key(|(trips, _)| *trips)
                .expect("it was warm more than once");
            tokio::time::sleep(IDLE).await;
            let (idle, idle_units) = self.trips(&fleet, operation).await;
            let trips = [cold, idle, warm];
            let kept = verdicts.check(
                trips
                    .iter()
                    .zip(budget)
                    .all(|(trips, budget)| *trips <= budget),
                || {
                    format!(
                        "{}: {trips:?} round trips, the budget is {budget:?}",
                        operation.name()
                    )
                },
            );
            table.row(&[
                &operation.name(),
                &cold,
                &idle,
                &warm,
                &format_args!("{idle_units:.1}"),
                &format_args!("{warm_units:.1}"),
                &kept,
            ]);
        }
        table.print();
        self.world.proxy.slow_down(Duration::ZERO);
    }

    /// Round trips and capacity units of a request.
    async fn trips(&self, fleet: &Fleet, operation: Endpoint) -> (usize, f64) {
        let Shop { free_key, .. } = operation.shop(&self.world);
        let ask = operation
            .prepare(&self.world, &self.world.direct_caller())
            .await;
        self.world.proxy.take_seen();
        let answer = fleet.invoke(&ask.event(free_key)).await.expect("an answer");
        let body: Value =
            serde_json::from_str(answer["body"].as_str().expect("a body")).expect("JSON");
        operation.confirm(&body);
        let seen = self.world.proxy.take_seen();
        (seen.round_trips, seen.capacity)
    }

    /// Counts entries of a warm, busy environment with one round trip.
    async fn warm_entries(&self, verdicts: &mut Verdicts) {
        println!("## Entries that take one round trip\n");
        let fleet = self.fleet("create-submission", Routing::Skewed);
        fleet.warm_up(1).await;
        let mut one_trip = 0;
        for _ in 0..WARM_ENTRIES {
            let (trips, _) = self.trips(&fleet, Endpoint::SubmitMinted).await;
            one_trip += usize::from(trips == 1);
        }
        let percent = one_trip * 100 / WARM_ENTRIES;
        let kept = verdicts.check(percent >= ONE_TRIP_PERCENT, || {
            format!("{percent} % of the entries in a warm environment took one round trip")
        });
        let mut table = Table::new(["entries", "of one round trip", "percent", "kept"]);
        table.row(&[&WARM_ENTRIES, &one_trip, &percent, &kept]);
        table.print();
    }

    /// Look-ups in a minute, by few and by many environments.
    async fn lookups(&self, verdicts: &mut Verdicts) {
        println!("## Look-ups at the tax authority\n");
        println!("Within {LOOKUP_SPAN:?}, while more receipts wait.\n");
        let authority = self
            .world
            .direct
            .env
            .required("TAX_AUTHORITY_URL")
            .expect("the stack sets it");
        let queue = Queue::from_env(&self.world.direct.env, TAX_VARIABLE);
        let mut table = Table::new(["environments", "look-ups", "kept"]);
        let mut numbers = 0..;
        for environments in LOOKUP_ENVIRONMENTS {
            for number in numbers.by_ref().take(RECEIPTS) {
                self.submit_receipt(number).await;
            }
            let counter = Interceptor::default();
            let mut variables = self.world.direct.variables.clone();
            variables.insert(
                "TAX_AUTHORITY_URL".to_owned(),
                counter.in_front_of(&authority).await,
            );
            let program = self.programs["settle-receipts"].clone();
            let fleet = Fleet::new(program, &[], variables, Routing::Even);
            fleet.warm_up(environments).await;
            let deliver = async |_| {
                loop {
                    queue.deliver(async |event| fleet.invoke(event).await).await;
                }
            };
            // Consumers never stop; the time-out ends them.
            let delivering = join_all((0..environments).map(deliver));
            let _: Result<Vec<()>, _> = tokio::time::timeout(LOOKUP_SPAN, delivering).await;
            // A look-up is one request.
            let lookups = counter.calls();
            let kept = verdicts.check(LOOKUPS.contains(&lookups), || {
                format!("{environments} environments asked the tax authority {lookups} times in a minute")
            });
            table.row(&[&environments, &lookups, &kept]);
        }
        table.print();
    }

    async fn submit_receipt(&self, number: u32) {
        let campaign = &self.world.receipts.campaign;
        let code = format!("GOOD01{number:04}");
        let receipt = campaign.typed(&campaign.live_key, &code, TIME).await;
        let submission = campaign.with_receipt(&campaign.live_key, &phone(number), "", &receipt);
        let reply = submission.await;
        assert_eq!(reply.status, 200, "{}", reply.text);
    }

    async fn entries(&self, span: Duration) {
        println!("## Entries through a fleet\n");
        println!(
            "{CALLERS} callers for {span:?}; a call to the database takes {LATENCY:?} more.\n"
        );
        let Shop {
            campaign, free_key, ..
        } = &self.world.plain;
        let fleet = self.fleet("create-submission", Routing::Skewed);
        fleet.warm_up(CALLERS).await;
        self.world.proxy.slow_down(LATENCY);
        let started = stopwatch::now();
        let caller = async |_| {
            let mut latency = Durations::default();
            while started.elapsed() < span {
                let number = self.world.fresh();
                let code = campaign.code(number.into());
                let event = crate::operations::submission(&phone(number), &code).event(free_key);
                let sent = stopwatch::now();
                let answer = fleet.invoke(&event).await.expect("an answer");
                assert_eq!(answer["statusCode"], 200, "{answer}");
                latency.push(sent.elapsed());
            }
            latency
        };
        let latencies: Vec<Durations> = stream::iter(0..CALLERS)
            .map(caller)
            .buffer_unordered(CALLERS)
            .collect()
            .await;
        let mut all = Durations::default();
        latencies
            .into_iter()
            .for_each(|latency| all.extend(latency));
        let entries = u64::try_from(all.count()).expect("fits");
        let mut table = Table::new(["environments", "entries a second", "p50 ms", "p99 ms"]);
        table.row(&[
            &fleet.started(),
            &format_args!("{:.0}", per_second(entries, started.elapsed())),
            &millis(all.median()),
            &millis(all.percentile(99)),
        ]);
        table.print();
    }
}

/// Runs many clients with all faults, and prints the result.
async fn crowd(span: Duration, verdicts: &mut Verdicts) {
    println!("## A crowd through fleets\n");
    println!("{CLIENTS} clients for {span:?}; {FAULTS_PERCENT} % of each kind of fault.\n");
    let faults = Disturbance {
        lost_percent: FAULTS_PERCENT,
        throttled_percent: FAULTS_PERCENT,
        throttled_table: None,
    };
    let plan = Plan {
        program: PathBuf::from(env!("CARGO_BIN_EXE_environment")),
        seed: 1,
        clients: CLIENTS,
        lasting: span,
        most: u32::MAX,
        faults,
        killed_percent: FAULTS_PERCENT,
    };
    let report = load::run(plan).await;
    let (twice, lost, miscounted) = (
        report.redeemed_twice.len(),
        report.lost.len(),
        report.miscounted.len(),
    );
    let kept = verdicts.check(twice + lost + miscounted == 0, || {
        let Report { redeemed_twice, lost, miscounted, .. } = &report;
        format!(
            "a crowd redeemed twice: {redeemed_twice:?}, lost: {lost:?}, and was miscounted: {miscounted:?}"
        )
    });
    let mut table = Table::new([
        "submissions answered",
        "environments started",
        "killed",
        "calls",
        "lost or throttled",
        "double redemptions",
        "lost entries",
        "wrong numbers",
        "kept",
    ]);
    let ((killed, started), (calls, faults)) = (report.environments, report.calls);
    table.row(&[
        &report.answered,
        &started,
        &killed,
        &calls,
        &faults,
        &twice,
        &lost,
        &miscounted,
        &kept,
    ]);
    table.print();
}
