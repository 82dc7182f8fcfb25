//! Attributes of a newer build stay through every write of a function, and of operators' records.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use common::domain::campaign::Retention;
use common::domain::codebook::BatchStatus;
use common::domain::draw::FreezeLock;
use common::domain::ids::SubmissionId;
use common::runtime::event_handler::EventHandler;
use common::store::code_books::SaveError;
use common::store::submissions;
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::partners::{judged_by, simulated};
use service_tests::receipts::{Settler, TIME, id_of, receipts_alone};
use service_tests::service::Service;
use sweep_unsettled::Tick;

use crate::retention::sweeper;

const DAY: Duration = Duration::from_hours(24);

/// A record with attributes of a newer build; their values are their paths.
struct Planted<'a> {
    service: &'a Service,
    table: &'static str,
    key: HashMap<String, AttributeValue>,
    paths: &'static [&'static str],
}

impl<'a> Planted<'a> {
    async fn new(
        service: &'a Service,
        table: &'static str,
        key: &[(&str, String)],
        paths: &'static [&'static str],
    ) -> Self {
        let key = key
            .iter()
            .map(|(name, value)| ((*name).to_owned(), AttributeValue::S(value.clone())));
        let key: HashMap<_, _> = key.collect();
        for path in paths {
            let update = service.dynamodb().update_item().table_name(table);
            update
                .set_key(Some(key.clone()))
                .update_expression(format!("SET {path} = :path"))
                .expression_attribute_values(":path", AttributeValue::S((*path).to_owned()))
                .send()
                .await
                .expect("written");
        }
        Self {
            service,
            table,
            key,
            paths,
        }
    }

    /// Plants in a submission's record and a map of it.
    async fn in_submission(campaign: &'a TestCampaign, id: &str) -> Self {
        let id: SubmissionId = id.parse().expect("an id");
        let key = submissions::key(&campaign.live_scope(), id.reference());
        let paths = &["future", "standing.future"];
        Self::new(&campaign.service, "submissions", &[("id", key)], paths).await
    }

    async fn assert_kept(&self, after: &str) {
        let get = self.service.dynamodb().get_item().table_name(self.table);
        let item = get.set_key(Some(self.key.clone())).send().await;
        let item = format!("{:?}", item.expect("it answers").item);
        for path in self.paths {
            assert!(
                item.contains(&format!("S({path:?})")),
                "{path} after {after}: {item}"
            );
        }
    }
}

#[tokio::test]
async fn foreign_attributes_stay_when_a_receipt_settles() {
    let service = Service::still();
    let end = service.clock.now().after(DAY);
    let campaign = TestCampaign::changed(&service, |config| {
        receipts_alone(config);
        config.window.end = Some(end);
        config.retention = Some(Retention {
            phones_days: Some(1),
            photos_days: None,
        });
    })
    .await;
    let typed = campaign.typed(&campaign.live_key, "GOOD010001", TIME).await;
    let sent = campaign
        .with_receipt(&campaign.live_key, &phone(1), "", &typed)
        .await;
    let id = id_of(&sent);
    let planted = Planted::in_submission(&campaign, &id).await;
    let settler = Settler::new(&service);
    settler.settle_due().await;
    settler.settle_after(Duration::from_secs(30)).await;
    assert_eq!(
        campaign.read(&campaign.live_key, &id).await.field("state"),
        "accepted"
    );
    planted.assert_kept("settling").await;
    service.clock.advance(DAY * 3);
    let sweeper = sweeper(&service);
    for _ in 0..6 {
        sweeper.handle(Tick::default()).await.expect("it sweeps");
    }
    assert!(campaign.record(&id).await.phone.is_none());
    planted.assert_kept("retention").await;
}

#[tokio::test]
async fn foreign_attributes_stay_when_a_partner_answers() {
    let service = Service::still();
    let partner = simulated(|_| {}).await;
    let campaign = TestCampaign::changed(&service, judged_by(partner.url())).await;
    let sent = campaign.entry(&phone(1), "DOWN-1").await;
    assert_eq!(sent.field("state"), "unknown", "{}", sent.text);
    let id = id_of(&sent);
    let planted = Planted::in_submission(&campaign, &id).await;
    let asked = partner.asked(&id);
    let settler = Settler::new(&service);
    settler.settle_after(Duration::from_mins(10)).await;
    assert!(partner.asked(&id) > asked, "it was asked again");
    planted.assert_kept("an answer").await;
}

#[tokio::test]
async fn foreign_attributes_stay_when_a_campaign_changes() {
    let service = Service::still();
    let mut config = plain();
    receipts_alone(&mut config);
    let mut campaign = TestCampaign::on(&service, config).await;
    let key = [("slug", campaign.config.slug.to_string())];
    let paths = &[
        "future",
        "limits.future",
        "receipt.future",
        "receipt.products[0].future",
    ];
    let planted = Planted::new(&service, "campaigns", &key, paths).await;
    let config = &mut campaign.config;
    config.limits.phone_daily = Some(7);
    let rules = config.receipt.as_mut().expect("rules");
    rules.max_entries += 1;
    let first = rules.products.first_mut().expect("a product");
    first.label.push('!');
    campaign.apply().await;
    planted.assert_kept("a change").await;
}

#[tokio::test]
async fn foreign_attributes_stay_when_a_code_book_changes() {
    let service = Service::still();
    let campaign = TestCampaign::on(&service, plain()).await;
    let (scope, books) = (campaign.live_scope(), &service.tables.code_books);
    let key = [("scope", scope.to_string())];
    let paths = &["future", "batches[0].future", "batches[0].origin.future"];
    let planted = Planted::new(&service, "code_books", &key, paths).await;
    let book = books.get(&scope).await.expect("it answers");
    let mut book = book.expect("a book");
    let mut second = book.book.batches[0].clone();
    second.name = "second".to_owned();
    book.book.batches[0].status = BatchStatus::Void;
    book.book.batches.push(second);
    books.save(&scope, &book).await.expect("saved");
    planted.assert_kept("a change").await;
    let stale = books.save(&scope, &book).await;
    assert!(matches!(stale, Err(SaveError::Changed)), "{stale:?}");
}

#[tokio::test]
async fn foreign_attributes_stay_when_a_freeze_lock_changes() {
    let service = Service::still();
    let campaign = TestCampaign::on(&service, plain()).await;
    let scope = campaign.live_scope();
    let draws = &service.tables.draws;
    let lock = |id: &str| FreezeLock {
        id: id.to_owned(),
        draw: "week-03".parse().expect("a name"),
        expires_at: None,
        commitment: None,
    };
    let (first, second) = (lock("first"), lock("second"));
    let begun = draws.change_freeze_lock(&scope, None, &first).await;
    assert!(begun.expect("it answers"));
    let key = [
        ("scope", format!("freezing#{scope}")),
        ("record", "lock".to_owned()),
    ];
    let planted = Planted::new(&service, "draws", &key, &["future"]).await;
    let changed = draws.change_freeze_lock(&scope, Some(&first), &second);
    assert!(changed.await.expect("it answers"));
    planted.assert_kept("a change").await;
}
