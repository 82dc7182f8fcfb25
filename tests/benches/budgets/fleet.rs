//! A fleet: built functions as processes, one request at a time each, over one embedded database behind a proxy.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use common::clock::Clock;
use common::domain::scope::Environment;
use futures_util::stream::{self, StreamExt};
use serde_json::Value;
use service_tests::fleet::{Fleet, Routing};

use crate::binaries;
use crate::caller::Ask;
use crate::calls::share;
use crate::operations::Endpoint;
use crate::report::{Table, Verdicts};
use crate::stopwatch::{self, Durations, millis, per_second};
use crate::world::{Shop, World};

/// The least share of a key's limit that a fleet admits, in percent.
const ADMITTED_PERCENT: usize = 95;
/// The keys' requests a minute.
const PER_MINUTE: [u32; 2] = [600, 3_000];
/// Environments of a fleet.
const ENVIRONMENTS: [usize; 3] = [2, 32, 200];
/// Requests under way at the same time.
const CALLERS: usize = 32;
/// What each call to the database takes longer while entries are timed.
const LATENCY: Duration = Duration::from_millis(5);
/// Longer than anything is kept in a cache.
const IDLE: Duration = Duration::from_secs(6);

/// Requests to a warm environment, of which the first ones lease.
const WARM_REQUESTS: usize = 4;

struct Bench {
    world: World,
    programs: BTreeMap<String, PathBuf>,
    variables: BTreeMap<String, String>,
}

/// Measures and prints.
pub(crate) async fn run(span: Duration, verdicts: &mut Verdicts) {
    let world = World::start().await;
    let mut variables = world.direct.variables.clone();
    variables.insert("AWS_ENDPOINT_URL_DYNAMODB".to_owned(), world.proxy.url.clone());
    let programs = binaries::build(&["get-campaign", "create-submission"]).into_iter().collect();
    let bench = Bench { world, programs, variables };
    bench.rate_limit(verdicts).await;
    bench.round_trips(verdicts).await;
    bench.entries(span).await;
}

impl Bench {
    fn fleet(&self, function: &str, routing: Routing) -> Fleet {
        Fleet::new(self.programs[function].clone(), &[], self.variables.clone(), routing)
    }

