//! The deployment's secret, which encrypts code books: what the table holds, and what callers get
//! while Secrets Manager fails.

use std::error::Error as _;
use std::net::Ipv4Addr;

use aws_sdk_dynamodb::types::AttributeValue;
use check_code::CheckCode;
use common::aws::Aws;
use common::aws::deployment_secret::{self, DeploymentSecrets};
use common::config::Env;
use common::domain::codebook::BatchStatus;
use common::domain::scope::Environment;
use common::runtime::http_handler::{ApiHandler, AppContext, Endpoint, HttpHandler, Responder};
use common::store::code_books::{self, CodeBooks};
use common::telemetry::Telemetry;
use create_submission::CreateSubmission;
use local::stack::{Options, as_function};
use lookup_submissions::LookupSubmissions;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, body, fresh_key, phone};
use service_tests::event;
use service_tests::http::request;
use service_tests::interceptor::Interceptor;
use service_tests::service::{DEPLOYMENT_SECRET, Service};
use service_tests::text::text_of;
use tokio::net::TcpListener;
use tokio::time::Instant;

const ENDPOINT: &str = "AWS_ENDPOINT_URL_SECRETS_MANAGER";

/// Starts a function with this Secrets Manager.
async fn start<O: Endpoint>(service: &Service, secrets: &Interceptor) -> ApiHandler<O> {
    let env = as_function(&service.env, O::ROUTE.function);
    let env = secrets.in_front_of_all(&[ENDPOINT], &env).await;
    let frame = Responder::from_env(&env, service.clock.clone(), Telemetry::Off)
        .expect("a whole environment");
    let function = ApiHandler::<O>::new(AppContext::new(env, frame).expect("a whole environment"));
    let function = function.expect("a whole environment");
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

async fn post(
    function: &impl HttpHandler,
    path: &str,
    key: &str,
    attempt: &str,
    body: &Value,
) -> (u16, Value) {
    let event = json!({
        "rawPath": path,
        "headers": {
            "authorization": format!("Bearer {key}"),
            "content-type": "application/json",
            "idempotency-key": attempt,
        },
        "requestContext": { "http": { "method": "POST", "path": path, "sourceIp": "192.0.2.1" } },
        "body": body.to_string(),
    });
    let reply = event::answer(function, &event).await;
    let body = text_of(&reply["body"]);
    let status = reply["statusCode"]
        .as_u64()
        .and_then(|status| u16::try_from(status).ok());
    (
        status.expect("a status"),
        serde_json::from_str(body).expect("JSON"),
    )
}

#[tokio::test]
async fn the_keys_of_a_code_book_stand_in_the_table_encrypted() {
    let campaign = TestCampaign::plain().await;
    let scope = campaign.live_scope();
    let table = campaign
        .service
        .env
        .required(code_books::VARIABLE)
        .expect("the stack sets it");
    let read = campaign.service.dynamodb().get_item().table_name(table);
    let read = read
        .key(code_books::KEY, AttributeValue::S(scope.to_string()))
        .send()
        .await;
    let item = read.expect("the table answers").item.expect("a book");
    let stored = campaign
        .service
        .tables
        .code_books
        .get(&scope)
        .await
        .expect("read")
        .expect("a book");
    let (digest, minting) = (&item["digest_key"], &item["minting_key"]);
    let keys = [
        (digest, &stored.book.digest_key),
        (minting, &stored.book.minting_key),
    ];
    for (found, key) in keys {
        let bytes = found.as_b().expect("bytes").as_ref();
        assert_eq!(bytes.len(), 12 + 32 + 16, "a nonce, the key, a tag");
        assert!(
            !bytes
                .windows(8)
                .any(|part| key.expose().windows(8).any(|of_key| of_key == part))
        );
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
    assert_eq!(
        secrets.calls(),
        2,
        "each fetches it once, before its first event"
    );

    secrets.deny(true);
    for (number, code) in [(1, campaign.code(1)), (2, "CHAI-2026".to_owned())] {
        let check_body = json!({ "code": code });
        let (status, reply) = post(
            &check,
            "/api/v1/codes/check",
            &campaign.live_key,
            "",
            &check_body,
        )
        .await;
        assert_eq!(status, 200);
        assert_eq!(reply["precheck"], "valid");
        let body = body(&phone(number), &code);
        let (status, reply) = post(
            &enter,
            "/api/v1/submissions",
            &campaign.live_key,
            &fresh_key(),
            &body,
        )
        .await;
        assert_eq!(status, 200);
        assert_eq!(reply["message_key"], "entered");
    }
    assert_eq!(secrets.calls(), 2);
}

#[tokio::test]
async fn codes_without_the_secret_are_unavailable_and_leave_nothing() {
    let service = Service::shared();
    let (campaign, secrets) = (TestCampaign::plain().await, Interceptor::default());
    secrets.deny(true);
    let enter = start::<CreateSubmission>(&service, &secrets).await;
    let check = start::<CheckCode>(&service, &secrets).await;
    let attempt = fresh_key();
    let (body, check_body) = (
        body(&phone(1), &campaign.code(1)),
        json!({ "code": campaign.code(1) }),
    );
    for _ in 0..2 {
        let (status, reply) = post(
            &enter,
            "/api/v1/submissions",
            &campaign.live_key,
            &attempt,
            &body,
        )
        .await;
        assert_eq!(status, 503);
        assert_eq!(reply["error"]["code"], "service_unavailable");
        let fix = text_of(&reply["error"]["fix"]);
        assert_contains!(
            fix,
            "then send the same request again, with the same Idempotency-Key"
        );
        let (status, reply) = post(
            &check,
            "/api/v1/codes/check",
            &campaign.live_key,
            "",
            &check_body,
        )
        .await;
        assert_eq!(status, 503);
        assert_eq!(reply["error"]["code"], "service_unavailable");
    }
    assert!(
        service.holds(&campaign.live_scope()).await.is_empty(),
        "nothing is left behind"
    );
    let lookup = campaign
        .live("POST", "/api/v1/submissions/lookup")
        .json(&json!({ "phone": phone(1) }));
    assert_eq!(lookup.send().await.field("submissions"), json!([]));

    secrets.deny(false);
    let (status, reply) = post(
        &enter,
        "/api/v1/submissions",
        &campaign.live_key,
        &attempt,
        &body,
    )
    .await;
    assert_eq!(
        (status, &reply["message_key"]),
        (200, &json!("entered")),
        "the same request, without a new start"
    );
    let (status, reply) = post(
        &check,
        "/api/v1/codes/check",
        &campaign.live_key,
        "",
        &check_body,
    )
    .await;
    assert_eq!(status, 200);
    assert_eq!(reply["precheck"], "already_used");
}

#[tokio::test]
async fn lookups_without_the_secret_use_up_no_limit() {
    let service = Service::shared();
    let (campaign, secrets) = (TestCampaign::plain().await, Interceptor::default());
    assert_eq!(
        campaign.outcome(&phone(1), &campaign.code(1)).await,
        "entered"
    );
    secrets.deny(true);
    let lookup = start::<LookupSubmissions>(&service, &secrets).await;
    let (path, body) = ("/api/v1/submissions/lookup", json!({ "phone": phone(1) }));
    // More than a phone's five.
    for _ in 0..6 {
        let (status, reply) = post(&lookup, path, &campaign.test_key, "", &body).await;
        assert_eq!(status, 503);
        assert_eq!(reply["error"]["code"], "service_unavailable");
    }
    secrets.deny(false);
    let (status, reply) = post(&lookup, path, &campaign.test_key, "", &body).await;
    assert_eq!(
        (status, &reply["total_entries"]),
        (200, &json!(1)),
        "{reply}"
    );
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
    assert_eq!(
        cause,
        "its keys are encrypted under another secret than the deployment's"
    );
    let elsewhere = TestCampaign {
        service: other,
        ..campaign.clone()
    };
    let reply = elsewhere.submit(&phone(1), &campaign.code(1)).await;
    assert_eq!(
        (reply.status.as_u16(), reply.error_code()),
        (503, "service_unavailable".to_owned())
    );
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
    assert_eq!(
        restored.outcome(&phone(1), &campaign.code(1)).await,
        "entered"
    );
    assert_eq!(
        campaign.outcome(&phone(2), &campaign.code(1)).await,
        "already_used"
    );
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
    let sending = request("POST", format!("{}/api/v1/submissions", other.base_url));
    let sending = sending.header("authorization", format!("Bearer {}", campaign.test_key));
    let sending = sending.header("idempotency-key", fresh_key());
    let refused = sending.json(&body(&phone(1), "TEST-0-VALID")).send().await;
    assert_eq!(
        (refused.status.as_u16(), refused.error_code()),
        (503, "service_unavailable".to_owned())
    );
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
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
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
