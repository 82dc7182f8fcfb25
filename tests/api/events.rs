//! Every sample event through its function.

use std::collections::BTreeMap;
use std::path::PathBuf;

use common::app::job::EventContext;
use common::clock::Clock;
use common::config::Env;
use common::http::routes::{ROUTES, Route};
use common::runtime::event_handler::EventHandler;
use common::runtime::http_handler::{ApiHandler, AppContext, Endpoint, HttpHandler, Responder};
use common::telemetry::Telemetry;
use count_changes::CountChanges;
use deliver_events::DeliverEvents;
use local::demo::samples;
use mark_receipt_uploaded::MarkReceiptUploaded;
use publish_events::PublishEvents;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use service_tests::event;
use service_tests::service::Service;
use service_tests::text::{parse_json, text_of};
use settle_partners::SettlePartners;
use settle_receipts::SettleReceipts;
use sweep_unsettled::SweepUnsettled;
use tokio::sync::OnceCell;

/// Expected answers by event file.
const EXPECTED: &str = "expected.json";

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../events")
}

fn read<T: DeserializeOwned>(file: &str) -> T {
    let text = std::fs::read_to_string(folder().join(file)).expect("the file");
    serde_json::from_str(&text).expect("an event")
}

fn expected(of: impl Fn(&str) -> bool) -> Vec<(String, Value)> {
    let all: BTreeMap<String, Value> = read(EXPECTED);
    all.into_iter().filter(|(file, _)| of(file)).collect()
}

fn is_of_the_background(file: &str) -> bool {
    [
        "count-changes",
        "deliver-events",
        "mark-receipt-uploaded",
        "publish-events",
        "settle-",
        "sweep-unsettled",
    ]
    .iter()
    .any(|name| file.starts_with(name))
}

/// The variables of the shared stack, with the sample records loaded.
async fn env() -> Env {
    static LOADED: OnceCell<()> = OnceCell::const_new();
    let service = Service::shared();
    LOADED
        .get_or_init(async || {
            samples::load(&service.env, &service.clock)
                .await
                .expect("the samples")
        })
        .await;
    service.env
}

fn function<O: Endpoint>(context: &AppContext) -> Box<dyn HttpHandler> {
    Box::new(ApiHandler::<O>::new(context.clone()).expect("the stack sets every variable"))
}

async fn answer(file: &str, context: &AppContext, responder: Responder) -> Value {
    let function: Box<dyn HttpHandler> = match file {
        name if name.starts_with("check-code") => function::<check_code::CheckCode>(context),
        name if name.starts_with("create-receipt") => {
            function::<create_receipt::CreateReceipt>(context)
        }
        name if name.starts_with("get-receipt") => function::<get_receipt::GetReceipt>(context),
        name if name.starts_with("refresh-upload-url") => {
            function::<refresh_upload_url::RefreshUploadUrl>(context)
        }
        name if name.starts_with("create-submission") => {
            function::<create_submission::CreateSubmission>(context)
        }
        name if name.starts_with("get-campaign") => function::<get_campaign::GetCampaign>(context),
        name if name.starts_with("get-submission") => {
            function::<get_submission::GetSubmission>(context)
        }
        name if name.starts_with("lookup-submissions") => {
            function::<lookup_submissions::LookupSubmissions>(context)
        }
        name if name.starts_with("api-docs") => Box::new(api_docs::ApiDocs::new(responder)),
        other => panic!("{other} is named after no function"),
    };
    event::answer(&*function, &read(file)).await
}

#[tokio::test]
async fn every_sample_event_gets_its_reply() {
    let env = env().await;
    let responder = Responder::from_env(&env, Clock::system(), Telemetry::Off)
        .expect("the stack sets every variable");
    let context = AppContext::new(env, responder.clone()).expect("the stack sets every variable");
    for (file, expected) in expected(|file| !is_of_the_background(file)) {
        let reply = answer(&file, &context, responder.clone()).await;
        assert_eq!(
            reply["statusCode"], expected["statusCode"],
            "{file}: {reply}"
        );
        for (pointer, value) in expected["body"].as_object().expect("pointers") {
            let body = text_of(&reply["body"]);
            let body = parse_json(body);
            assert_eq!(body.pointer(pointer), Some(value), "{file}: {reply}");
        }
    }
}

