//! Webhooks: what is published, how it is delivered, and what happens while an endpoint fails.

mod breaker;
mod crashes;
mod failures;
mod publishing;

use common::domain::scope::Environment;
use common::domain::webhook::{Endpoint, EventType, WebhookSecret};
use service_tests::campaign::{TestCampaign, phone};
use service_tests::http::Reply;
use service_tests::receipts::{Settler, TIME, id_of, receipts_alone};
use service_tests::service::Service;
use service_tests::webhooks::{Answer, Receiver, Webhooks};

/// A campaign with receipts and an endpoint, on a stack whose clock stands.
struct SetUp {
    campaign: TestCampaign,
    settler: Settler,
    webhooks: Webhooks,
    receiver: Receiver,
    endpoint: Endpoint,
    secret: WebhookSecret,
}

async fn set_up(answer: Answer) -> SetUp {
    let service = Service::still();
    let campaign = TestCampaign::changed(&service, receipts_alone).await;
    let webhooks = Webhooks::new(&service);
    let receiver = Receiver::serve(answer).await;
    let scope = campaign.scope(Environment::Test);
    let types = EventType::DEFAULT;
    let (endpoint, secret) = webhooks.add(&scope, &receiver.url, &types).await;
    SetUp {
        settler: Settler::new(&service),
        campaign,
        webhooks,
        receiver,
        endpoint,
        secret,
    }
}

impl SetUp {
    /// A pending entry with a test receipt.
    async fn enter(&self, number: u32, receipt: &str) -> Reply {
        let key = &self.campaign.test_key;
        let receipt = self.campaign.typed(key, receipt, TIME).await;
        let reply = self
            .campaign
            .with_receipt(key, &phone(number), "", &receipt)
            .await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply
    }

    /// An accepted entry; returns its id.
    async fn accept(&self, number: u32) -> String {
        let reply = self.enter(number, "TEST0VERIFIED").await;
        self.settler.settle_due().await;
        id_of(&reply)
    }
}
