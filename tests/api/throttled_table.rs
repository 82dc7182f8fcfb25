//! One table throttles every call for a while.

use std::time::Duration;

use common::clock::Clock;
use common::domain::settling::{Dependency, STEP_LEASE};
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use local::stack::Options;
use serde_json::json;
use service_tests::campaign::{TestCampaign, fresh_key, phone, plain};
use service_tests::http::{Reply, RequestBuilder};
use service_tests::interceptor::{Disturbance, Interceptor};
use service_tests::partners::{judged_by, simulated};
use service_tests::random::Random;
use service_tests::receipts::{Settler, TIME, code_and_receipt, id_of, receipts_alone};
use service_tests::service::{NOON, Service};
use service_tests::text::len_of;

/// A stack over this database, behind a proxy.
async fn stack_over(database: &Service) -> (Service, Interceptor) {
    let options = Options {
        clock: Clock::manual(NOON),
        background: false,
        speedup: 60,
        ..Options::default()
    };
    database.intercepted_beside(options).await
}

struct Due {
    campaign: TestCampaign,
    submitted: Reply,
    dependency: Dependency,
}

impl Due {
    async fn receipt(campaign: &TestCampaign, code: &str) -> Self {
        let key = &campaign.live_key;
        let receipt = campaign.typed(key, "GOOD010001", TIME).await;
        let submitted = campaign.with_receipt(key, &phone(1), code, &receipt).await;
        Self {
            campaign: campaign.clone(),
            submitted,
            dependency: Dependency::TaxAuthority,
        }
    }

    async fn code(service: &Service, url: String) -> Self {
        let campaign = TestCampaign::changed(service, judged_by(url)).await;
        let submitted = campaign.entry(&phone(1), "DOWN-1").await;
        Self {
            campaign,
            submitted,
            dependency: Dependency::Partner,
        }
    }

    async fn deliver(&self, settler: &Settler) {
        let message = self.campaign.message(&id_of(&self.submitted));
        settler.deliver_to(self.dependency, &message).await;
    }

    async fn is_accepted(&self) -> bool {
        self.campaign.shown(&self.submitted).await.field("state") == "accepted"
    }
}

fn throttle_all(proxy: &Interceptor, service: &Service, variable: &'static str) {
    let throttled_table = Some(service.variable(variable));
    let disturbance = Disturbance {
        throttled_percent: 100,
        throttled_table,
        ..Disturbance::default()
    };
    proxy.disturb(Random::new(7), disturbance);
}

/// Throttles a table while requests are sent and due steps run: some are refused or wait, and later
/// all succeed once.
async fn throttle(variable: &'static str, refused: &[&str], waiting: &[Dependency]) {
    let partner = simulated(|_| {}).await;
    let database = Service::without_background();
    let (service, proxy) = stack_over(&database).await;
    let settler = Settler::new(&service);
    let codes = TestCampaign::on(&service, plain()).await;
    let receipts = TestCampaign::changed(&service, receipts_alone).await;
    let due = [
        Due::receipt(&receipts, "").await,
        Due::code(&service, partner.url()).await,
    ];
    service.clock.advance(Duration::from_secs(1));
    let typed = json!({ "type": "typed", "code": "GOOD010002", "time": TIME });
    let requests: [(&str, RequestBuilder); 4] = [
        ("creation", codes.submission(&phone(1), &codes.code(0))),
        (
            "receipt",
            receipts
                .receipt(&receipts.test_key, &typed)
                .header("idempotency-key", fresh_key()),
        ),
        ("check", codes.check(&codes.code(1))),
        ("look-up", codes.lookup(&phone(1))),
    ];

    throttle_all(&proxy, &service, variable);
    let replies = join_all(requests.iter().map(|(_, request)| request.clone().send())).await;
    for ((name, _), reply) in requests.iter().zip(&replies) {
        if refused.contains(name) {
            assert_eq!(
                reply.refusal(),
                "503 service_unavailable",
                "{variable}: {name}"
            );
            assert_eq!(reply.header("retry-after"), Some("5"), "{name}");
        } else {
            assert_eq!(reply.status, 200, "{variable}: {name}: {}", reply.text);
        }
    }
    for due in &due {
        due.deliver(&settler).await;
    }
    proxy.disturb_no_more();

    for (name, request) in &requests {
        let (first, again) = (request.clone().await, request.clone().await);
        for reply in [&first, &again] {
            assert_eq!(reply.status, 200, "{name}: {}", reply.text);
        }
        assert_eq!(first.field("id"), again.field("id"), "{name}");
    }
    let listed = codes.lookup(&phone(1)).await;
    assert_eq!(len_of(&listed.field("submissions")), 1, "{}", listed.text);
    assert_eq!(listed.field("total_entries"), 1);
    for due in due.iter().filter(|due| waiting.contains(&due.dependency)) {
        assert!(
            !due.is_accepted().await,
            "{variable}: its step could not run"
        );
    }
    for _ in 0..20 {
        settler.settle_after(Duration::from_secs(30)).await;
    }
    for due in &due {
        assert!(due.is_accepted().await, "{}", due.submitted.text);
    }
    assert_eq!(partner.redemptions().len(), 1);
}

