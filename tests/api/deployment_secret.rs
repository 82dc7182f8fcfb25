//! The deployment's secret, which encrypts code books: what the table holds, and what callers get
//! while Secrets Manager fails.

use std::error::Error as _;

use aws_sdk_dynamodb::types::AttributeValue;
use check_code::CheckCode;
use common::aws::Aws;
use common::aws::deployment_secret::{self, DeploymentSecrets};
use common::config::Env;
use common::domain::codebook::BatchStatus;
use common::domain::scope::Environment;
use common::runtime::http_handler::{ApiHandler, Endpoint, HttpHandler};
use common::store::code_books::{self, CodeBooks};
use create_submission::CreateSubmission;
use local::stack::Options;
use lookup_submissions::LookupSubmissions;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, body, phone};
use service_tests::event;
use service_tests::http::Reply;
use service_tests::interceptor::Interceptor;
use service_tests::moments::{NO_CAPS, OpenPlan};
use service_tests::service::{DEPLOYMENT_SECRET, Service};
use service_tests::serving::listen;
use tokio::time::Instant;

const ENDPOINT: &str = "AWS_ENDPOINT_URL_SECRETS_MANAGER";

/// Starts a function with this Secrets Manager.
async fn start<O: Endpoint>(service: &Service, secrets: &Interceptor) -> ApiHandler<O> {
    let function = service.behind(secrets, &[ENDPOINT]).await.endpoint::<O>();
    function.prepare().await;
    function
}

fn with_another_secret(service: &Service) -> Service {
    let deployment_secret = Some("another-secret-than-that-of-the-other-stacks".to_owned());
    service.beside(Options {
        deployment_secret,
        ..Options::default()
    })
}

/// Posts with the live key, and an Idempotency-Key of the body's own.
async fn post(
    function: &impl HttpHandler,
    campaign: &TestCampaign,
    path: &str,
    body: &Value,
) -> Reply {
    let attempt: String = hex::encode(body.to_string()).chars().take(64).collect();
    let path = format!("/api/v1/{path}");
    let event = event::posted(&path, body, &attempt, &campaign.live_key);
    event::reply(&event::answer(function, &event).await)
}

#[tokio::test]
async fn the_keys_of_a_code_book_stand_in_the_table_encrypted() {
    let campaign = TestCampaign::plain().await;
    let scope = campaign.live_scope();
    let table = campaign.service.variable(code_books::VARIABLE);
    let read = campaign.service.dynamodb().get_item().table_name(table);
    let read = read
        .key(code_books::KEY, AttributeValue::S(scope.to_string()))
        .send()
        .await;
    let item = read.expect("the table answers").item.expect("a book");
    let books = &campaign.service.tables.code_books;
    let stored = books.get(&scope).await.expect("read").expect("a book");
    let (digest, minting) = (&item["digest_key"], &item["minting_key"]);
    for (found, key) in [
        (digest, &stored.book.digest_key),
        (minting, &stored.book.minting_key),
    ] {
        let bytes = found.as_b().expect("bytes").as_ref();
        assert_eq!(bytes.len(), 12 + 32 + 16, "a nonce, the key, a tag");
        let mut parts = bytes.windows(8);
        assert!(!parts.any(|part| key.expose().windows(8).any(|of_key| of_key == part)));
    }
}

#[tokio::test]
async fn no_request_waits_for_the_secret() {
    let service = Service::shared();
    let (campaign, secrets) = (TestCampaign::plain().await, Interceptor::default());
    campaign
        .import("printed", BatchStatus::Active, None, &["CHAI2026"])
        .await;
    let (enter, check) = (
        start::<CreateSubmission>(&service, &secrets).await,
        start::<CheckCode>(&service, &secrets).await,
    );
    // Each fetches it once, before its first event, and entries that of winning moments.
    assert_eq!(secrets.calls(), 3);

    secrets.deny(true);
    for code in [campaign.code(1), "CHAI-2026".to_owned()] {
        let reply = post(&check, &campaign, "codes/check", &json!({ "code": code })).await;
        assert_eq!(reply.field("precheck"), "valid");
        let reply = post(&enter, &campaign, "submissions", &body(&phone(1), &code)).await;
        assert_eq!(reply.field("message_key"), "entered");
    }
    assert_eq!(secrets.calls(), 3);
}

