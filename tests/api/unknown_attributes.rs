//! Attributes that a newer build has added stay through every write of a function.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use common::clock::Clock;
use common::domain::campaign::Retention;
use common::domain::ids::SubmissionId;
use common::domain::scope::Environment;
use common::runtime::event_handler::EventHandler;
use common::store::submissions::{self, Submissions};
use local::partner::{PartnerOptions, SimulatedPartner};
use local::stack::{Options, PARTNER_SECRET, PARTNER_SECRET_HEADER};
use service_tests::campaign::{TestCampaign, body, fresh_key, phone, plain};
use service_tests::partners::judged_by;
use service_tests::receipts::{Settler, TIME, id_of, receipts_alone};
use service_tests::service::{NOON, Service};
use sweep_unsettled::Tick;

use crate::retention::sweeper;

const DAY: Duration = Duration::from_hours(24);

fn still() -> Service {
    let clock = Clock::manual(NOON);
    Service::with_options(Options {
        clock,
        background: false,
        ..Options::default()
    })
}

fn key(campaign: &TestCampaign, id: &str) -> AttributeValue {
    let id: SubmissionId = id.parse().expect("an id");
    AttributeValue::S(submissions::key(
        &campaign.scope(Environment::Live),
        id.reference(),
    ))
}

/// Adds an attribute to a submission's record, and one within a map of it.
async fn add(campaign: &TestCampaign, id: &str) {
    let update = campaign
        .service
        .dynamodb()
        .update_item()
        .table_name("submissions")
        .key("id", key(campaign, id));
    let update = update.update_expression("SET future = :future, standing.future = :future");
    update
        .expression_attribute_values(":future", AttributeValue::Bool(true))
        .send()
        .await
        .expect("written");
}

async fn assert_kept(campaign: &TestCampaign, id: &str, after: &str) {
    let get = campaign
        .service
        .dynamodb()
        .get_item()
        .table_name("submissions")
        .key("id", key(campaign, id));
    let item = get
        .send()
        .await
        .expect("it answers")
        .item
        .expect("it is there");
    let within = item["standing"].as_m().expect("a map");
    assert!(
        item.contains_key("future") && within.contains_key("future"),
        "{after}: {item:?}"
    );
}

#[tokio::test]
async fn foreign_attributes_stay_when_a_receipt_settles() {
    let service = still();
    let campaign = TestCampaign::on(&service, {
        let mut config = plain();
        receipts_alone(&mut config);
        config.window.end = Some(service.clock.now().after(DAY));
        config.retention = Some(Retention {
            phones_days: Some(1),
            photos_days: None,
        });
        config
    })
    .await;
    let typed = campaign.typed(&campaign.live_key, "GOOD010001", TIME).await;
    let sent = campaign
        .with_receipt(&campaign.live_key, &phone(1), "", &typed)
        .send()
        .await;
    let id = id_of(&sent);
    add(&campaign, &id).await;
    let settler = Settler::new(&service);
    settler.settle_due().await;
    settler.settle_after(Duration::from_secs(30)).await;
    assert_eq!(
        campaign.read(&campaign.live_key, &id).await.field("state"),
        "accepted"
    );
    assert_kept(&campaign, &id, "settling").await;
    service.clock.advance(DAY * 3);
    let sweeper = sweeper(&service);
    for _ in 0..6 {
        sweeper.handle(Tick::default()).await.expect("it sweeps");
    }
    let scope = campaign.scope(Environment::Live);
    let table = Submissions::from_env(&service.env, &service.dynamodb()).expect("all variables");
    let found = table.get(&scope, id.parse().expect("an id")).await;
    assert!(
        found
            .expect("it answers")
            .expect("it is there")
            .phone
            .is_none(),
        "its retention is over"
    );
    assert_kept(&campaign, &id, "retention").await;
}

#[tokio::test]
async fn foreign_attributes_stay_when_a_partner_answers() {
    let service = still();
    let secret = Some((
        PARTNER_SECRET_HEADER.to_owned(),
        PARTNER_SECRET.1.to_owned(),
    ));
    let options = PartnerOptions {
        secret,
        ..PartnerOptions::default()
    };
    let partner = SimulatedPartner::serve(options).await.expect("it serves");
    let mut config = plain();
    judged_by(partner.url())(&mut config);
    let campaign = TestCampaign::on(&service, config).await;
    let sending = campaign
        .live("POST", "/api/v1/submissions")
        .header("idempotency-key", fresh_key());
    let sent = sending.json(&body(&phone(1), "DOWN-1")).send().await;
    assert_eq!(sent.field("state"), "unknown", "{}", sent.text);
    let id = id_of(&sent);
    add(&campaign, &id).await;
    let asked = partner.asked(&id);
    let settler = Settler::new(&service);
    settler.settle_after(Duration::from_mins(10)).await;
    assert!(partner.asked(&id) > asked, "it was asked again");
    assert_kept(&campaign, &id, "an answer").await;
}