#[tokio::test]
async fn the_events_of_the_background_are_taken() {
    let background = EventContext::new(env().await, Clock::system(), Telemetry::Off)
        .expect("the stack sets every variable");
    let counter = CountChanges::connect(&background).expect("the stack sets every variable");
    let marker = MarkReceiptUploaded::connect(&background).expect("the stack sets every variable");
    let receipts = SettleReceipts::connect(&background).expect("the stack sets every variable");
    let partners = SettlePartners::connect(&background).expect("the stack sets every variable");
    let sweeper = SweepUnsettled::connect(&background).expect("the stack sets every variable");
    let publisher = PublishEvents::connect(&background).expect("the stack sets every variable");
    let deliverer = DeliverEvents::connect(&background).expect("the stack sets every variable");
    for (file, expected) in expected(is_of_the_background) {
        let reply = match file.as_str() {
            name if name.starts_with("count-changes") => {
                json!(counter.handle(read(name)).await.expect("a reply"))
            }
            name if name.starts_with("mark-receipt-uploaded") => {
                json!(marker.handle(read(name)).await.expect("no record fails"))
            }
            name if name.starts_with("publish-events") => {
                json!(publisher.handle(read(name)).await.expect("a reply"))
            }
            name if name.starts_with("deliver-events") => {
                json!(deliverer.handle(read(name)).await.expect("a reply"))
            }
            name if name.starts_with("settle-receipts") => {
                json!(receipts.handle(read(name)).await.expect("a reply"))
            }
            name if name.starts_with("settle-partners") => {
                json!(partners.handle(read(name)).await.expect("a reply"))
            }
            name => json!(sweeper.handle(read(name)).await.expect("it sweeps")),
        };
        assert_eq!(reply, expected, "{file}");
    }
}

#[test]
fn every_event_of_the_api_came_by_the_route_of_its_function() {
    for (file, _) in expected(|file| !is_of_the_background(file)) {
        let event: Value = read(&file);
        let at = |pointer: &str| {
            event
                .pointer(pointer)
                .and_then(Value::as_str)
                .expect("text")
        };
        let path = at("/rawPath");
        assert_eq!(at("/requestContext/http/path"), path, "{file}");
        let came_by = |route: &&Route| {
            at("/requestContext/http/method") == route.method && route.matches(path).is_some()
        };
        let (key, function) = ROUTES
            .iter()
            .find(came_by)
            .map_or(("$default".to_owned(), "api-docs"), |route| {
                (format!("{} {}", route.method, route.path), route.function)
            });
        assert!(
            file.starts_with(function),
            "{file} came by the route of {function}"
        );
        assert_eq!(
            (at("/routeKey"), at("/requestContext/routeKey")),
            (&*key, &*key),
            "{file}"
        );
    }
}

#[test]
fn every_function_has_a_good_event_and_no_event_is_left_out() {
    let mut files: Vec<String> = std::fs::read_dir(folder())
        .expect("the folder")
        .map(|entry| {
            entry
                .expect("a file")
                .file_name()
                .into_string()
                .expect("text")
        })
        .filter(|file| file != EXPECTED)
        .collect();
    files.sort();
    let expected: Vec<_> = expected(|_| true)
        .into_iter()
        .map(|(file, _)| file)
        .collect();
    assert_eq!(files, expected);
    for function in std::fs::read_dir(folder().join("../functions")).expect("the functions") {
        let name = function
            .expect("a folder")
            .file_name()
            .into_string()
            .expect("text");
        let good = if name == "api-docs" {
            "api-docs-errors-page.json".to_owned()
        } else {
            format!("{name}.json")
        };
        assert!(files.contains(&good), "{name}");
    }
}