    async fn rate_limit(&self, verdicts: &mut Verdicts) {
        println!("## A key's rate limit in a fleet\n");
        println!(
            "Half as many requests again as the limit admits, at once, within one minute. At least {ADMITTED_PERCENT} %"
        );
        println!("of the limit have to be admitted, and never more than all.\n");
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
                    let (admitted, leases) =
                        self.within_a_minute(&fleet, environments.min(CALLERS), limit).await;
                    let limit = usize::try_from(limit).expect("a few thousand");
                    let percent = admitted * 100 / limit;
                    let kept = verdicts.check(percent >= ADMITTED_PERCENT && admitted <= limit, || {
                        format!("{environments} environments admitted {admitted} of {limit}")
                    });
                    table.row([
                        environments.to_string(),
                        format!("{routing:?}"),
                        limit.to_string(),
                        admitted.to_string(),
                        percent.to_string(),
                        format!("{leases:.2}"),
                        kept,
                    ]);
                }
            }
        }
        table.print();
    }

    /// Requests that a new key's limit admits, and leases for each admitted one.
    async fn within_a_minute(&self, fleet: &Fleet, callers: usize, limit: u32) -> (usize, f64) {
        let clock = Clock::system();
        loop {
            let key = self.world.plain.campaign.issue(Environment::Test, limit).await;
            let event = Ask::get("/api/v1/campaign").event(&key);
            let minute = clock.now().as_minutes();
            self.world.proxy.take_seen();
            let statuses =
                stream::iter(0..limit * 3 / 2).map(|_| fleet.invoke(&event)).buffer_unordered(callers);
            let admitted = statuses.filter(|answer| {
                let status = answer.as_ref().and_then(|answer| answer["statusCode"].as_u64());
                std::future::ready(status == Some(200))
            });
            let admitted = admitted.count().await;
            if clock.now().as_minutes() == minute {
                return (admitted, share(self.world.proxy.take_seen().leases(), admitted));
            }
        }
    }

    async fn round_trips(&self, verdicts: &mut Verdicts) {
        println!("## Round trips to the database\n");
        println!(
            "Of a request to an environment that is new, that was idle for {} s, and that is warm;",
            IDLE.as_secs()
        );
        println!("calls that are made at once are one.\n");
        self.world.proxy.slow_down(Duration::from_millis(20));
        let mut table =
            Table::new(["operation", "cold", "idle", "warm", "capacity units idle", "warm", "kept"]);
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
            let (warm, warm_units) =
                warm.into_iter().min_by_key(|(trips, _)| *trips).expect("it was warm more than once");
            tokio::time::sleep(IDLE).await;
            let (idle, idle_units) = self.trips(&fleet, operation).await;
            let trips = [cold, idle, warm];
            let kept = verdicts
                .check(trips.iter().zip(budget).all(|(trips, budget)| *trips <= budget), || {
                    format!("{}: {trips:?} round trips, the budget is {budget:?}", operation.name())
                });
            let [cold, idle, warm] = trips.map(|trips| trips.to_string());
            let units = [idle_units, warm_units].map(|units| format!("{units:.1}"));
            let [idle_units, warm_units] = units;
            table.row([operation.name().to_owned(), cold, idle, warm, idle_units, warm_units, kept]);
        }
        table.print();
        self.world.proxy.slow_down(Duration::ZERO);
    }

    /// Round trips and capacity units of one request.
    async fn trips(&self, fleet: &Fleet, operation: Endpoint) -> (usize, f64) {
        let Shop { free_key, .. } = operation.shop(&self.world);
        let ask = operation.prepare(&self.world, &self.world.direct_caller()).await;
        self.world.proxy.take_seen();
        let answer = fleet.invoke(&ask.event(free_key)).await.expect("an answer");
        let body: Value = serde_json::from_str(answer["body"].as_str().expect("a body")).expect("JSON");
        operation.confirm(&body);
        let seen = self.world.proxy.take_seen();
        (seen.round_trips, seen.capacity)
    }

    async fn entries(&self, span: Duration) {
        println!("## Entries through a fleet\n");
        println!(
            "{CALLERS} callers for {} s; every call to the database takes {} ms more.\n",
            span.as_secs(),
            LATENCY.as_millis()
        );
        let Shop { campaign, free_key, .. } = &self.world.plain;
        let fleet = self.fleet("create-submission", Routing::Skewed);
        fleet.warm_up(CALLERS).await;
        self.world.proxy.slow_down(LATENCY);
        let started = stopwatch::now();
        let caller = async |_| {
            let mut latency = Durations::default();
            while started.elapsed() < span {
                let number = self.world.fresh();
                let phone = service_tests::campaign::phone(number);
                let event =
                    crate::operations::submission(&phone, &campaign.code(number.into())).event(free_key);
                let sent = stopwatch::now();
                let answer = fleet.invoke(&event).await.expect("an answer");
                assert_eq!(answer["statusCode"], 200, "{answer}");
                latency.push(sent.elapsed());
            }
            latency
        };
        let latencies: Vec<Durations> =
            stream::iter(0..CALLERS).map(caller).buffer_unordered(CALLERS).collect().await;
        let mut all = Durations::default();
        latencies.into_iter().for_each(|latency| all.extend(latency));
        let entries = u64::try_from(all.count()).expect("fits");
        let mut table = Table::new(["environments", "entries a second", "p50 ms", "p99 ms"]);
        table.row([
            fleet.started().to_string(),
            format!("{:.0}", per_second(entries, started.elapsed())),
            millis(all.median()),
            millis(all.percentile(99)),
        ]);
        table.print();
    }
}