#[tokio::test]
async fn only_open_plans_wait_for_the_secret_of_moments() {
    let (service, secrets) = (Service::shared(), Interceptor::default());
    secrets.select(|_, body| body.contains("local/moments"));
    let enter = start::<CreateSubmission>(&service, &secrets).await;
    let (plain, planned) = (TestCampaign::plain().await, TestCampaign::plain().await);
    OpenPlan::due(&planned, &[1], NO_CAPS).await;
    let entry = |campaign: &TestCampaign| body(&phone(1), &campaign.code(1));
    let reply = post(&enter, &plain, "submissions", &entry(&plain)).await;
    assert_eq!(reply.field("message_key"), "entered");
    let reply = post(&enter, &planned, "submissions", &entry(&planned)).await;
    assert_eq!(reply.refusal(), "503 service_unavailable");
    assert!(service.holds(&planned.live_scope()).await.is_empty());
    let reply = planned.entry(&phone(1), &planned.code(1)).await;
    assert_eq!(reply.field("instant_win"), "Prize 0");
}

#[tokio::test]
async fn codes_without_the_secret_are_unavailable_and_leave_nothing() {
    let service = Service::shared();
    let (campaign, secrets) = (TestCampaign::plain().await, Interceptor::default());
    secrets.deny(true);
    let enter = start::<CreateSubmission>(&service, &secrets).await;
    let check = start::<CheckCode>(&service, &secrets).await;
    let code = campaign.code(1);
    let (body, check_body) = (body(&phone(1), &code), json!({ "code": code }));
    for _ in 0..2 {
        let reply = post(&enter, &campaign, "submissions", &body).await;
        assert_eq!(reply.refusal(), "503 service_unavailable");
        let fix = "then send the same request again, with the same Idempotency-Key";
        assert_contains!(reply.fields("error.fix"), fix);
        let reply = post(&check, &campaign, "codes/check", &check_body).await;
        assert_eq!(reply.refusal(), "503 service_unavailable");
    }
    assert!(
        service.holds(&campaign.live_scope()).await.is_empty(),
        "nothing is left behind"
    );
    let lookup = campaign
        .live("POST", "/api/v1/submissions/lookup")
        .json(&json!({ "phone": phone(1) }));
    assert_eq!(lookup.await.field("submissions"), json!([]));

    // The same request, without a new start.
    secrets.deny(false);
    let reply = post(&enter, &campaign, "submissions", &body).await;
    assert_eq!(reply.field("message_key"), "entered");
    let reply = post(&check, &campaign, "codes/check", &check_body).await;
    assert_eq!(reply.field("precheck"), "already_used");
}

#[tokio::test]
async fn lookups_without_the_secret_use_up_no_limit() {
    let service = Service::shared();
    let (campaign, secrets) = (TestCampaign::plain().await, Interceptor::default());
    let entered = campaign.entry(&phone(1), &campaign.code(1)).await;
    assert_eq!(entered.field("message_key"), "entered");
    secrets.deny(true);
    let lookup = start::<LookupSubmissions>(&service, &secrets).await;
    let look_up = async || {
        let body = json!({ "phone": phone(1) });
        post(&lookup, &campaign, "submissions/lookup", &body).await
    };
    // More than a phone's five.
    for _ in 0..6 {
        assert_eq!(look_up().await.refusal(), "503 service_unavailable");
    }
    secrets.deny(false);
    assert_eq!(look_up().await.field("total_entries"), 1);
}

