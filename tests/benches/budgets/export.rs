//! `ops export submissions` over many entries: entries a second, and the memory of the process that exports.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use common::clock::Clock;
use common::domain::ids::SubmissionId;
use common::domain::phone::Phone;
use common::domain::scope::{Environment, Scope};
use common::random;
use common::store::submissions;
use local::stack::Options;
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::receipts::id_of;
use service_tests::service::Service;

use crate::ops_child::{self, Ran};
use crate::records::{Item, put_all};
use crate::report::{Table, Verdicts};
use crate::stopwatch::per_second;

/// For the larger number of entries.
const MAX_DURATION: Duration = Duration::from_secs(60);
/// How much more memory ten times as many entries may take.
const MEMORY_GROWTH: f64 = 1.25;

/// Exports a tenth of the entries, then all.
pub(crate) async fn run(entries: u32, verdicts: &mut Verdicts) {
    println!("## Export\n");
    println!(
        "`ops export submissions` in a process of its own, from the embedded database in this one, with phones"
    );
    println!(
        "masked. {entries} entries may take {} seconds, and {MEMORY_GROWTH} times the memory of",
        MAX_DURATION.as_secs()
    );
    println!("a tenth of them.\n");
    let service = Service::with_options(Options {
        background: false,
        streams: false,
        ..Options::default()
    });
    let campaign = TestCampaign::on(&service, plain()).await;
    let original = original(&campaign).await;
    let mut seeded = 0;
    let mut table = Table::new([
        "entries",
        "seconds",
        "entries a second",
        "peak memory, MB",
        "kept",
    ]);
    let mut memory_of_few = None;
    for count in [entries / 10, entries] {
        seed(&campaign, &original, count - seeded).await;
        seeded = count;
        let Ran {
            taken,
            peak_mb: peak,
        } = export(&campaign, count);
        let grows = memory_of_few
            .zip(peak)
            .is_some_and(|(few, many)| many > few * MEMORY_GROWTH);
        let kept = verdicts.check(taken < MAX_DURATION && !grows, || {
            format!(
                "exporting {count} entries took {:.1} s and {peak:?} MB; with fewer, {memory_of_few:?} MB",
                taken.as_secs_f64()
            )
        });
        memory_of_few = memory_of_few.or(peak);
        let peak = peak.map_or_else(|| "unknown".to_owned(), |peak| format!("{peak:.0}"));
        let rate = format!("{:.0}", per_second(count.into(), taken));
        table.row([
            count.to_string(),
            format!("{:.1}", taken.as_secs_f64()),
            rate,
            peak,
            kept,
        ]);
    }
    table.print();
}

/// Adds entries, each of another phone: copies of one that was made through the API.
async fn seed(campaign: &TestCampaign, original: &Item, count: u32) {
    let service = &campaign.service;
    let table = service
        .env
        .required(submissions::VARIABLE)
        .expect("the stack sets it");
    let client = service.dynamodb();
    let scope = campaign.scope(Environment::Test);
    let keys = service
        .tables
        .code_books
        .secrets()
        .version_for_phones()
        .await
        .expect("the secret");
    let copies = (0..count).map(|number| {
        let (id, phone): (_, Phone) = (
            random::submission_id(),
            phone(number).parse().expect("a phone"),
        );
        let entrant = scope.key(keys.secret.consumer(&scope, phone.clone()).id.as_str());
        let stored = keys
            .secret
            .encrypt_phone(&scope, id, &phone, random::bytes());
        let stored = serde_json::to_value(stored).expect("JSON");
        copy(
            original,
            &scope,
            id,
            [&entrant, stored.as_str().expect("text")],
        )
    });
    put_all(&client, &table, copies).await;
}

/// The record of an entry that was made through the API.
async fn original(campaign: &TestCampaign) -> Item {
    let sent = campaign.submit(&phone(1), &campaign.code(0)).await;
    let id: SubmissionId = id_of(&sent).parse().expect("an id");
    let key = submissions::key(&campaign.scope(Environment::Test), id.reference());
    let table = campaign
        .service
        .env
        .required(submissions::VARIABLE)
        .expect("the stack sets it");
    let get = campaign.service.dynamodb().get_item().table_name(table);
    let found = get
        .key(submissions::KEY, AttributeValue::S(key))
        .send()
        .await
        .expect("it answers");
    found.item.expect("it was written")
}

fn copy(original: &Item, scope: &Scope, id: SubmissionId, [entrant, phone]: [&str; 2]) -> Item {
    let mut copy = original.clone();
    for (name, text) in [
        (submissions::KEY, submissions::key(scope, id.reference())),
        ("submission_id", id.to_string()),
        ("entrant", entrant.to_owned()),
        ("phone", phone.to_owned()),
    ] {
        let known = copy.insert(name.to_owned(), AttributeValue::S(text));
        assert!(known.is_some(), "a record has {name}");
    }
    copy
}

/// Exports, and checks that every entry is in the file.
fn export(campaign: &TestCampaign, count: u32) -> Ran {
    let folder = tempfile::tempdir().expect("a disk");
    let output = folder.path().join("entries.csv");
    let slug = campaign.config.slug.as_str();
    let ran = ops_child::run(
        &campaign.service,
        Clock::system().now(),
        &[
            "export",
            "submissions",
            "--environment",
            "test",
            "--campaign",
            slug,
            "--output",
            output.to_str().expect("text"),
        ],
    );
    let lines = BufReader::new(File::open(&output).expect("it is written"))
        .lines()
        .count();
    assert!(
        lines > usize::try_from(count).expect("fits"),
        "every entry is in the file, below the header"
    );
    ran
}
