//! One table answers every call with throttling for a while.

use std::time::Duration;

use common::aws::settle_queue::SettleMessage;
use common::clock::Clock;
use common::domain::scope::Environment;
use common::domain::settling::Dependency;
use futures_util::future::join_all;
use local::partner::SimulatedPartner;
use local::stack::{Options, PARTNER_SECRET, PARTNER_SECRET_HEADER};
use serde_json::json;
use service_tests::campaign::{TestCampaign, body, fresh_key, phone, plain};
use service_tests::http::{Reply, RequestBuilder};
use service_tests::partners::judged_by;
use service_tests::proxy::{Disturbance, Proxy};
use service_tests::random::Random;
use service_tests::receipts::{Settler, TIME, id_of, receipts_alone};
use service_tests::service::{NOON, Service};

/// A stack over this database, behind a proxy that can throttle its tables.
async fn stack_over(database: &Service) -> (Service, Proxy) {
    let proxy = Proxy::start(database.database_url()).await;
    let service = Service::of_its_own(Options {
        dynamodb_url: Some(proxy.url.clone()),
        clock: Clock::manual(NOON),
        background: false,
        hasten: 60,
        ..Options::default()
    });
    (service, proxy)
}

/// A submission that is due to be settled.
struct Due {
    campaign: TestCampaign,
    submitted: Reply,
    dependency: Dependency,
}

impl Due {
    async fn receipt(campaign: &TestCampaign) -> Self {
        let receipt = campaign.typed(&campaign.live_key, "GOOD010001", TIME).await;
        let submitted = campaign.with_receipt(&campaign.live_key, &phone(1), "", &receipt).send().await;
        Self { campaign: campaign.clone(), submitted, dependency: Dependency::TaxAuthority }
    }

    async fn code(service: &Service, url: String) -> Self {
        let mut config = plain();
        judged_by(url)(&mut config);
        let campaign = TestCampaign::on(service, config).await;
        let sending = campaign.live("POST", "/api/v1/submissions").header("idempotency-key", fresh_key());
        let submitted = sending.json(&body(&phone(1), "DOWN-1")).send().await;
        Self { campaign, submitted, dependency: Dependency::Partner }
    }

    async fn deliver(&self, settler: &Settler) {
        let scope = self.campaign.scope(Environment::Live);
        let submission_id = id_of(&self.submitted).parse().expect("an id");
        settler.deliver_to(self.dependency, &SettleMessage { scope, submission_id }).await;
    }

    async fn is_accepted(&self) -> bool {
        let now = self.campaign.read(&self.campaign.live_key, &id_of(&self.submitted)).await;
        now.field("state") == "accepted"
    }
}

/// Throttles a table while requests are sent and due steps run, and checks which requests are refused; later all of them
/// succeed, once.
async fn throttle(variable: &'static str, refused: [&str; 4], delays_settling: bool) {
    let secret = Some((PARTNER_SECRET_HEADER.to_owned(), PARTNER_SECRET.1.to_owned()));
    let options = local::partner::Options { secret, ..local::partner::Options::default() };
    let partner = SimulatedPartner::serve(options).await.expect("it serves");
    let database = Service::of_its_own(Options { background: false, ..Options::default() });
    let (service, proxy) = stack_over(&database).await;
    let settler = Settler::of(&service);
    let codes = TestCampaign::on(&service, plain()).await;
    let mut config = plain();
    receipts_alone(&mut config);
    let receipts = TestCampaign::on(&service, config).await;
    let due = [Due::receipt(&receipts).await, Due::code(&service, partner.url()).await];
    service.clock.advance(Duration::from_secs(1));
    let typed = json!({ "type": "typed", "code": "GOOD010002", "time": TIME });
    let requests: [(&str, RequestBuilder); 4] = [
        ("creation", codes.submission(&phone(1), &codes.code(0))),
        ("receipt", receipts.receipt(&receipts.test_key, &typed).header("idempotency-key", fresh_key())),
        ("check", codes.check(&codes.code(1))),
        ("look-up", codes.lookup(&phone(1))),
    ];

    let table = service.env.required(variable).expect("the stack sets it");
    let throttled_table = Some(table);
    let disturbance = Disturbance { throttled_percent: 100, throttled_table, ..Disturbance::default() };
    proxy.disturb(Random::new(7), disturbance);
    let replies = join_all(requests.iter().map(|(_, request)| request.clone().send())).await;
    for ((name, _), reply) in requests.iter().zip(&replies) {
        if refused.contains(name) {
            assert_eq!(reply.refusal(), (503, "service_unavailable".to_owned(), None), "{name}");
            assert_eq!(reply.header("retry-after"), Some("5"), "{name}");
        } else {
            assert_eq!(reply.status, 200, "{name}: {}", reply.text);
        }
    }
    for due in &due {
        due.deliver(&settler).await;
    }
    proxy.disturb_no_more();

    for (name, request) in &requests {
        let (first, again) = (request.clone().send().await, request.clone().send().await);
        assert_eq!((first.status.as_u16(), again.status.as_u16()), (200, 200), "{name}: {}", again.text);
        assert_eq!(first.field("id"), again.field("id"), "{name}");
    }
    let listed = codes.lookup(&phone(1)).send().await;
    assert_eq!(listed.field("submissions").as_array().map(Vec::len), Some(1), "{}", listed.text);
    assert_eq!(listed.field("total_entries"), 1);
    for due in due.iter().filter(|_| delays_settling) {
        assert!(!due.is_accepted().await, "its step could not run");
    }
    for _ in 0..20 {
        settler.settle_after(Duration::from_secs(30)).await;
    }
    for due in &due {
        assert!(due.is_accepted().await, "{}", due.submitted.text);
    }
    assert_eq!(partner.redemptions().len(), 1);
}

#[tokio::test]
async fn while_the_table_of_rate_limits_is_throttled_every_caller_is_told_to_retry() {
    throttle("RATE_LIMITS_TABLE", ["creation", "receipt", "check", "look-up"], true).await;
}

#[tokio::test]
async fn while_the_table_of_submissions_is_throttled_nothing_is_lost() {
    throttle("SUBMISSIONS_TABLE", ["creation", "look-up", "", ""], true).await;
}

#[tokio::test]
async fn while_the_table_of_requests_is_throttled_nothing_is_created_twice() {
    throttle("REQUESTS_TABLE", ["creation", "receipt", "", ""], false).await;
}
