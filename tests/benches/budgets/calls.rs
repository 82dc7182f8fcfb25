//! DynamoDB calls and capacity units of each operation, counted on the wire.

use common::app::auth::DEFAULT_PER_MINUTE;

use crate::caller::{Ask, Caller};
use crate::operations::Endpoint;
use crate::report::{Table, Verdicts};
use crate::world::World;

/// Calls that leases on a rate limit may add to a request, on average.
const LEASE_SHARE: f64 = 0.1;

/// Requests that fill the caches before the count.
pub(crate) const WARM_UP: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cost {
    /// Leases on the rate limit are apart.
    pub(crate) calls: f64,
    pub(crate) limit: f64,
    /// Capacity units of all calls.
    pub(crate) capacity: f64,
    /// Write units among them.
    pub(crate) write_units: f64,
}

pub(crate) async fn run(requests: usize, verdicts: &mut Verdicts) {
    println!("## DynamoDB calls and capacity of a warm request\n");
    println!("{requests} requests each. `limit` is what leasing the key's requests adds.\n");
    let world = World::start().await;
    let mut table = Table::new([
        "operation",
        "calls",
        "budget",
        "limit",
        "capacity units",
        "write units",
        "kept",
    ]);
    let whole_minute = usize::try_from(DEFAULT_PER_MINUTE).expect("a few hundred") - WARM_UP;
    let rows = Endpoint::ALL.map(|operation| (operation, operation.name(), requests));
    let whole = "GET campaign, a whole limit used up";
    for (operation, name, requests) in
        rows.into_iter()
            .chain([(Endpoint::GetCampaign, whole, whole_minute)])
    {
        let Cost {
            calls,
            limit,
            capacity,
            write_units,
        } = measure(&world, operation, requests).await;
        let budget = operation.budget();
        let kept = verdicts.check(calls <= budget && limit < LEASE_SHARE, || {
            format!(
                "{name}: {calls:.2} DynamoDB calls and {limit:.3} for the limit; the budget is {budget:.0} and \
                 {LEASE_SHARE}"
            )
        });
        table.row(&[
            &name,
            &format_args!("{calls:.2}"),
            &format_args!("{budget:.0}"),
            &format_args!("{limit:.3}"),
            &format_args!("{capacity:.2}"),
            &format_args!("{write_units:.2}"),
            &kept,
        ]);
    }
    table.print();
}

/// Average cost, counted from the start of a minute.
pub(crate) async fn measure(world: &World, operation: Endpoint, requests: usize) -> Cost {
    world.begin_minute();
    let caller = world.counted_caller();
    let asks = prepare(world, operation, &caller, requests + WARM_UP).await;
    let key = &operation.shop(world).usual_key;
    let (warm_up, counted) = asks.split_at(WARM_UP);
    for ask in warm_up {
        caller.send(key, ask).await;
    }
    world.proxy.take_seen();
    for ask in counted {
        operation.confirm(&caller.send(key, ask).await);
    }
    let seen = world.proxy.take_seen();
    let leases = seen.leases();
    Cost {
        calls: share(seen.calls.len() - leases, requests),
        limit: share(leases, requests),
        capacity: seen.capacity / share(requests, 1),
        write_units: seen.write_units / share(requests, 1),
    }
}

/// Requests with their records in place.
pub(crate) async fn prepare(
    world: &World,
    operation: Endpoint,
    caller: &Caller,
    requests: usize,
) -> Vec<Ask> {
    let mut asks = Vec::with_capacity(requests);
    for _ in 0..requests {
        asks.push(operation.prepare(world, caller).await);
    }
    asks
}

#[expect(clippy::cast_precision_loss, reason = "counts of a few thousand")]
pub(crate) fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
