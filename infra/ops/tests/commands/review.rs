//! `ops submission list` and `show` for waiting receipts.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use common::aws::photos;
use common::domain::receipt::payload::{ReceiptTime, VerificationCode};
use common::domain::receipt::photo::{PhotoType, StoredPhoto};
use common::domain::receipt::{Receipt, Source};
use common::domain::retry::LookupFailures;
use common::domain::settling::{Anomaly, PendingSettlement, Progress};
use common::domain::submission::{Submission, SubmissionStatus};
use common::random;
use serde_json::{Value, json};
use service_tests::text::{fields, text_of};

use crate::reviewing::upload;
use crate::submission::{submission, waiting, write};
use crate::support::{NOW, Stack, run};

pub(crate) const CODE: &str = "AB12CD3456";

pub(crate) fn photo(qr_payload: Option<&str>) -> Source {
    let qr_payload = qr_payload.map(str::to_owned);
    Source::Photo {
        content_type: PhotoType::Jpeg,
        size_bytes: 7,
        qr_payload,
    }
}

pub(crate) fn typed() -> Source {
    Source::Typed {
        code: CODE.to_owned(),
        time: ReceiptTime::from_typed("10:15:30").expect("a time"),
    }
}

/// Writes a submission whose receipt waits; `changed` adjusts it.
pub(crate) async fn with_receipt(
    stack: &Stack,
    source: Source,
    changed: impl FnOnce(Submission) -> Submission,
) -> Submission {
    let arrived = matches!(source, Source::Photo { .. }).then_some(StoredPhoto {
        bytes: 7,
        photo_type: Some(PhotoType::Jpeg),
        seen_at: NOW,
    });
    with_arrived(stack, source, arrived, changed).await
}

async fn with_arrived(
    stack: &Stack,
    source: Source,
    arrived: Option<StoredPhoto>,
    changed: impl FnOnce(Submission) -> Submission,
) -> Submission {
    let receipt_id = random::receipt_id();
    let submission = changed(Submission {
        receipt_id: Some(receipt_id),
        ..submission(waiting(), None)
    });
    let receipt = Receipt {
        receipt_id,
        scope: submission.scope.clone(),
        source,
        arrived,
        attached_to: None,
        created_at: NOW,
    };
    let tables = stack.tables();
    assert!(
        tables
            .store
            .receipts()
            .create(&receipt, None)
            .await
            .expect("it answers")
            .is_none()
    );
    write(stack, &submission, None).await;
    submission
}

pub(crate) fn as_it_is(submission: Submission) -> Submission {
    submission
}

pub(crate) fn code() -> VerificationCode {
    CODE.parse().expect("a code")
}

/// `submission show` as JSON, and as text with single spaces.
pub(crate) async fn shown_with(
    stack: &Stack,
    submission: &Submission,
    options: &str,
) -> (Value, String) {
    let show = format!("submission show {} {options}", submission.submission_id);
    let json = stack.json(&show).await["submissions"][0].take();
    let text = stack.fine(&show).await;
    let words: Vec<_> = text.split(' ').filter(|word| !word.is_empty()).collect();
    (json, words.join(" "))
}

