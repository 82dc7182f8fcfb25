//! Provokes every described reply, except internal failures.

use std::collections::BTreeSet;

use aws_sdk_s3::primitives::ByteStream;
use common::aws::Aws;
use common::aws::photos::object_key;
use common::domain::receipt::rules::ReceiptRules;
use common::domain::scope::Environment;
use common::http::routes::ROUTES;
use local::stack::Options;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, body, fresh_key, phone, plain};
use service_tests::contract::{Described, described};
use service_tests::database_faults::Fault;
use service_tests::http::RequestBuilder;
use service_tests::receipts::{
    announced, hardly_a_photo, id_of, receipts_alone, rules, upload, without_typing,
};
use service_tests::service::Service;

const SUBMISSIONS: &str = "/api/v1/submissions";
const RECEIPTS: &str = "/api/v1/receipts";
const NO_ID: &str = "0b0a6f6e-6a53-4a0e-8f0e-0d6f4f1f2a3b";

#[derive(Default)]
struct Seen(BTreeSet<Described>);

impl Seen {
    async fn send(&mut self, sending: RequestBuilder) {
        let (reply, described) = sending.send_and_name().await;
        let described =
            described.unwrap_or_else(|| panic!("no reply of an endpoint: {}", reply.text));
        self.0.insert(described);
    }
}

/// A request to each endpoint that passes authentication.
fn to_each(campaign: &TestCampaign, key: &str) -> Vec<RequestBuilder> {
    let sending = |route: &common::http::routes::Route| {
        campaign.with_key(key, route.method, &route.path.replace("{id}", NO_ID))
    };
    ROUTES.iter().map(sending).collect()
}

/// Refusals of authentication and rate limits.
async fn at_the_gate(seen: &mut Seen, campaign: &TestCampaign, staging: &TestCampaign) {
    let revoked = campaign.issue(Environment::Test, 100).await;
    campaign.revoke(&revoked).await;
    let exhausted = campaign.issue(Environment::Test, 1).await;
    campaign
        .with_key(&exhausted, "GET", "/api/v1/campaign")
        .await;
    let absent = TestCampaign {
        config: plain(),
        ..campaign.clone()
    };
    let of_nothing = absent.issue(Environment::Test, 100).await;
    let key = &campaign.test_key;
    for sending in to_each(campaign, key) {
        seen.send(sending.clone().without("authorization")).await;
        seen.send(
            sending
                .without("authorization")
                .header("authorization", "nonsense"),
        )
        .await;
    }
    for (key, header) in [
        ("svc_test_12345678", None),
        (&revoked, None),
        (&exhausted, None),
        (&of_nothing, None),
        (key, Some(("svc-campaign", "another"))),
        (key, Some(("svc-test-time", "tomorrow"))),
    ] {
        for sending in to_each(campaign, key) {
            seen.send(match header {
                Some((name, value)) => sending.header(name, value),
                None => sending,
            })
            .await;
        }
    }
    for sending in to_each(staging, &staging.live_key) {
        seen.send(sending).await;
    }
    for route in ROUTES {
        seen.send(campaign.test("DELETE", &route.path.replace("{id}", NO_ID)))
            .await;
    }
}

/// Successful replies, and each endpoint's own refusals.
async fn replies_after_authentication(
    seen: &mut Seen,
    codes: &TestCampaign,
    receipts: &TestCampaign,
    photos: &TestCampaign,
) {
    replies_about_codes(seen, codes).await;
    replies_about_entries(seen, codes).await;
    replies_about_announcements(seen, receipts, photos).await;
    replies_about_receipts(seen, receipts).await;
}

fn post(campaign: &TestCampaign, path: &str, body: Value) -> RequestBuilder {
    campaign.test("POST", path).json(&body)
}

fn live(campaign: &TestCampaign, path: &str, body: Value) -> RequestBuilder {
    campaign.live("POST", path).json(&body)
}

async fn replies_about_codes(seen: &mut Seen, codes: &TestCampaign) {
    seen.send(codes.test("GET", "/api/v1/campaign")).await;
    seen.send(codes.check(&codes.code(1))).await;
    seen.send(codes.check("")).await;
    seen.send(live(
        codes,
        "/api/v1/codes/check",
        json!({ "code": "TEST-0-VALID" }),
    ))
    .await;
    seen.send(codes.lookup(&phone(1))).await;
    seen.send(codes.lookup("short")).await;
    seen.send(codes.lookup("0812 345 678")).await;
}

async fn replies_about_entries(seen: &mut Seen, codes: &TestCampaign) {
    let entering =
        |body: Value| post(codes, SUBMISSIONS, body).header("idempotency-key", fresh_key());
    let entered = codes.submission(&phone(1), &codes.code(1));
    seen.send(entered.clone()).await;
    seen.send(entered.clone().json(&body(&phone(2), &codes.code(1))))
        .await;
    seen.send(entered.clone().without("idempotency-key")).await;
    seen.send(
        entered
            .without("idempotency-key")
            .header("idempotency-key", "short"),
    )
    .await;
    let submission = codes.submit(&phone(1), &codes.code(1)).await;
    seen.send(codes.test("GET", &format!("{SUBMISSIONS}/{}", id_of(&submission))))
        .await;
    seen.send(entering(json!({}))).await;
    seen.send(entering(json!({ "phone": phone(1), "code": "x" })))
        .await;
    seen.send(entering(body("0812 345 678", "x"))).await;
    let sentinel = live(codes, SUBMISSIONS, body(&phone(1), "TEST-0-VALID"));
    seen.send(sentinel.header("idempotency-key", fresh_key()))
        .await;
}

