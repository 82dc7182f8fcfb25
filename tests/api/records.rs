//! Each kind of record has a version and no phone in clear.

use std::num::NonZeroU64;
use std::time::Duration;

use common::clock::Clock;
use common::domain::campaign::Campaign;
use common::domain::codebook::BatchStatus;
use common::domain::draw::contact::{Contact, ContactEvent, ContactStep, SkipReason};
use common::domain::draw::{Draw, DrawName, DrawOutcome, FreezeLock, Operator};
use common::domain::ids::SubmissionId;
use common::domain::scope::{Environment, Scope};
use common::runtime::event_handler::EventHandler;
use common::store::campaign_versions::{CampaignChange, CampaignVersions};
use common::store::draws::Draws;
use common::store::record_version;
use image::{GrayImage, Luma};
use local::stack::Options;
use local::tables::TABLES;
use receipt_photo::jpeg;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::counting::Counter;
use service_tests::http::request_to_storage;
use service_tests::partners::{judged_by, simulated};
use service_tests::receipts::{Settler, TIME, announced, id_of, receipts_alone};
use service_tests::service::{NOON, Service};
use sweep_unsettled::Tick;

use crate::retention::sweeper;

async fn campaign(
    service: &Service,
    slug: &str,
    change: impl FnOnce(&mut Campaign),
) -> TestCampaign {
    let mut config = plain();
    config.slug = slug.parse().expect("a slug");
    change(&mut config);
    TestCampaign::on(service, config).await
}

async fn submit(campaign: &TestCampaign, number: u32, code: &str) {
    let reply = campaign.entry(&phone(number), code).send().await;
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
    let live = campaign.live_scope();
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
    let blocked = phone(4).parse().expect("a phone");
    service
        .set_blocked(&live, &blocked, true)
        .await
        .expect("blocked");
    campaign
        .submission(&phone(1), "TEST-0-VALID.x")
        .send()
        .await;
    campaign.check(&campaign.code(5)).send().await;
    campaign.lookup(&phone(1)).send().await;
}

