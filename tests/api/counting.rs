//! Counting of changes: each once, however batches are delivered, and wherever counting is cut.

use aws_sdk_dynamodb::types::AttributeValue;
use common::domain::ids::SubmissionId;
use common::domain::scope::{Environment, Scope};
use common::domain::statistics::{Amount, Metric};
use common::random;
use common::store::statistics::Statistics;
use common::store::submissions;
use common::store::table_pages::Position;
use count_changes::stream_batch::StreamBatchResponse;
use futures_util::{StreamExt, stream};
use local::stack::Options;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, body, phone, plain};
use service_tests::counting::{Counter, differences};
use service_tests::interceptor::{FaultKind, Interceptor};
use service_tests::receipts::id_of;
use service_tests::service::Service;

const DATABASE: &str = "AWS_ENDPOINT_URL_DYNAMODB";

/// More regions than fit into one transaction.
const REGIONS: u32 = 100;

async fn set_up() -> (TestCampaign, Counter) {
    let service = Service::still();
    let counter = Counter::new(&service.env, &service.clock);
    (TestCampaign::on(&service, plain()).await, counter)
}

/// Enters once, and copies that submission to many regions.
async fn enter(campaign: &TestCampaign, round: u32) {
    let sending = campaign.entry(&phone(round), &campaign.code(u64::from(round)));
    let id: SubmissionId = id_of(&sending.await).parse().expect("an id");
    let (client, table) = (campaign.service.dynamodb(), "submissions");
    let scope = campaign.live_scope();
    let key = |id: SubmissionId| AttributeValue::S(submissions::key(&scope, id.reference()));
    let read = client.get_item().table_name(table).key("id", key(id));
    let item = read
        .send()
        .await
        .expect("the table")
        .item
        .expect("the submission");
    let copies = (1..REGIONS).map(|number| {
        let put = client
            .put_item()
            .table_name(table)
            .set_item(Some(item.clone()));
        let id = random::submission_id();
        let put = put
            .item("id", key(id))
            .item("submission_id", AttributeValue::S(id.to_string()));
        put.item("region", AttributeValue::S(format!("Region {number}")))
            .send()
    });
    let written: Vec<_> = stream::iter(copies).buffer_unordered(8).collect().await;
    assert!(written.iter().all(Result::is_ok));
}

async fn assert_right(campaign: &TestCampaign, context: &str) {
    let scope = campaign.live_scope();
    let differing = differences(&campaign.service.env, &scope).await;
    assert!(differing.is_empty(), "{context}: {differing:#?}");
}

async fn amounts(campaign: &TestCampaign, metric: Metric, day: &str) -> Vec<(String, Amount)> {
    let service = &campaign.service;
    let statistics = Statistics::from_env(&service.env, &service.dynamodb()).expect("the table");
    let counters = statistics
        .counters(&campaign.live_scope(), metric, day)
        .await;
    let counters = counters.expect("the table").into_iter();
    counters
        .map(|(counter, amount)| (counter.dimension, amount))
        .collect()
}

#[tokio::test]
async fn every_change_is_counted_once_wherever_counting_is_cut() {
    let (campaign, mut counter) = set_up().await;
    let faults = Interceptor::default();
    let cut = campaign.service.behind(&faults, &[DATABASE]).await;
    let (mut earlier, mut round, mut cut_points) = (Vec::new(), 0, 0);
    for how in FaultKind::ALL {
        for call in 0.. {
            enter(&campaign, round).await;
            round += 1;
            let batches = counter.next_batches().await;
            let victim = Counter::new(&cut.env, &cut.clock);
            faults.arm(call, how);
            let count = async {
                for batch in &batches {
                    victim.count(batch).await;
                }
            };
            faults.cut(count).await;
            let was_cut = faults.was_made();
            faults.disarm();
            for batch in &batches {
                redeliver(&counter, batch).await;
            }
            for batch in &earlier {
                assert_eq!(counter.count(batch).await, StreamBatchResponse::default());
            }
            earlier = batches;
            assert_right(&campaign, &format!("call {call} {how:?}")).await;
            if !was_cut {
                break;
            }
            cut_points += 1;
        }
    }
    println!("counting: {cut_points} cut points");
    assert!(cut_points >= 3 * 4, "{cut_points}");
}

/// The first half comes again, then all of it, twice at once and by another environment.
async fn redeliver(counter: &Counter, batch: &Value) {
    let mut half = batch.clone();
    let records = half["Records"].as_array_mut().expect("records");
    records.truncate(records.len() / 2);
    for batch in [&half, batch] {
        let (one, other) = tokio::join!(counter.count(batch), counter.count(batch));
        assert_eq!((one, other), Default::default());
    }
}

#[tokio::test]
async fn environments_are_counted_apart() {
    let (campaign, mut counter) = set_up().await;
    id_of(&campaign.submit(&phone(1), "TEST-0-VALID").await);
    enter(&campaign, 0).await;
    id_of(&campaign.entry(&phone(2), "K7M2Q9XDK7M2").await);
    counter.count_all().await;
    let all = i64::from(REGIONS);
    // A wrong code alone makes no entrant.
    for (metric, day, dimension, records, entries) in [
        (Metric::Days, "all", "2050-06-15", all + 1, all),
        (Metric::Batches, "2050-06-15", "first", all, all),
        (Metric::EntriesPerPhone, "2050-06-15", "1", 1, 1),
    ] {
        let expected = (dimension.to_owned(), Amount { records, entries });
        assert_eq!(amounts(&campaign, metric, day).await, [expected]);
    }
    assert_right(&campaign, "all counted").await;
    let test = differences(&campaign.service.env, &campaign.scope(Environment::Test)).await;
    assert!(test.is_empty(), "{test:#?}");
}

