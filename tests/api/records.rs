//! Each kind of record has a version and no phone in clear.

use std::time::Duration;

use common::clock::Clock;
use common::domain::campaign::Campaign;
use common::domain::codebook::BatchStatus;
use common::domain::contact_log::{ContactEvent, ContactStep, SkipReason};
use common::domain::draw::{Draw, DrawOutcome, FreezeLock};
use common::domain::ids::SubmissionId;
use common::domain::scope::{Environment, Scope};
use common::domain::webhook::EventType;
use common::runtime::event_handler::EventHandler;
use common::store::campaign_versions::{CampaignChange, CampaignVersions};
use common::store::record_version;
use local::stack::Options;
use local::tables::TABLES;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, phone};
use service_tests::counting::Counter;
use service_tests::http::request_to_storage;
use service_tests::partners::{judged_by, simulated};
use service_tests::receipts::{Settler, TIME, announced, receipts_alone};
use service_tests::service::{NOON, Service};
use service_tests::webhooks::{Answer, Receiver, Webhooks};
use sweep_unsettled::Tick;

use crate::retention::draws::{drawn, frozen, operator};
use crate::retention::sweeper;
use crate::settling::photo_of;

async fn campaign(
    service: &Service,
    slug: &str,
    change: impl FnOnce(&mut Campaign),
) -> TestCampaign {
    TestCampaign::changed(service, |config| {
        config.slug = slug.parse().expect("a slug");
        change(config);
    })
    .await
}

async fn submit(campaign: &TestCampaign, number: u32, code: &str) {
    let reply = campaign.entry(&phone(number), code).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
}

async fn change(campaign: &TestCampaign) {
    let (service, config) = (&campaign.service, &campaign.config);
    let versions =
        CampaignVersions::from_env(&service.env, &service.dynamodb()).expect("all variables");
    let campaigns = &service.tables.campaigns;
    let before = campaigns.get_stored(&config.slug).await.expect("read");
    let after = Campaign {
        brand: "Chai Bora Sana".to_owned(),
        ..config.clone()
    };
    let change = CampaignChange {
        at: NOON,
        by: Some("asha".to_owned()),
    };
    assert!(
        versions
            .write(campaigns, before.as_ref(), &after, change)
            .await
            .expect("written")
    );
}

/// Minted, imported, void, wrong and test codes; a blocked and a throttled phone; a revoked key;
/// limits.
async fn codes(service: &Service) {
    let campaign = campaign(service, "codes-2026", |campaign| {
        campaign.limits.phone_daily = Some(50)
    })
    .await;
    change(&campaign).await;
    let imported = ["CHAI2026", "CHAI2027", "CHAI2028"];
    campaign
        .import("printed", BatchStatus::Active, Some("A cup"), &imported)
        .await;
    campaign
        .mint("kettles", BatchStatus::Active, Some("A kettle"))
        .await;
    let revoked = campaign.issue(Environment::Live, 30).await;
    campaign.revoke(&revoked).await;
    for (number, code) in [
        (1, campaign.code(1)),
        (1, campaign.code(1)),
        (2, "CHAI-2026".to_owned()),
        (1, campaign.code(101)),
    ] {
        submit(&campaign, number, &code).await;
    }
    for number in 0..11 {
        submit(&campaign, 3, &format!("WRONG{number}")).await;
    }
    campaign.set_blocked(Environment::Live, 4, true).await;
    campaign.submission(&phone(1), "TEST-0-VALID.x").await;
    campaign.check(&campaign.code(5)).await;
    campaign.lookup(&phone(1)).await;
}

/// A receipt in each state, with a purchase and a photo.
async fn receipts(service: &Service, settler: &Settler) {
    let campaign = campaign(service, "receipts-2026", receipts_alone).await;
    let key = &campaign.live_key;
    let photo = photo_of(&["https://example.com"]);
    campaign.receipt(key, &announced(&photo, None)).await;
    let good = campaign.typed(key, "GOOD010001", TIME).await;
    let accepted = campaign.with_receipt(key, &phone(1), "", &good).await;
    let shown = campaign.photo(key, &photo, None).await;
    let reviewed = campaign.with_receipt(key, &phone(2), "", &shown).await;
    settler.settle_due().await;
    settler.settle_after(Duration::from_secs(30)).await;
    for (sent, expected) in [
        (accepted, "accepted verified"),
        (reviewed, "pending under_review"),
    ] {
        let status = campaign.shown(&sent).await.fields("state review_status");
        assert_eq!(status, expected);
    }
    let pending = campaign.typed(key, "GOOD010002", TIME).await;
    campaign.with_receipt(key, &phone(3), "", &pending).await;
}

/// A partner that answers, and one that does not.
async fn partners(service: &Service) {
    let partner = simulated(|_| {}).await;
    let campaign = campaign(service, "partner-2026", judged_by(partner.url())).await;
    for (number, code) in [(1, "OKAY-1"), (2, "DOWN-1")] {
        submit(&campaign, number, code).await;
    }
}

