//! The template's roles against what functions do. The IAM guard rejects in all tests what no role
//! allows; these show that every permission is used.

mod in_templates;
mod moments;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use common::aws::photos::{self, object_key};
use common::clock::Clock;
use common::domain::campaign::Retention;
use common::domain::codebook::BatchStatus;
use common::domain::scope::Environment;
use common::domain::settling::Dependency;
use common::domain::timestamp::Timestamp;
use common::domain::webhook::{Delivery, DeliveryStatus, EndpointStatus, EventType};
use common::runtime::event_handler::EventHandler;
use common::store::retention::{RetentionSchedule, Revised};
use common::store::submissions::DueSubmission;
use futures_util::future::join_all;
use local::stack::{Options, as_function};
use local::tables::TABLES;
use mark_receipt_uploaded::{MarkReceiptUploaded, StorageEvent};
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, fresh_key, phone};
use service_tests::counting::Counter;
use service_tests::http::Reply;
use service_tests::iam_guard::{Call, Record, front};
use service_tests::partners::{judged_by, simulated};
use service_tests::receipts::{
    Settler, TIME, announced, code_and_receipt, hardly_a_photo, id_of, receipts_alone, upload,
};
use service_tests::roles::{covers, policies};
use service_tests::service::{NOON, Service};
use service_tests::template::{deployer, logical_id, resources, service};
use service_tests::text::{list_of, text_of};
use service_tests::webhooks::{Answer, Receiver, Webhooks};
use sweep_unsettled::{SweepUnsettled, Tick};

use crate::retention::sweeper;
use crate::settling::photo_of;

/// A service with recorded calls, and with fast settling or no background work.
fn recorded(record: &Record, background: bool) -> Service {
    Service::with_options(Options {
        proxy: Some(front(record.clone(), Arc::new(|_| true))),
        speedup: 600,
        photo_reader: Some(env!("CARGO_BIN_EXE_photo-reader").into()),
        background,
        ..Options::default()
    })
}

async fn submit(campaign: &TestCampaign, phone: &str, code: &str) -> Reply {
    campaign.entry(phone, code).await
}

