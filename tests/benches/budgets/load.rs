//! Requests a second and latency with concurrent callers. It has no budget.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use crate::caller::Caller;
use crate::operations::Endpoint;
use crate::report::Table;
use crate::stopwatch::{self, Durations, millis, per_second};
use crate::world::World;

/// Each sends its next request after the reply to the last.
const CALLERS: usize = 16;

/// Measures each operation for `span`, and prints a table.
pub(crate) async fn run(span: Duration) {
    println!("## Load\n");
    println!(
        "{CALLERS} callers, {} s each, over HTTP to the whole stack in one process (callers, functions",
        span.as_secs()
    );
    println!("and embedded database share the machine). For orientation: it has no budget.\n");
    let world = Arc::new(World::start().await);
    let mut table = Table::new(["operation", "requests a second", "p50 ms", "p99 ms"]);
    for operation in [Endpoint::GetCampaign, Endpoint::SubmitMinted] {
        let started = stopwatch::now();
        let callers = (0..CALLERS).map(|_| tokio::spawn(call(Arc::clone(&world), operation, span)));
        let mut latency = Durations::default();
        for durations in join_all(callers).await {
            latency.extend(durations.expect("no caller fails"));
        }
        let requests = u64::try_from(latency.count()).expect("fits");
        table.row([
            operation.name().to_owned(),
            format!("{:.0}", per_second(requests, started.elapsed())),
            millis(latency.median()),
            millis(latency.percentile(99)),
        ]);
    }
    table.print();
}

async fn call(world: Arc<World>, operation: Endpoint, span: Duration) -> Durations {
    let caller = Caller::of(&world.direct.base_url);
    let key = &operation.shop(&world).free_key;
    let mut latency = Durations::default();
    let started = stopwatch::now();
    while started.elapsed() < span {
        let ask = operation.prepare(&world, &caller).await;
        let sent = stopwatch::now();
        operation.confirm(&caller.send(key, &ask).await);
        latency.push(sent.elapsed());
    }
    latency
}