/// A receipt in each state, with a purchase and a photo.
async fn receipts(service: &Service, settler: &Settler) {
    let campaign = campaign(service, "receipts-2026", receipts_alone).await;
    let key = &campaign.live_key;
    let blank = GrayImage::from_fn(300, 300, |x, y| {
        Luma([if (x / 40 + y / 40) % 2 == 0 { 200 } else { 190 }])
    });
    let photo = jpeg(&blank, 60).expect("a file");
    campaign.receipt(key, &announced(&photo, None)).send().await;
    let good = campaign.typed(key, "GOOD010001", TIME).await;
    let accepted = campaign
        .with_receipt(key, &phone(1), "", &good)
        .send()
        .await;
    let shown = campaign.photo(key, &photo, None).await;
    let reviewed = campaign
        .with_receipt(key, &phone(2), "", &shown)
        .send()
        .await;
    settler.settle_due().await;
    settler.settle_after(Duration::from_secs(30)).await;
    let status = campaign.read(key, &id_of(&accepted)).await;
    assert_eq!(status.field("state"), "accepted", "{}", status.text);
    let status = campaign.read(key, &id_of(&reviewed)).await;
    assert_eq!(
        status.field("review_status"),
        "under_review",
        "{}",
        status.text
    );
    let pending = campaign.typed(key, "GOOD010002", TIME).await;
    campaign
        .with_receipt(key, &phone(3), "", &pending)
        .send()
        .await;
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
    let draws = Draws::from_env(&service.env, &service.dynamodb()).expect("all variables");
    let scope = Scope {
        campaign: "codes-2026".parse().expect("a slug"),
        environment: Environment::Live,
    };
    let name: DrawName = "week-03".parse().expect("a name");
    let operator = Operator {
        who: "arn:aws:iam::000000000000:user/asha".to_owned(),
        by: Some("asha".to_owned()),
    };
    let header = json!({
        "algorithm": "svc-draw-v1",
        "campaign": "codes-2026",
        "draw": "week-03",
        "period": { "from": "2050-06-08T00:00:00+03:00", "to": "2050-06-15T00:00:00+03:00" },
        "rows": 1,
        "total": 2,
        "days": { "2050-06-08": 2 },
        "prizes": [{ "name": "Kettle", "number": 1 }],
        "one_prize_per_row": true,
        "chain": "c".repeat(64),
        "round": 7,
    });
    let draw = Draw {
        name: name.clone(),
        commitment: "a".repeat(64),
        root: "b".repeat(64),
        header: header.to_string(),
        chain: "c".repeat(64),
        round: NonZeroU64::MIN.saturating_add(6),
        round_at: NOON.after(Duration::from_secs(600)),
        unsettled: 1,
        largest_rows: Vec::new(),
        given_by_hand: 0,
        frozen_at: NOON,
        frozen_by: operator.clone(),
        published_at: None,
        outcome: None,
        contact_changes: 0,
        abandonment: None,
    };
    let at = NOON.after(Duration::from_secs(601));
    let outcome = DrawOutcome {
        signature: "d".repeat(96),
        randomness: "e".repeat(64),
        drawn_at: at,
        drawn_by: operator.clone(),
    };
    let drawn = Contact {
        draw: name.clone(),
        tier: 0,
        prize: "Kettle".to_owned(),
        place: 1,
        row: 0,
        reference: "K7M2-Q9XD".parse().ok(),
        submission_id: Some(SubmissionId::from_random([7; 24])),
        region: Some("Mwanza".to_owned()),
        masked_phone: Some("+2557•••••678".to_owned()),
        steps: vec![ContactStep {
            at,
            by: None,
            event: ContactEvent::Drawn,
        }],
        revision: 0,
    };
    let reason = ContactEvent::Skipped {
        reason: SkipReason::Excluded,
        inspector: Some("Neema".to_owned()),
    };
    let skipped = drawn
        .after(ContactStep {
            at,
            by: Some(operator),
            event: reason,
        })
        .expect("it follows");
    let [first, second] = ["1", "2"].map(|id| FreezeLock {
        id: id.to_owned(),
        draw: name.clone(),
        expires_at: Some(at),
        commitment: Some("c".repeat(64)),
    });
    assert!(
        !draws.create(&scope, &draw, &first).await.expect("refused"),
        "it did not begin"
    );
    for (before, after, is_written) in [
        (Some(&first), &second, false),
        (None, &second, true),
        (None, &first, false),
        (Some(&second), &first, true),
    ] {
        let written = draws.change_freeze_lock(&scope, before, after).await;
        assert_eq!(written.expect("it answers"), is_written);
    }
    assert!(
        !draws.create(&scope, &draw, &second).await.expect("refused"),
        "the lock is another one"
    );
    assert!(draws.create(&scope, &draw, &first).await.expect("written"));
    assert!(
        !draws
            .finish(&scope, &name, &outcome)
            .await
            .expect("refused"),
        "it is not published"
    );
    assert!(draws.publish(&scope, &name, NOON).await.expect("written"));
    assert!(
        draws
            .finish(&scope, &name, &outcome)
            .await
            .expect("written")
    );
    let one = std::slice::from_ref(&drawn);
    assert!(
        !draws
            .add_contacts(&scope, &name, 1, one, Vec::new())
            .await
            .expect("refused"),
        "the log is another one"
    );
    assert!(
        draws
            .add_contacts(&scope, &name, 0, one, Vec::new())
            .await
            .expect("written")
    );
    assert!(
        draws
            .change_contact(&scope, &drawn, &skipped)
            .await
            .expect("written")
    );
    // A first write stays, and reads back the same.
    assert!(!draws.create(&scope, &draw, &first).await.expect("refused"));
    let released = FreezeLock {
        expires_at: None,
        commitment: None,
        ..first
    };
    assert_eq!(
        draws.freeze_lock(&scope).await.expect("read"),
        Some(released)
    );
    assert!(!draws.publish(&scope, &name, at).await.expect("refused"));
    assert!(
        !draws
            .finish(&scope, &name, &outcome)
            .await
            .expect("refused")
    );
    assert!(
        !draws
            .add_contacts(&scope, &name, 2, one, Vec::new())
            .await
            .expect("refused")
    );
    assert!(
        !draws
            .change_contact(&scope, &drawn, &skipped)
            .await
            .expect("refused")
    );
    let stored = Draw {
        published_at: Some(NOON),
        outcome: Some(outcome),
        contact_changes: 2,
        ..draw
    };
    assert_eq!(
        draws.get(&scope, &name).await.expect("read"),
        Some(stored.clone())
    );
    assert_eq!(draws.list(&scope).await.expect("read"), [stored]);
    assert_eq!(
        draws.contacts(&scope, &name).await.expect("read"),
        [skipped]
    );
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
    let reply = scan
        .raw(json!({ "TableName": table }).to_string())
        .send()
        .await;
    let mut items = reply.json()["Items"]
        .as_array()
        .unwrap_or_else(|| panic!("{}", reply.text))
        .clone();
    items.sort_by_key(|item| item[key]["S"].to_string());
    items
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