async fn replies_about_announcements(
    seen: &mut Seen,
    receipts: &TestCampaign,
    photos: &TestCampaign,
) {
    let key = &receipts.test_key;
    let announcing = receipts
        .receipt(key, &announced(&hardly_a_photo(), None))
        .header("idempotency-key", fresh_key());
    seen.send(announcing.clone()).await;
    seen.send(announcing.clone().json(&announced(b"another", None)))
        .await;
    seen.send(
        announcing
            .without("idempotency-key")
            .header("idempotency-key", "short"),
    )
    .await;
    seen.send(receipts.receipt(key, &json!({}))).await;
    seen.send(receipts.receipt(
        key,
        &json!({ "type": "photo", "content_type": "image/png", "size_bytes": 9_999_999 }),
    ))
    .await;
    let typed = json!({ "type": "typed", "code": "TEST0REVIEW", "time": "10:15" });
    seen.send(receipts.receipt(&receipts.live_key, &typed))
        .await;
    seen.send(photos.receipt(&photos.test_key, &typed)).await;
}

async fn replies_about_receipts(seen: &mut Seen, receipts: &TestCampaign) {
    let key = &receipts.test_key;
    let waiting = receipts
        .receipt(key, &announced(b"GIF89a but called a JPEG", None))
        .await;
    let waiting_path = format!("{RECEIPTS}/{}", id_of(&waiting));
    seen.send(receipts.test("GET", &waiting_path)).await;
    seen.send(receipts.test("POST", &format!("{waiting_path}/upload-url")))
        .await;
    let using = |id: &str| receipts.with_receipt(key, &phone(1), "", id);
    seen.send(using(&id_of(&waiting))).await;
    assert_eq!(
        upload(&waiting, b"GIF89a but called a JPEG".to_vec())
            .await
            .status,
        200
    );
    seen.send(using(&id_of(&waiting))).await;
    seen.send(using(NO_ID)).await;
    seen.send(
        post(
            receipts,
            SUBMISSIONS,
            json!({ "phone": phone(1), "consent": true }),
        )
        .header("idempotency-key", fresh_key()),
    )
    .await;
    seen.send(using(&too_large(receipts).await)).await;

    let typed = receipts.typed(key, "TEST0REVIEW", "10:15").await;
    seen.send(receipts.test("POST", &format!("{RECEIPTS}/{typed}/upload-url")))
        .await;
    assert_eq!(using(&typed).await.status, 200);
    seen.send(using(&typed)).await;
    seen.send(receipts.test("POST", &format!("{RECEIPTS}/{typed}/upload-url")))
        .await;
}

/// A receipt with a file over the size limit, which upload targets refuse.
async fn too_large(campaign: &TestCampaign) -> String {
    let made = campaign
        .receipt(&campaign.test_key, &announced(&hardly_a_photo(), None))
        .await;
    let env = &campaign.service.env;
    let id = id_of(&made).parse().expect("an id");
    let storage = Aws::for_function(env)
        .expect("the stack sets every variable")
        .s3();
    let put = storage
        .put_object()
        .bucket(env.required("PHOTOS_BUCKET").expect("the stack sets it"))
        .key(object_key(&campaign.scope(Environment::Test), id))
        .body(ByteStream::from(vec![0xff; 5 * 1024 * 1024 + 1]));
    put.send().await.expect("stored");
    id_of(&made)
}

/// Database conflicts, until the first attempt is reported as in progress.
async fn in_progress(seen: &mut Seen) {
    let (service, proxy) = Service::intercepted().await;
    let campaign = TestCampaign::on(&service, plain()).await;
    proxy.play([Fault::Conflict(0); 1_000]);
    seen.send(campaign.submission(&phone(1), &campaign.code(0)))
        .await;
}

#[tokio::test]
async fn every_described_reply_can_be_had() {
    let mut seen = Seen::default();
    let codes = TestCampaign::plain().await;
    let receipts = TestCampaign::with(receipts_alone).await;
    let photos = TestCampaign::with(|campaign| {
        campaign.receipt = Some(ReceiptRules {
            required: false,
            ..without_typing(rules())
        });
    })
    .await;
    let staging = Service::with_options(Options {
        stage: "staging",
        ..Options::default()
    });
    let staging = TestCampaign::on(&staging, plain()).await;
    at_the_gate(&mut seen, &codes, &staging).await;
    replies_after_authentication(&mut seen, &codes, &receipts, &photos).await;
    in_progress(&mut seen).await;

    let never: Vec<_> = described()
        .into_iter()
        .filter(|described| !seen.0.contains(described))
        .collect();
    // Tested by `internal_errors` and `faults`.
    let failures = [Some("internal_error"), Some("service_unavailable")];
    let unexpected: Vec<_> = never
        .iter()
        .filter(|(_, _, code)| !failures.contains(&code.as_deref()))
        .collect();
    assert!(
        unexpected.is_empty(),
        "described, but not to be had: {unexpected:#?}"
    );
}