async fn put_entrant(campaign: &TestCampaign, scope: &Scope, days: Option<u32>) {
    let (client, table) = (campaign.service.dynamodb(), "entrants");
    let key = AttributeValue::S(scope.key("a-phone"));
    let Some(days) = days else {
        client
            .delete_item()
            .table_name(table)
            .key("entrant", key)
            .send()
            .await
            .expect("the table");
        return;
    };
    let number = |number: u32| AttributeValue::N(number.to_string());
    let put = client
        .put_item()
        .table_name(table)
        .item("entrant", key)
        .item("entries", number(7));
    let put = (0..days).fold(put, |put, day| {
        put.item(format!("day:2050-{day:03}"), number(1))
    });
    put.send().await.expect("the table");
}

#[tokio::test]
async fn entrant_of_many_days_takes_several_transactions() {
    let (campaign, mut counter) = set_up().await;
    enter(&campaign, 0).await;
    let scope = campaign.live_scope();
    put_entrant(&campaign, &scope, Some(200)).await;
    counter.count_all().await;
    assert_right(&campaign, "made").await;
    let last_day = async || amounts(&campaign, Metric::ActivePhones, "2050-199").await;
    assert_eq!(last_day().await.len(), 1);
    put_entrant(&campaign, &scope, None).await;
    counter.count_all().await;
    assert_right(&campaign, "removed").await;
    assert_eq!(last_day().await, []);
}

async fn stored(campaign: &TestCampaign) -> String {
    let pages = campaign
        .service
        .dynamodb()
        .scan()
        .table_name("numbers")
        .into_paginator()
        .items()
        .send();
    let items = pages
        .collect::<Result<Vec<_>, _>>()
        .await
        .expect("the table");
    items
        .iter()
        .map(|item| format!("{:?}\n", item["cell"]))
        .collect()
}

#[tokio::test]
async fn region_leaves_the_numbers_with_its_last_submission() {
    let (campaign, mut counter) = set_up().await;
    let scope = campaign.live_scope();
    let enter = async |number: u32| {
        let mut entry = body(&phone(number), &campaign.code(u64::from(number)));
        entry["region"] = json!("Mwanza");
        entry["claimed"] = json!({ "branch": "kko", "items": [] });
        id_of(&campaign.entry("", "").json(&entry).await);
    };
    enter(0).await;
    enter(1).await;
    counter.count_all().await;
    let before = stored(&campaign).await;
    assert_contains!(before, "Mwanza", "kko");
    let submissions = campaign.service.tables.store.submissions();
    let removed = submissions.remove_personal_data(&scope, Position::Start);
    assert_eq!(removed.await.expect("it answers").done, 2);
    for batch in counter.next_batches().await {
        redeliver(&counter, &batch).await;
    }
    let after = stored(&campaign).await;
    assert_lacks!(after, "Mwanza", "kko");
    assert_right(&campaign, "removed").await;
    enter(2).await;
    counter.count_all().await;
    let one = (
        "Mwanza".to_owned(),
        Amount {
            records: 1,
            entries: 1,
        },
    );
    let regions = amounts(&campaign, Metric::Regions, "2050-06-15").await;
    assert!(regions.contains(&one), "{regions:?}");
    assert_right(&campaign, "counted anew").await;
}

#[tokio::test]
async fn unreadable_record_counts_nowhere_and_holds_nothing_up() {
    let (campaign, mut counter) = set_up().await;
    let newer = id_of(&campaign.entry(&phone(1), &campaign.code(99)).await);
    campaign.make_unreadable(&newer).await;
    enter(&campaign, 0).await;
    counter.count_all().await;
    let days = amounts(&campaign, Metric::Days, "all").await;
    assert_eq!(days[0].1.records, i64::from(REGIONS));
    assert_right(&campaign, "with one that cannot be read").await;
}

#[tokio::test]
async fn batch_without_a_shard_comes_again() {
    let (campaign, mut counter) = set_up().await;
    enter(&campaign, 0).await;
    let mut batch = counter.next_batches().await.remove(0);
    batch.as_object_mut().expect("an object").remove("shardId");
    let first = batch["Records"][0]["dynamodb"]["SequenceNumber"]
        .as_str()
        .map(str::to_owned);
    let reply = counter.count(&batch).await;
    let failed = reply
        .batch_item_failures
        .first()
        .and_then(|failure| failure.item_identifier.clone());
    assert_eq!(failed, first, "all of it");
    let end =
        json!({ "Records": [], "shardId": "shard", "state": {}, "isFinalInvokeForWindow": true });
    assert_eq!(counter.count(&end).await, StreamBatchResponse::default());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stack_counts_by_itself() {
    let service = Service::with_options(Options::default());
    let campaign = TestCampaign::on(&service, plain()).await;
    enter(&campaign, 0).await;
    let scope = campaign.live_scope();
    while !differences(&service.env, &scope).await.is_empty() {
        tokio::task::yield_now().await;
    }
}