#[tokio::test]
async fn unsettled_are_listed_longest_waiting_first_with_assignee() {
    let stack = Stack::with_chai().await;
    let hours_ago = |hours: i64| {
        common::domain::timestamp::Timestamp::from_millis(NOW.as_millis() - hours * 3_600_000)
    };
    let person = |hours, reason: &'static str| {
        move |submission: Submission| Submission {
            settling: Some(PendingSettlement::due_at(NOW, None).escalate(hours_ago(hours))),
            reasons: vec![reason.to_owned()],
            ..submission
        }
    };
    let later = with_receipt(&stack, photo(None), person(1, "no_product_matched")).await;
    let sooner = with_receipt(&stack, photo(None), person(2, "photo_missing")).await;
    let failures = LookupFailures {
        missing: 1,
        ..LookupFailures::default()
    };
    let pending = PendingSettlement {
        progress: Progress::TaxAuthority(failures),
        ..PendingSettlement::due_at(NOW, None).retry_at(NOW.after(Duration::from_secs(15 * 60)))
    };
    let asking = with_receipt(&stack, typed(), |submission| Submission {
        status: SubmissionStatus::receipt_received(),
        settling: Some(pending),
        ..submission
    });
    let asking = asking.await;
    write(
        &stack,
        &submission(SubmissionStatus::accepted(1, None), None),
        None,
    )
    .await;

    let list = "submission list --campaign chai-bora-2026 --unsettled";
    let listed = stack.json(&list).await["submissions"].clone();
    let ids: Vec<_> = listed
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["id"].clone())
        .collect();
    assert_eq!(
        ids,
        [&sooner, &later, &asking].map(|one| json!(one.submission_id))
    );
    insta::assert_snapshot!(format!("{:#}", listed[0]["settling"]), @r#"
    {
      "anomaly": null,
      "assignee": "operator",
      "lookup_failures": {
        "missing": 0,
        "throttled": 0,
        "trouble": 0,
        "unanswered_since": null
      },
      "lookups": null,
      "next_step_at": null,
      "partner": {
        "attempts": 0,
        "may_have_redeemed": false,
        "unanswered_since": null
      },
      "prize": null,
      "under_way": false,
      "waiting_since": "2026-02-28T22:00:00.000Z"
    }
    "#);
    assert_eq!(
        fields(
            &listed[2]["settling"],
            "next_step_at lookup_failures.missing"
        ),
        "2026-03-01T00:15:00.000Z 1"
    );
    let text = stack.fine(&list).await;
    // Without the columns of reference and id.
    let rows: Vec<_> = text.lines().filter_map(|line| line.get(49..)).collect();
    assert_eq!(
        rows,
        [
            "STATE    ASSIGNEE  NEXT STEP            WAITS SINCE          REASONS             FAILED LOOKUPS  ANOMALY  PROPOSED BY",
            "pending  operator  -                    2026-03-01 01:00:00  photo_missing       -               -        -",
            "pending  operator  -                    2026-03-01 02:00:00  no_product_matched  -               -        -",
            "pending  service   2026-03-01 03:15:00  -                                        missing x 1     -        -",
        ]
    );
    let ended = stack.run(format!("{list} --limit 1")).await;
    assert_eq!(
        ended.err,
        "2 more are not settled; --limit shows more of them\n"
    );
}

#[tokio::test]
async fn a_photo_is_shown_by_a_link_that_gives_its_bytes() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, photo(None), as_it_is).await;
    let bytes = b"\xff\xd8\xffjpeg";
    upload(&stack, &waiting, bytes.to_vec()).await;

    let (json, text) = shown_with(&stack, &waiting, "").await;
    assert_eq!(json["receipt_source"]["link"], Value::Null);
    assert_contains!(text, "photo_link hidden; --show-photo links to it\n");
    let (json, text) = shown_with(&stack, &waiting, "--show-photo").await;
    let source = &json["receipt_source"];
    let names = "type link.expires_at arrived.bytes arrived.content_type arrived.seen_at";
    assert_eq!(
        fields(source, names),
        "photo 2026-03-01T00:10:00.000Z 7 image/jpeg 2026-03-01T00:00:00.000Z"
    );
    let url = text_of(&source["link"]["url"]).to_owned();
    assert_contains!(url, "X-Amz-Expires=600&");
    assert_contains!(
        text,
        "link_expires_at 2026-03-01 03:10:00 Africa/Dar_es_Salaam\n"
    );
    let printed = text
        .lines()
        .find_map(|line| line.strip_prefix("photo_link"))
        .expect("a link")
        .trim();
    for url in [url.as_str(), printed] {
        let (head, body) = get(url).await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert_eq!(body, bytes);
    }
    let unsigned = url.split('?').next().expect("a path");
    assert!(
        get(unsigned).await.0.starts_with("HTTP/1.1 403"),
        "the signature opens it"
    );
}

#[tokio::test]
async fn a_photo_that_has_not_arrived_has_no_link() {
    let stack = Stack::with_chai().await;
    let waiting = with_arrived(&stack, photo(None), None, as_it_is).await;
    let (json, _) = shown_with(&stack, &waiting, "--show-photo").await;
    assert_eq!(fields(&json["receipt_source"], "arrived link"), "null null");
}

async fn get(url: &str) -> (String, Vec<u8>) {
    let (host, path) = url
        .strip_prefix("http://")
        .and_then(|url| url.split_once('/'))
        .expect("an address");
    let (host, path) = (host.to_owned(), path.to_owned());
    let reply = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(&host).expect("it is there");
        write!(
            stream,
            "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )
        .expect("it listens");
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).expect("it answers");
        reply
    });
    let reply = reply.await.expect("it ends");
    let end = reply
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .expect("a head");
    let (head, body) = reply.split_at(end + 4);
    (String::from_utf8_lossy(head).into_owned(), body.to_vec())
}

