//! Start-up time, memory and size of each function, compared with an empty one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use common::http::routes;
use local::stack::{Options, Stack};
use serde_json::{Value, json};
use service_tests::environment::Environment;
use service_tests::service::DEPLOYMENT_SECRET;

use crate::binaries;
use crate::caller::Ask;
use crate::operations::Endpoint;
use crate::report::{Table, Verdicts, or_unknown};
use crate::stopwatch::{self, Durations, millis};
use crate::world::World;

/// Most time to the first poll, in multiples of the empty function's.
const TIMES_EMPTY: f64 = 3.0;
const PEAK_MEMORY_MB: f64 = 40.0;
const BINARY_MB: f64 = 12.0;

/// A function will not answer later.
const PATIENCE: Duration = Duration::from_secs(20);

const EMPTY: &str = "baseline-function";
/// The default route's function, and a path.
const API_DOCS: (&str, &str) = ("api-docs", "/docs/errors");
/// Background functions, and an event for each.
const BACKGROUND: [(&str, &str); 7] = [
    (
        "count-changes",
        include_str!("../../../events/count-changes.json"),
    ),
    (
        "deliver-events",
        include_str!("../../../events/deliver-events.json"),
    ),
    (
        "mark-receipt-uploaded",
        include_str!("../../../events/mark-receipt-uploaded.json"),
    ),
    (
        "publish-events",
        include_str!("../../../events/publish-events.json"),
    ),
    (
        "settle-partners",
        include_str!("../../../events/settle-partners.json"),
    ),
    (
        "settle-receipts",
        include_str!("../../../events/settle-receipts.json"),
    ),
    (
        "sweep-unsettled",
        include_str!("../../../events/sweep-unsettled.json"),
    ),
];

struct Measured {
    name: &'static str,
    program: PathBuf,
    to_first_poll: Durations,
    to_first_answer: Durations,
    peak_memory: Option<u64>,
}

/// Starts functions this many times, in turns.
pub(crate) async fn run(starts: usize, verdicts: &mut Verdicts) {
    println!("## Start-up of the functions\n");
    println!("{starts} starts of each release build, in turns, from the start of the process.\n");
    let world = World::start().await;
    let options = Options {
        dynamodb_url: world.direct.env.optional("AWS_ENDPOINT_URL_DYNAMODB"),
        deployment_secret: Some(DEPLOYMENT_SECRET.to_owned()),
        streams: false,
        ..Options::default()
    };
    let stack = Stack::start(options)
        .await
        .expect("a stack on the same database");
    let mut functions = functions();
    for _ in 0..starts {
        for function in &mut functions {
            function.start(&world, stack.env()).await;
        }
    }
    stack.stop().await;
    print(&functions, verdicts);
}

/// The empty function first.
fn functions() -> Vec<Measured> {
    let mut names: Vec<&'static str> = Vec::new();
    names.extend(routes::ROUTES.iter().map(|route| route.function));
    names.push(API_DOCS.0);
    names.extend(BACKGROUND.map(|(function, _)| function));
    // Built separately, so that Cargo merges no features.
    let mut programs = binaries::build(&[EMPTY]);
    programs.extend(binaries::build(&names));
    let measured = |name| Measured {
        name,
        program: programs
            .remove(name)
            .expect("each function has a program of its name"),
        to_first_poll: Durations::default(),
        to_first_answer: Durations::default(),
        peak_memory: None,
    };
    [EMPTY].into_iter().chain(names).map(measured).collect()
}

impl Measured {
    async fn start(&mut self, world: &World, variables: &BTreeMap<String, String>) {
        let event = first_event(self.name, world).await;
        let started = stopwatch::now();
        let mut environment = Environment::start(&self.program, &[], variables).await;
        // Queued before the function polls.
        let answer = tokio::time::timeout(PATIENCE, environment.invoke(&event)).await;
        self.to_first_answer.push(started.elapsed());
        let answer = answer.ok().flatten().expect("the function answers");
        let is_background = BACKGROUND.iter().any(|(name, _)| *name == self.name);
        let status = (!is_background).then_some(&json!(200)).cloned();
        assert_eq!(answer.get("statusCode"), status.as_ref(), "{}", self.name);
        let polled = environment.first_poll().await.expect("it was polled");
        self.to_first_poll.push(polled - started);
        self.peak_memory = self.peak_memory.max(environment.peak_memory());
    }
}

async fn first_event(function: &str, world: &World) -> Value {
    if let Some((_, event)) = BACKGROUND.iter().find(|(name, _)| *name == function) {
        return serde_json::from_str(event).expect("a sample event");
    }
    match operation(function) {
        Some(operation) => {
            let ask = operation.prepare(world, &world.direct_caller()).await;
            ask.event(&operation.shop(world).free_key)
        }
        None => Ask::get(API_DOCS.1).event(&world.plain.free_key),
    }
}

/// First request to a function behind a route.
fn operation(function: &str) -> Option<Endpoint> {
    match function {
        "get-campaign" => Some(Endpoint::GetCampaign),
        "check-code" => Some(Endpoint::CheckCode),
        "create-submission" => Some(Endpoint::SubmitMinted),
        "get-submission" => Some(Endpoint::GetSubmission),
        "lookup-submissions" => Some(Endpoint::Lookup),
        "create-receipt" => Some(Endpoint::CreateReceipt),
        "get-receipt" => Some(Endpoint::GetReceipt),
        "refresh-upload-url" => Some(Endpoint::RefreshUploadUrl),
        EMPTY => None,
        name if name == API_DOCS.0 => None,
        other => panic!("say here what {other} is asked first"),
    }
}

fn print(functions: &[Measured], verdicts: &mut Verdicts) {
    let mut table = Table::new([
        "function",
        "first poll ms: min",
        "median",
        "max",
        "times empty",
        "first answer ms: median",
        "memory MB",
        "binary MB",
        "kept",
    ]);
    let empty = functions[0].to_first_poll.median();
    for function in functions {
        let times_empty = function.to_first_poll.median().as_secs_f64() / empty.as_secs_f64();
        let memory = function.peak_memory.map(megabytes);
        let binary = megabytes(
            std::fs::metadata(&function.program)
                .expect("the program is there")
                .len(),
        );
        let kept = times_empty <= TIMES_EMPTY
            && memory.is_none_or(|memory| memory < PEAK_MEMORY_MB)
            && binary < BINARY_MB;
        let memory = or_unknown(memory, 1);
        let kept = verdicts.check(kept, || {
            format!(
                "{}: {times_empty:.2} times the empty function's start-up (budget {TIMES_EMPTY}), {memory} MB \
                 of memory (budget {PEAK_MEMORY_MB}), {binary:.1} MB on disk (budget {BINARY_MB})",
                function.name
            )
        });
        table.row(&[
            &function.name,
            &millis(function.to_first_poll.percentile(0)),
            &millis(function.to_first_poll.median()),
            &millis(function.to_first_poll.percentile(100)),
            &format_args!("{times_empty:.2}"),
            &millis(function.to_first_answer.median()),
            &memory,
            &format_args!("{binary:.1}"),
            &kept,
        ]);
    }
    table.print();
}

fn megabytes(bytes: u64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a size for people: the last digits do not matter"
    )]
    let bytes = bytes as f64;
    bytes / 1_000_000.0
}
