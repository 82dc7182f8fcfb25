//! The sample events: every file, in the shape that API Gateway, storage, the queue or the schedule sends,
//! through the function it is named after.

use std::path::PathBuf;

use common::background::{Background, EventFunction};
use common::clock::Clock;
use common::domain::receipt::rules::ReceiptRules;
use common::http::event::{HttpEvent, HttpReply};
use common::http::function::{Frame, Function, HttpFunction, Setup};
use common::telemetry::Telemetry;
use mark_receipt_uploaded::MarkReceiptUploaded;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use service_tests::campaign::TestCampaign;
use service_tests::receipts::rules;
use settle_submission::SettleSubmission;
use sweep_unsettled::SweepUnsettled;

/// The status of each event's reply, and what shows that it is the right one.
const EXPECTED: [(&str, u16, &str, &str); 17] = [
    ("check-code.json", 200, "/precheck", "valid"),
    ("check-code-without-code.json", 422, "/error/field", "code"),
    ("create-receipt.json", 200, "/state", "awaiting_upload"),
    ("create-receipt-too-large.json", 413, "/error/code", "file_too_large"),
    ("create-receipt-typed.json", 200, "/state", "uploaded"),
    ("create-submission.json", 200, "/message_key", "entered"),
    ("create-submission-without-consent.json", 422, "/error/code", "consent_required"),
    ("fallback-errors-page.json", 200, "", ""),
    ("fallback-unknown-path.json", 404, "/error/code", "not_found"),
    ("fallback-wrong-method.json", 405, "/error/code", "method_not_allowed"),
    ("get-campaign.json", 200, "/status", "live"),
    ("get-campaign-without-key.json", 401, "/error/code", "key_missing"),
    ("get-receipt-not-found.json", 404, "/error/code", "not_found"),
    ("get-submission-not-found.json", 404, "/error/code", "not_found"),
    ("lookup-submissions.json", 200, "/timezone", "Africa/Dar_es_Salaam"),
    ("lookup-submissions-wrong-phone.json", 422, "/error/code", "phone_invalid"),
    ("refresh-upload-url-not-found.json", 404, "/error/code", "not_found"),
];

/// The events that no caller waits for.
const OF_THE_BACKGROUND: [&str; 5] = [
    "mark-receipt-uploaded-gone.json",
    "mark-receipt-uploaded-unknown-key.json",
    "settle-submission.json",
    "settle-submission-no-hint.json",
    "sweep-unsettled.json",
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../events")
}

fn read<T: DeserializeOwned>(file: &str) -> T {
    let text = std::fs::read_to_string(folder().join(file)).expect("the file");
    serde_json::from_str(&text).expect("an event")
}

/// The event with the key of a campaign that exists, where it has one.
fn event(file: &str, key: &str) -> HttpEvent {
    let mut event: Value = read(file);
    if let Some(authorization) = event.pointer_mut("/headers/authorization") {
        *authorization = json!(format!("Bearer {key}"));
    }
    serde_json::from_value(event).expect("an event of API Gateway")
}

async fn answer(file: &str, setup: &Setup, frame: Frame, key: &str) -> HttpReply {
    let event = event(file, key);
    let setup = setup.clone();
    let connected = "the stack sets every variable";
    match file {
        name if name.starts_with("check-code") => {
            Function::<check_code::CheckCode>::new(setup).expect(connected).answer(event).await
        }
        name if name.starts_with("create-receipt") => {
            Function::<create_receipt::CreateReceipt>::new(setup).expect(connected).answer(event).await
        }
        name if name.starts_with("get-receipt") => {
            Function::<get_receipt::GetReceipt>::new(setup).expect(connected).answer(event).await
        }
        name if name.starts_with("refresh-upload-url") => {
            Function::<refresh_upload_url::RefreshUploadUrl>::new(setup).expect(connected).answer(event).await
        }
        name if name.starts_with("create-submission") => {
            Function::<create_submission::CreateSubmission>::new(setup).expect(connected).answer(event).await
        }
        name if name.starts_with("get-campaign") => {
            Function::<get_campaign::GetCampaign>::new(setup).expect(connected).answer(event).await
        }
        name if name.starts_with("get-submission") => {
            Function::<get_submission::GetSubmission>::new(setup).expect(connected).answer(event).await
        }
        name if name.starts_with("lookup-submissions") => {
            Function::<lookup_submissions::LookupSubmissions>::new(setup)
                .expect(connected)
                .answer(event)
                .await
        }
        name if name.starts_with("fallback") => fallback::Fallback::new(frame).answer(event).await,
        other => panic!("{other} is named after no function"),
    }
}

#[tokio::test]
async fn every_sample_event_gets_its_reply() {
    // A code is enough, a receipt may come along.
    let campaign = TestCampaign::with(|campaign| {
        campaign.receipt = Some(ReceiptRules { required: false, ..rules() });
    })
    .await;
    let env = campaign.service.env.clone();
    let frame =
        Frame::from_env(&env, Clock::system(), Telemetry::Off).expect("the stack sets every variable");
    let setup = Setup::new(env, frame.clone()).expect("the stack sets every variable");
    for (file, status, pointer, value) in EXPECTED {
        let reply = answer(file, &setup, frame.clone(), &campaign.test_key).await;
        assert_eq!(reply.status_code, status, "{file}: {}", reply.body);
        if !pointer.is_empty() {
            let body: Value = serde_json::from_str(&reply.body).expect("JSON");
            assert_eq!(body.pointer(pointer), Some(&json!(value)), "{file}: {}", reply.body);
        }
    }
}

#[tokio::test]
async fn the_events_of_the_background_are_taken() {
    let env = TestCampaign::plain().await.service.env;
    let background =
        Background::new(env, Clock::system(), Telemetry::Off).expect("the stack sets every variable");
    let marker = MarkReceiptUploaded::connect(&background).expect("the stack sets every variable");
    let settler = SettleSubmission::connect(&background).expect("the stack sets every variable");
    let sweeper = SweepUnsettled::connect(&background).expect("the stack sets every variable");
    for file in OF_THE_BACKGROUND {
        match file {
            name if name.starts_with("mark-receipt-uploaded") => {
                marker.handle(read(file)).await.expect("no record fails");
            }
            name if name.starts_with("settle-submission") => {
                let failed = settler.handle(read(file)).await.expect("a reply").batch_item_failures.len();
                assert_eq!(failed, usize::from(name.contains("no-hint")), "{file}");
            }
            _ => sweeper.handle(read(file)).await.expect("it sweeps"),
        }
    }
}

#[test]
fn no_sample_event_is_left_out() {
    let mut files: Vec<String> = std::fs::read_dir(folder())
        .expect("the folder")
        .map(|entry| entry.expect("a file").file_name().into_string().expect("text"))
        .collect();
    files.sort();
    let waited_for = EXPECTED.iter().map(|(file, ..)| *file);
    let mut expected: Vec<_> = waited_for.chain(OF_THE_BACKGROUND).map(str::to_owned).collect();
    expected.sort();
    assert_eq!(files, expected);
}