async fn settled(campaign: &TestCampaign, submitted: &Reply) -> Reply {
    let polling = async {
        loop {
            let now = campaign.shown(submitted).await;
            if now.field("terminal") == true {
                return now;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), polling)
        .await
        .expect("it settles")
}

async fn codes(service: &Service) {
    let campaign = TestCampaign::changed(service, |_| {}).await;
    campaign
        .import("printed", BatchStatus::Active, None, &["CHAI-2026"])
        .await;
    campaign.live("GET", "/api/v1/campaign").await;
    for code in [
        campaign.code(1),
        "CHAI-2026".to_owned(),
        "K7M2Q9XDK7M2".to_owned(),
    ] {
        submit(&campaign, &phone(1), &code).await;
        let check = json!({ "code": code, "phone": phone(1) });
        campaign
            .live("POST", "/api/v1/codes/check")
            .json(&check)
            .await;
    }
    submit(&campaign, &phone(1), &campaign.code(1)).await;
    let prizes = campaign.mint("prizes", BatchStatus::Active, Some("A kettle"));
    let code = campaign.code(prizes.await);
    submit(&campaign, &phone(3), &code).await;
    let twice = campaign.entry(&phone(2), &campaign.code(2));
    for _ in 0..2 {
        let reply = twice.clone().await;
        campaign.shown(&reply).await;
    }
    let lookup = json!({ "phone": phone(1) });
    campaign
        .live("POST", "/api/v1/submissions/lookup")
        .json(&lookup)
        .await;
}

async fn receipts(service: &Service) {
    let alone = TestCampaign::changed(service, receipts_alone).await;
    let key = &alone.live_key;
    let payload = "https://verify.tra.go.tz/GOOD010001_101530";
    let photo = photo_of(&[payload]);
    let missing = alone
        .receipt(key, &announced(&photo, None))
        .header("idempotency-key", fresh_key());
    let id = id_of(&missing.clone().await);
    missing.await;
    alone
        .live("POST", &format!("/api/v1/receipts/{id}/upload-url"))
        .await;
    alone.live("GET", &format!("/api/v1/receipts/{id}")).await;
    let early = alone.with_receipt(key, &phone(1), "", &id).await;
    assert_eq!(early.error_code(), "receipt_not_uploaded");

    let id = alone.photo(key, &photo, None).await;
    let sent = alone.with_receipt(key, &phone(1), "", &id).await;
    assert_eq!(settled(&alone, &sent).await.field("state"), "accepted");
    // The same purchase again, another shop's receipt, and a wrong time.
    for (number, code, time) in [
        (2, "GOOD010001", TIME),
        (3, "SHOP010001", TIME),
        (4, "GOOD010002", "11:11:11"),
    ] {
        let id = alone.typed(key, code, time).await;
        let sent = alone.with_receipt(key, &phone(number), "", &id).await;
        assert_eq!(
            settled(&alone, &sent).await.field("state"),
            "rejected",
            "{code}"
        );
    }
    let both = TestCampaign::changed(service, code_and_receipt).await;
    let prizes = both.mint("prizes", BatchStatus::Active, Some("A kettle"));
    let first = prizes.await;
    for (number, code) in [(1, "GOOD010001"), (2, "SHOP010001")] {
        let id = both.typed(&both.live_key, code, TIME).await;
        let code = both.code(first + u64::from(number));
        let sent = both
            .with_receipt(&both.live_key, &phone(number), &code, &id)
            .await;
        settled(&both, &sent).await;
    }
}

async fn partners(service: &Service) {
    let partner = simulated(|_| {}).await;
    let campaign = TestCampaign::changed(service, judged_by(partner.url())).await;
    let codes = [
        "DOWN-1", "DOWN-2", "DNWN-3", "OKAY-1", "BADC-1", "GONE-1", "DOWN-4", "BADC-2",
    ];
    let replies = join_all((1..).zip(codes).map(|(number, code)| {
        let campaign = campaign.clone();
        async move { submit(&campaign, &phone(number), code).await }
    }))
    .await;
    for reply in &replies {
        settled(&campaign, reply).await;
    }
}

/// Late events, lost messages and deleted photos, without background work.
async fn by_hand(service: &Service) {
    let receipts = TestCampaign::changed(service, receipts_alone).await;
    let key = &receipts.live_key;
    let photo = hardly_a_photo();
    // After the upload, before the storage event.
    let announcing = receipts
        .receipt(key, &announced(&photo, None))
        .header("idempotency-key", fresh_key());
    upload(&announcing.clone().await, photo.clone()).await;
    assert_eq!(announcing.await.field("state"), "uploaded");
    let id = id_of(&receipts.receipt(key, &announced(&photo, None)).await);
    let refreshing = receipts.live("POST", &format!("/api/v1/receipts/{id}/upload-url"));
    upload(&refreshing.clone().await, photo.clone()).await;
    assert_eq!(refreshing.await.field("state"), "uploaded");

    // The photo is deleted before it is read; its event comes later.
    let sent = receipts.with_receipt(key, &phone(1), "", &id).await;
    let object = object_key(&receipts.live_scope(), id.parse().expect("an id"));
    let delete = service.aws().s3().delete_object().key(&object);
    let deleted = delete
        .bucket(service.variable(photos::VARIABLE))
        .send()
        .await;
    deleted.expect("it is there");
    let record = json!({ "s3": { "object": { "key": object } } });
    let marker: MarkReceiptUploaded = service.function("mark-receipt-uploaded");
    let records = vec![record];
    let marked = marker.handle(StorageEvent { records }).await;
    marked.expect("no record fails");
    let sweeper = sweeper(service);
    sweeper.handle(Tick::default()).await.expect("it sweeps");
    let settler = Settler::new(service);
    settler.settle_due().await;
    assert_eq!(
        receipts
            .read(key, &id_of(&sent))
            .await
            .field("review_status"),
        "under_review"
    );
    ended(service, &sweeper).await;
    // Written by a later build.
    let newer = receipts.typed(key, "GOOD010009", TIME).await;
    let newer = id_of(&receipts.with_receipt(key, &phone(3), "", &newer).await);
    receipts.make_unreadable(&newer).await;
    let failed = settler.deliver(&receipts.message(&newer)).await;
    assert_eq!(failed.batch_item_failures.len(), 1);
    let slow = receipts.typed(&receipts.test_key, "TEST0SLOW", TIME).await;
    receipts
        .with_receipt(&receipts.test_key, &phone(2), "", &slow)
        .await;
    settler.settle_due().await;

    // A partner's, written by a later build.
    let partner = simulated(|_| {}).await;
    let campaign = TestCampaign::changed(service, judged_by(partner.url())).await;
    let newer = id_of(&submit(&campaign, &phone(1), "DOWN-2").await);
    campaign.make_unreadable(&newer).await;
    let message = campaign.message(&newer);
    let is_due = |due: &DueSubmission| due.submission_id == message.submission_id;
    while !settler.due().await.iter().any(is_due) {
        tokio::task::yield_now().await;
    }
    let reply = settler.deliver_to(Dependency::Partner, &message).await;
    assert_eq!(reply.batch_item_failures.len(), 1);
    // The partner answers again.
    assert_eq!(
        submit(&campaign, &phone(3), "DOWN-1").await.field("state"),
        "unknown"
    );
    assert_eq!(
        submit(&campaign, &phone(2), "OKAY-1").await.field("state"),
        "accepted"
    );
}

/// Two endpoints that fail and heal, one of them by a test event, without background work.
async fn webhooks(service: &Service) {
    let campaign = TestCampaign::changed(service, receipts_alone).await;
    let mut webhooks = Webhooks::new(service);
    let receiver = Receiver::serve(Answer::Status(500)).await;
    let scope = campaign.scope(Environment::Test);
    let types = EventType::DEFAULT;
    let (endpoint, _) = webhooks.add(&scope, &receiver.url, &types).await;
    let (tested, _) = webhooks.add(&scope, &receiver.url, &types).await;
    let key = &campaign.test_key;
    for number in 1..=6 {
        let receipt = campaign.typed(key, "TEST0VERIFIED", TIME).await;
        campaign
            .with_receipt(key, &phone(number), "", &receipt)
            .await;
    }
    Settler::new(service).settle_due().await;
    webhooks.run().await;
    webhooks.sweep().await;
    receiver.answer(Answer::Status(200));
    webhooks.set_status(&tested, EndpointStatus::Active).await;
    let delivered = |record: &Delivery| record.status == DeliveryStatus::Delivered;
    for endpoint in [&endpoint, &tested] {
        while !webhooks.records(endpoint).await.iter().all(delivered) {
            webhooks.sweep().await;
            webhooks.deliver_all().await;
        }
    }
}

/// A campaign after its retention, and its numbers.
async fn ended(service: &Service, sweeper: &SweepUnsettled) {
    let mut ended = TestCampaign::changed(service, receipts_alone).await;
    let key = ended.test_key.clone();
    ended.photo(&key, &hardly_a_photo(), None).await;
    let typed = ended.typed(&key, "TEST0VERIFIED", TIME).await;
    let entry =
        json!({ "phone": phone(1), "consent": true, "receipt_id": typed, "region": "Mwanza" });
    let sent = ended.with_body(&key, &entry).await;
    Settler::new(service).settle_due().await;
    assert_eq!(
        ended.read(&key, &id_of(&sent)).await.field("state"),
        "accepted"
    );
    let mut counter = Counter::new(&service.env, &service.clock);
    counter.count_all().await;
    // Two persons were erased, one of them blocked.
    let test = ended.scope(Environment::Test);
    ended.set_blocked(Environment::Test, 2, true).await;
    for number in [1, 2] {
        let id = ended.entrant_id(Environment::Test, number);
        let entrants = &service.tables.entrants;
        let kept = entrants.keep_limits(&test, &id, service.clock.now()).await;
        kept.expect("it answers");
    }
    let now = service.clock.now().as_millis();
    ended.config.window.end = Some(Timestamp::from_millis(now - 40 * 24 * 60 * 60 * 1000));
    ended.config.retention = Some(Retention {
        phones_days: Some(1),
        photos_days: Some(1),
    });
    ended.apply().await;
    forget_schedule(service).await;
    for _ in 0..8 {
        sweeper.handle(Tick::default()).await.expect("it sweeps");
    }
    // The region has no entries left.
    counter.count_all().await;
}

/// Lets the next sweep look through the campaigns within the hour.
async fn forget_schedule(service: &Service) {
    let retention = &service.tables.retention;
    let forgotten = Revised {
        value: RetentionSchedule::default(),
        ..retention.schedule().await.expect("it answers")
    };
    let saved = retention.save_schedule(&forgotten).await;
    assert!(saved.expect("it answers"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_function_is_allowed_what_it_does_and_nothing_else() {
    let record = Record::default();
    let (service, still) = (recorded(&record, true), recorded(&record, false));
    let moved = Service::with_options(Options {
        clock: Clock::manual(NOON),
        speedup: 60,
        proxy: Some(front(record.clone(), Arc::new(|_| true))),
        background: false,
        ..Options::default()
    });
    tokio::join!(
        codes(&service),
        receipts(&service),
        partners(&service),
        by_hand(&still),
        moments::win(&moved),
        webhooks(&still)
    );
    let policies = policies();
    let missing = |calls: &BTreeSet<Call>| -> Vec<String> {
        let allowed = |call: &Call| {
            policies
                .get(&call.caller)
                .is_some_and(|policy| policy.allows(call))
        };
        calls
            .iter()
            .filter(|call| !allowed(call))
            .map(ToString::to_string)
            .collect()
    };
    let unused = |calls: &BTreeSet<Call>| -> Vec<String> {
        let all = policies
            .iter()
            .flat_map(|(function, policy)| policy.own.iter().map(move |own| (function, own)));
        let unused = all.filter(|(function, own)| {
            !calls
                .iter()
                .any(|call| call.caller == **function && covers(own, call))
        });
        unused
            .map(|(function, (action, resource))| format!("{function} {action} {resource}"))
            .collect()
    };
    // Calls of the scheduled function have no request.
    let polling = async {
        while !unused(&record.calls()).is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(20), polling).await;
    let calls = record.calls();
    assert_eq!(
        (missing(&calls), unused(&calls)),
        (Vec::new(), Vec::new()),
        "missing, and never used"
    );
    println!("{} kinds of calls, all of them allowed", calls.len());
}

/// The deploy workflow runs `ops smoke` in the deployer's role.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_deploys_may_do_what_a_smoke_test_does() {
    const DEPLOYER: &str = "deployer";
    let record = Record::default();
    let service = recorded(&record, true);
    let tables = ops_core::connection::tables(&as_function(&service.env, DEPLOYER))
        .await
        .expect("all variables");
    ops_core::smoke::run(&tables, &service.base_url, service.clock.now())
        .await
        .expect("everything works");
    let policy = deployer();
    let allows = |call: &Call| {
        let mut statements = list_of(&policy["Statement"]).iter();
        statements.any(|statement| {
            let named = |field: &str, name: &str| match &statement[field] {
                Value::Array(patterns) => patterns.iter().any(|pattern| is_like(pattern, name)),
                pattern => is_like(pattern, name),
            };
            named("Action", &call.action) && named("Resource", &arn(&call.resource))
        })
    };
    let calls: Vec<_> = record
        .calls()
        .into_iter()
        .filter(|call| call.caller == DEPLOYER)
        .collect();
    assert!(!calls.is_empty());
    let refused: Vec<_> = calls
        .iter()
        .filter(|call| !allows(call))
        .map(ToString::to_string)
        .collect();
    assert_eq!(refused, Vec::<String>::new());
}

fn arn(resource: &str) -> String {
    let (kind, name) = resource.split_once('/').expect("a kind and a name");
    match kind {
        "table" => {
            let table = TABLES
                .iter()
                .find(|table| table.name == name)
                .expect("a table");
            let id = logical_id(&table.name.replace('_', "-"));
            format!("arn:aws:dynamodb:REGION:ACCOUNT:table/campaign-entry-staging-{id}Table-1ABC")
        }
        "secret" => {
            format!("arn:aws:secretsmanager:REGION:ACCOUNT:secret:campaign-entry-staging/{name}")
        }
        _ => resource.to_owned(),
    }
}

/// Matches a pattern, in which `*` is any text.
fn is_like(pattern: &Value, name: &str) -> bool {
    let mut parts = pattern.as_str().expect("a pattern").split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
        last = Some(part);
    }
    rest.is_empty() || last == Some("")
}