/// A drawn draw with a winner.
async fn draws(service: &Service) {
    let draws = &service.tables.draws;
    let scope = Scope {
        campaign: "codes-2026".parse().expect("a slug"),
        environment: Environment::Live,
    };
    let draw = Draw {
        published_at: None,
        ..frozen(NOON)
    };
    let name = draw.name.clone();
    let at = NOON.after(Duration::from_secs(601));
    let outcome = DrawOutcome {
        signature: "d".repeat(96),
        randomness: "e".repeat(64),
        drawn_at: at,
        drawn_by: operator(),
    };
    let drawn = drawn(1, SubmissionId::from_random([7; 24]), at);
    let reason = ContactEvent::Skipped {
        reason: SkipReason::Excluded,
        inspector: Some("Neema".to_owned()),
    };
    let skipped = drawn
        .after(ContactStep {
            at,
            by: Some(operator()),
            event: reason,
        })
        .expect("it follows");
    let [first, second] = ["1", "2"].map(|id| FreezeLock {
        id: id.to_owned(),
        draw: name.clone(),
        expires_at: Some(at),
        commitment: Some("c".repeat(64)),
    });
    let create = async |lock| draws.create(&scope, &draw, lock).await.expect("it answers");
    assert!(!create(&first).await, "it did not begin");
    for (before, after, is_written) in [
        (Some(&first), &second, false),
        (None, &second, true),
        (None, &first, false),
        (Some(&second), &first, true),
    ] {
        let written = draws.change_freeze_lock(&scope, before, after).await;
        assert_eq!(written.expect("it answers"), is_written);
    }
    assert!(!create(&second).await, "the lock is another one");
    assert!(create(&first).await);
    let finish = async || {
        draws
            .finish(&scope, &name, &outcome)
            .await
            .expect("it answers")
    };
    let publish = async |at| draws.publish(&scope, &name, at).await.expect("it answers");
    assert!(!finish().await, "it is not published");
    assert!(publish(NOON).await);
    assert!(finish().await);
    let one = std::slice::from_ref(&drawn);
    let add = async |changes| {
        let added = draws
            .add_contacts(&scope, &name, changes, one, Vec::new())
            .await;
        added.expect("it answers")
    };
    let skip = async || {
        let changed = draws.change_contact(&scope, &drawn, &skipped).await;
        changed.expect("it answers")
    };
    assert!(!add(1).await, "the log is another one");
    assert!(add(0).await);
    assert!(skip().await);
    // A first write stays, and reads back the same.
    assert!(!create(&first).await);
    let released = FreezeLock {
        expires_at: None,
        commitment: None,
        ..first
    };
    let lock = draws.freeze_lock(&scope).await.expect("read");
    assert_eq!(lock, Some(released));
    assert!(!publish(at).await && !finish().await && !add(2).await && !skip().await);
    let stored = Draw {
        published_at: Some(NOON),
        outcome: Some(outcome),
        contact_changes: 2,
        ..draw
    };
    let read = draws.get(&scope, &name).await.expect("read");
    assert_eq!(read.as_ref(), Some(&stored));
    assert_eq!(draws.list(&scope).await.expect("read"), [stored]);
    let contacts = draws.contacts(&scope, &name).await.expect("read");
    assert_eq!(contacts, [skipped]);
}

/// A table's items in DynamoDB's JSON, sorted by key.
async fn items(service: &Service, table: &str, key: &str) -> Vec<Value> {
    let scan = request_to_storage("POST", format!("{}/", service.database_url()));
    let scan = scan.header("x-amz-target", "DynamoDB_20120810.Scan");
    let scan = scan.header("content-type", "application/x-amz-json-1.0");
    let scan = scan.header("x-amz-date", "20260101T000000Z");
    let credential = "Credential=local/20260101/af-south-1/dynamodb/aws4_request";
    let scan = scan.header(
        "authorization",
        format!("AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=00"),
    );
    let reply = scan.raw(json!({ "TableName": table }).to_string()).await;
    let mut items = reply.json()["Items"]
        .as_array()
        .unwrap_or_else(|| panic!("{}", reply.text))
        .clone();
    items.sort_by_key(|item| item[key]["S"].to_string());
    items
}

/// An event that its endpoint does not take.
async fn failed_event(service: &Service) {
    let campaign = TestCampaign::changed(service, |_| {}).await;
    let mut webhooks = Webhooks::new(service);
    let receiver = Receiver::serve(Answer::Status(500)).await;
    let types = [EventType::SubmissionCreated];
    let scope = campaign.live_scope();
    webhooks.add(&scope, &receiver.url, &types).await;
    campaign.entry(&phone(1), &campaign.code(1)).await;
    webhooks.run().await;
}

#[tokio::test]
async fn every_record_carries_its_version() {
    let service = Service::with_options(Options {
        clock: Clock::manual(NOON),
        background: false,
        photo_reader: Some(env!("CARGO_BIN_EXE_photo-reader").into()),
        ..Options::default()
    });
    let settler = Settler::new(&service);
    codes(&service).await;
    receipts(&service, &settler).await;
    partners(&service).await;
    draws(&service).await;
    failed_event(&service).await;
    Counter::new(&service.env, &service.clock).count_all().await;
    sweeper(&service)
        .handle(Tick::default())
        .await
        .expect("it sweeps");

    for table in TABLES.iter() {
        let items = items(&service, table.name, table.key).await;
        // Only commands write to the audit log.
        assert!(
            !items.is_empty() || table.name == "audit",
            "{} has records",
            table.name
        );
        for item in &items {
            let version = &item[record_version::ATTRIBUTE]["N"];
            assert_eq!(version, "1", "{} {item}", table.name);
            assert!(
                !item.to_string().contains("+25571"),
                "{} {item} holds no phone in clear",
                table.name
            );
        }
    }
}