/// Some at a time, because each mostly waits.
#[tokio::test]
async fn throttled_table_loses_and_doubles_nothing() {
    const PARTNER: &[Dependency] = &[Dependency::Partner];
    const TAX: &[Dependency] = &[Dependency::TaxAuthority];
    let all = ["creation", "receipt", "check", "look-up"].as_slice();
    let by_code = ["creation", "check"].as_slice();
    let by_phone = ["creation", "look-up"].as_slice();
    let rows = [
        ("COORDINATION_TABLE", all, Dependency::ALL.as_slice()),
        ("SUBMISSIONS_TABLE", by_phone, &Dependency::ALL),
        ("IDEMPOTENCY_KEYS_TABLE", &["creation", "receipt"], &[]),
        ("API_KEYS_TABLE", all, &[]),
        (
            "CAMPAIGNS_TABLE",
            &["creation", "check", "look-up"],
            &Dependency::ALL,
        ),
        ("CODE_BOOKS_TABLE", by_code, &[]),
        ("CODES_TABLE", by_code, PARTNER),
        ("ENTRANTS_TABLE", by_phone, &Dependency::ALL),
        ("RECEIPTS_TABLE", &["receipt"], TAX),
    ];
    let throttled = rows.map(|(variable, refused, waiting)| {
        // Together they are too large for a test's stack.
        Box::pin(throttle(variable, refused, waiting))
    });
    // Each has a service, with its sockets.
    let throttled = stream::iter(throttled).buffer_unordered(3);
    throttled.collect::<()>().await;
}

/// Longer than five leases. Steps do not read the table of codes, so they fail at the last write.
#[tokio::test]
async fn refused_last_write_of_a_step_leaves_none_to_an_operator() {
    let partner = simulated(|_| {}).await;
    let database = Service::without_background();
    let (service, proxy) = stack_over(&database).await;
    let receipts = TestCampaign::changed(&service, code_and_receipt).await;
    let code = receipts.code(0);
    let due = [
        Due::receipt(&receipts, &code).await,
        Due::code(&service, partner.url()).await,
    ];
    service.clock.advance(Duration::from_secs(1));

    throttle_all(&proxy, &service, "CODES_TABLE");
    let settlers = [Settler::new(&service), Settler::new(&service)];
    for _ in 0..6 {
        join_all(
            due.iter()
                .zip(&settlers)
                .map(|(due, settler)| due.deliver(settler)),
        )
        .await;
        service.clock.advance(STEP_LEASE);
    }
    proxy.disturb_no_more();

    for due in &due {
        assert!(
            !due.is_accepted().await,
            "{:?}: its code could not be redeemed",
            due.dependency
        );
    }
    for _ in 0..20 {
        settlers[0].settle_after(Duration::from_secs(30)).await;
    }
    for due in &due {
        assert!(due.is_accepted().await, "{:?}", due.dependency);
    }
    assert_eq!(partner.redemptions().len(), 1);
}