#[tokio::test]
async fn the_bucket_is_asked_for_only_where_there_is_a_photo_to_show() {
    let stack = Stack::with_chai().await;
    let env = stack.env_with(&[(photos::VARIABLE, "")]);
    for (source, code) in [
        (typed(), ops_core::EXIT_OK),
        (photo(None), ops_core::EXIT_FAILURE),
    ] {
        let waiting = with_receipt(&stack, source, as_it_is).await;
        let show = format!("submission show {} --show-photo", waiting.submission_id);
        let ended = run(&show, env.clone(), &stack.clock).await;
        assert_eq!(ended.code, code, "{}", ended.err);
        let is_named = ended.err.contains(photos::VARIABLE);
        assert_eq!(is_named, code == ops_core::EXIT_FAILURE, "{}", ended.err);
    }
}

#[tokio::test]
async fn a_receipts_secrets_are_shown_only_when_asked_for() {
    let stack = Stack::with_chai().await;
    let known = |submission| Submission {
        purchase: Some(code()),
        ..submission
    };
    let payload = format!("https://verify.tra.go.tz/{CODE}_101530");
    for source in [typed(), photo(Some(&payload))] {
        let waiting = with_receipt(&stack, source, known).await;
        let (json, text) = shown_with(&stack, &waiting, "").await;
        let both = format!("{json}{text}");
        assert_lacks!(both, CODE, "10:15:30", "101530");
        assert_contains!(text, "hidden; --show-receipt shows it");
        assert_eq!(json["purchase_known"], true);
        let (json, text) = shown_with(&stack, &waiting, "--show-receipt").await;
        assert_eq!(json["purchase"], CODE);
        let source = &json["receipt_source"];
        if source["type"] == "typed" {
            assert_eq!(fields(source, "code time"), format!("{CODE} 10:15:30"));
            assert_contains!(text, "receipt_time 10:15:30\n");
        } else {
            let expected = format!("{payload} true");
            assert_eq!(fields(source, "qr_payload has_qr_payload"), expected);
            assert_contains!(text, payload);
        }
    }
    let list = "submission list --campaign chai-bora-2026 --unsettled";
    let both = format!("{}{}", stack.json(&list).await, stack.fine(&list).await);
    assert_lacks!(both, CODE);
}

#[tokio::test]
async fn what_the_authority_said_instead_is_shown_only_when_asked_for() {
    let stack = Stack::with_chai().await;
    let surprised = |submission: Submission| {
        let anomaly = Anomaly {
            summary: "no TIN".to_owned(),
            excerpt: Some(format!("Receipt {CODE}")),
        };
        let settling = submission
            .settling
            .clone()
            .map(|settling| PendingSettlement {
                anomaly: Some(anomaly),
                ..settling
            });
        Submission {
            settling,
            ..submission
        }
    };
    let waiting = with_receipt(&stack, typed(), surprised).await;
    let (json, text) = shown_with(&stack, &waiting, "").await;
    assert_eq!(json["settling"]["anomaly"], "no TIN");
    assert_contains!(text, "no TIN");
    assert_lacks!(format!("{json}{text}{waiting:?}"), CODE);
    let (json, text) = shown_with(&stack, &waiting, "--show-receipt").await;
    assert_contains!(text, CODE);
    assert_contains!(text_of(&json["anomaly_said"]), CODE);
}

#[tokio::test]
async fn what_waits_for_a_person_can_be_given_back_to_the_service() {
    let stack = Stack::with_chai().await;
    let escalate = |submission: Submission| {
        let settling = submission
            .settling
            .as_ref()
            .map(|settling| settling.escalate(stack.clock.now()));
        Submission {
            settling,
            ..submission
        }
    };
    let waiting = with_receipt(&stack, typed(), escalate).await;
    let resume = format!("submission resume {}", waiting.submission_id);
    let resumed = stack.json(&resume).await;
    assert_eq!(resumed["submissions"][0]["settling"]["assignee"], "service");
    let again = stack.run(&resume).await.failed();
    assert_contains!(again, "works on the submission already");
}
