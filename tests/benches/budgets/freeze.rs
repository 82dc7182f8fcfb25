//! `ops draw freeze`: entries a second, and the memory of the command.

use std::time::Duration;

use common::clock::Clock;
use common::domain::ids::EntrantId;
use common::domain::ids::SubmissionId;
use common::domain::scope::Environment;
use common::domain::timestamp::Timestamp;
use common::random;
use common::store::submissions;
use service_tests::campaign::phone;

use crate::operations::submission;
use crate::ops_child::{self, Ran};
use crate::records::{self, Item};
use crate::report::{Table, Verdicts};
use crate::stopwatch::per_second;
use crate::world::World;

/// The most memory of the command, however many entries there are.
const PEAK_MEMORY_MB: f64 = 128.0;
/// After the entries: a period is frozen some minutes after its end.
const LATER: Duration = Duration::from_secs(600);
/// From the freeze to the round.
const NOTICE: Duration = Duration::from_secs(3600);

/// Freezes this many entries of as many entrants, and prints the figures.
pub(crate) async fn run(entries: u32, verdicts: &mut Verdicts) {
    println!("## Freezing a draw\n");
    println!(
        "`ops draw freeze` of {entries} entries of as many entrants, in a process of its own, over the embedded"
    );
    println!(
        "database and S3: reading the table, sorting, writing and uploading. Memory is the peak of the process (below"
    );
    println!("{PEAK_MEMORY_MB} MB); it does not grow with the number of entries.\n");
    let world = World::start().await;
    fill(&world, entries).await;
    let (rows, Ran { taken, peak_mb }) = freeze(&world);
    assert_eq!(
        rows,
        usize::try_from(entries).expect("fits"),
        "each entrant has a row"
    );
    let kept = verdicts.check(peak_mb.is_none_or(|peak| peak < PEAK_MEMORY_MB), || {
        format!("ops draw freeze took {peak_mb:?} MB for {entries} entries")
    });
    let mut table = Table::new(["entries", "seconds", "entries a second", "peak MB", "kept"]);
    table.row([
        entries.to_string(),
        format!("{:.1}", taken.as_secs_f64()),
        format!("{:.0}", per_second(entries.into(), taken)),
        peak_mb.map_or_else(|| "unknown".to_owned(), |peak| format!("{peak:.0}")),
        kept,
    ]);
    table.print();
}

/// Submits an entry, and copies its record under other ids, references and entrants.
async fn fill(world: &World, entries: u32) {
    let (client, shop) = (world.direct.dynamodb(), &world.plain);
    let ask = submission(
        &phone(world.fresh()),
        &shop.campaign.code(world.fresh().into()),
    );
    world.direct_caller().send(&shop.free_key, &ask).await;
    let table = world
        .direct
        .env
        .required(submissions::VARIABLE)
        .expect("the stack sets every variable");
    let scanned = client
        .scan()
        .table_name(&table)
        .send()
        .await
        .expect("the table answers");
    let original = scanned.items().first().expect("the entry").clone();
    // After the scope.
    let entrant = text(&original, "entrant")
        .rsplit('#')
        .next()
        .expect("an id")
        .to_owned();
    let id: SubmissionId = text(&original, "submission_id").parse().expect("an id");
    let names = [id.to_string(), id.reference().symbols(), entrant];
    let copies = (1..entries).map(|_| {
        let id = random::submission_id();
        let entrant = EntrantId::tombstone(random::bytes()).as_str().to_owned();
        let others = [id.to_string(), id.reference().symbols(), entrant];
        records::copy(&original, &names, &others)
    });
    records::put_all(&client, &table, copies).await;
}

fn text(item: &Item, name: &str) -> String {
    item.get(name)
        .and_then(|value| value.as_s().ok())
        .expect("a text")
        .clone()
}

/// Freezes, and returns the number of rows.
fn freeze(world: &World) -> (usize, Ran) {
    let folder = tempfile::tempdir().expect("a disk");
    let output = folder.path().join("draw");
    let entered = Clock::system().now();
    let now = entered.after(LATER);
    let from = Timestamp::from_millis(entered.as_millis() - 24 * 60 * 60 * 1000).to_string();
    let (to, at) = (
        entered.after(Duration::from_secs(1)).to_string(),
        now.after(NOTICE).to_string(),
    );
    let campaign = world.plain.campaign.scope(Environment::Test).campaign;
    let ran = ops_child::run(
        &world.direct,
        now,
        &[
            "draw",
            "freeze",
            "--draw",
            "bench",
            "--environment",
            "test",
            "--campaign",
            campaign.as_str(),
            "--prize",
            "Kettle=1000",
            "--from",
            &from,
            "--to",
            &to,
            "--at",
            &at,
            "--output",
            output.to_str().expect("text"),
            "--yes",
        ],
    );
    let rows = std::fs::read_to_string(output.join("entries.csv"))
        .expect("it is written")
        .lines()
        .count();
    (rows, ran)
}