#[tokio::test]
async fn the_cause_is_told_to_the_log_without_the_secret() {
    let service = Service::shared();
    let (campaign, secrets) = (TestCampaign::plain().await, Interceptor::default());
    secrets.deny(true);
    let env = secrets.in_front_of_all(&[ENDPOINT], &service.env).await;
    let books =
        CodeBooks::from_env(&env, &Aws::for_function(&env).expect("credentials")).expect("a table");
    let error = books
        .get(&campaign.live_scope())
        .await
        .expect_err("it is refused");
    assert_eq!(error.to_string(), "reading the deployment's secret failed");
    assert!(error.source().is_some());

    // A stack with another secret over the same database cannot decrypt the code books.
    let other = with_another_secret(&service);
    let error = other
        .tables
        .code_books
        .get(&campaign.live_scope())
        .await
        .expect_err("not ours");
    let cause = error.source().expect("a cause").to_string();
    let expected = "its keys are encrypted under another secret than the deployment's";
    assert_eq!(cause, expected);
    let elsewhere = TestCampaign {
        service: other,
        ..campaign.clone()
    };
    let reply = elsewhere.submit(&phone(1), &campaign.code(1)).await;
    assert_eq!(reply.refusal(), "503 service_unavailable");
}

#[tokio::test]
async fn a_secret_that_was_put_back_from_a_copy_is_the_same_secret() {
    let service = Service::shared();
    let campaign = TestCampaign::plain().await;
    // The same secret under another version id.
    let restored = service.beside(Options::default());
    let restored = TestCampaign {
        service: restored,
        ..campaign.clone()
    };
    let code = campaign.code(1);
    assert_eq!(restored.outcome(&phone(1), &code).await, "entered");
    assert_eq!(campaign.outcome(&phone(2), &code).await, "already_used");
}

#[tokio::test]
async fn corrected_secret_is_used_at_once() {
    let campaign = TestCampaign::plain().await;
    let scope = campaign.live_scope();
    let other = with_another_secret(&campaign.service);
    let books = &other.tables.code_books;
    books
        .get(&scope)
        .await
        .expect_err("the book is encrypted under another secret");

    let aws = Aws::for_function(&other.env).expect("credentials");
    let secret = other
        .env
        .required(deployment_secret::VARIABLE)
        .expect("a name");
    let put = aws
        .secrets()
        .put_secret_value()
        .secret_id(secret)
        .secret_string(DEPLOYMENT_SECRET);
    put.send().await.expect("it is replaced");
    books
        .get(&scope)
        .await
        .expect("it can be read")
        .expect("a book");
}

#[tokio::test]
async fn no_phone_enters_under_a_secret_that_was_replaced_by_hand() {
    let campaign = TestCampaign::plain().await;
    let other = with_another_secret(&campaign.service);
    // A sentinel needs no key of the code book.
    let elsewhere = TestCampaign {
        service: other,
        ..campaign.clone()
    };
    let refused = elsewhere.submit(&phone(1), "TEST-0-VALID").await;
    assert_eq!(refused.refusal(), "503 service_unavailable");
    assert!(
        campaign
            .service
            .holds(&campaign.scope(Environment::Test))
            .await
            .is_empty()
    );
}

#[tokio::test]
async fn a_secret_that_is_too_short_is_refused() {
    let stack = Options {
        deployment_secret: Some("short".to_owned()),
        ..Options::default()
    };
    let service = Service::with_options(stack);
    let aws = Aws::for_function(&service.env).expect("credentials");
    let secrets = DeploymentSecrets::from_env(&service.env, &aws).expect("a name");
    let error = secrets.current().await.expect_err("it is too short");
    assert_eq!(
        error.source().expect("a cause").to_string(),
        "the deployment's secret has fewer than 32 characters"
    );
}

#[tokio::test(start_paused = true)]
async fn silent_secrets_manager_is_waited_for_within_bounds() {
    // Accepts connections in the kernel's backlog and never answers.
    let (_listener, url) = listen().await;
    let env = [
        ("AWS_ACCESS_KEY_ID", "a-key"),
        ("AWS_SECRET_ACCESS_KEY", "a-secret"),
        ("AWS_REGION", "af-south-1"),
        ("DEPLOYMENT_SECRET_ID", "local/deployment"),
        (ENDPOINT, url.as_str()),
    ];
    let env: Env = env
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into_iter()
        .collect();
    let aws = Aws::for_function(&env).expect("every variable is set");
    let secrets = DeploymentSecrets::from_env(&env, &aws).expect("every variable is set");

    let began = Instant::now();
    secrets.prepare().await;
    assert_eq!(began.elapsed().as_millis(), 1_500);
    let began = Instant::now();
    secrets.current().await.expect_err("it is silent");
    assert_eq!(began.elapsed().as_millis(), 3_000);
}
