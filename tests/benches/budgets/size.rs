//! Requests cost the same with few and with many records.

use common::store::{codes, entrants, idempotency_keys, submissions};

use crate::calls::{self, Cost, WARM_UP};
use crate::operations::Endpoint;
use crate::records::Records;
use crate::report::{Table, Verdicts};
use crate::stopwatch::{self, Durations, millis};
use crate::world::World;

/// Unaffected by other records.
const MEASURED: [Endpoint; 4] = [
    Endpoint::SubmitMinted,
    Endpoint::GetSubmission,
    Endpoint::Lookup,
    Endpoint::CheckCode,
];

/// Rounding of averages; one more call in a thousand requests exceeds it.
const TOLERANCE: f64 = 0.001;

/// Measures with `few` and `many` submissions.
pub(crate) async fn run(requests: usize, few: u32, many: u32, verdicts: &mut Verdicts) {
    println!("## Independence of size\n");
    println!("With {few} and with {many} submissions, each with code, entrant and request.\n");
    let world = World::start().await;
    let tables = [
        codes::VARIABLE,
        submissions::VARIABLE,
        entrants::VARIABLE,
        idempotency_keys::VARIABLE,
    ];
    let mut records = Records::of(&world, &tables).await;
    records.fill_up_to(few).await;
    let mut with_few = Vec::new();
    for operation in MEASURED {
        with_few.push(measure(&world, operation, requests).await);
    }
    records.fill_up_to(many).await;

    let mut table = Table::new([
        "operation",
        "calls: few",
        "many",
        "units: few",
        "many",
        "p50 ms: few",
        "many",
        "equal",
    ]);
    for (operation, (few_cost, few_latency)) in MEASURED.into_iter().zip(with_few) {
        let (many_cost, many_latency) = measure(&world, operation, requests).await;
        let equal = (few_cost.calls - many_cost.calls).abs() < TOLERANCE
            && (few_cost.capacity - many_cost.capacity).abs() < TOLERANCE;
        let equal = verdicts.check(equal, || {
            format!(
                "{}: {few_cost:?} with few records became {many_cost:?}",
                operation.name()
            )
        });
        table.row(&[
            &operation.name(),
            &format_args!("{:.2}", few_cost.calls),
            &format_args!("{:.2}", many_cost.calls),
            &format_args!("{:.2}", few_cost.capacity),
            &format_args!("{:.2}", many_cost.capacity),
            &millis(few_latency.median()),
            &millis(many_latency.median()),
            &equal,
        ]);
    }
    table.print();
}

async fn measure(world: &World, operation: Endpoint, requests: usize) -> (Cost, Durations) {
    let cost = calls::measure(world, operation, requests).await;
    let caller = world.direct_caller();
    let asks = calls::prepare(world, operation, &caller, requests + WARM_UP).await;
    let key = &operation.shop(world).free_key;
    let mut latency = Durations::default();
    for (index, ask) in asks.iter().enumerate() {
        let started = stopwatch::now();
        caller.send(key, ask).await;
        if index >= WARM_UP {
            latency.push(started.elapsed());
        }
    }
    (cost, latency)
}
