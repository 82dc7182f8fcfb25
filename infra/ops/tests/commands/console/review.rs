//! The review screen.

use std::time::Duration;

use common::domain::retry::PartnerProgress;
use common::domain::settling::{PendingSettlement, Progress};
use common::domain::submission::{DeclaredItem, DeclaredPurchase, Submission, SubmissionStatus};
use common::random;
use common::store::review_locks::LOCK_LIFETIME;
use serde_json::{Value, json};

use super::{Served, SignedIn};
use crate::correction::by;
use crate::decision::prize::at_stake;
use crate::review::{CODE, as_it_is, code, photo, shown, typed, with_receipt};
use crate::reviewing::{photo_with_gps, upload};
use crate::submission::{submission, write};
use crate::support::{NOW, Stack};

const REVIEW: &str = "/campaigns/chai-bora-2026/live/review";

/// Opens a screen; returns its name.
async fn screen(operator: &SignedIn<'_>) -> String {
    let page = operator.page(REVIEW).await;
    let (_, rest) = page.split_once("data-screen=\"").expect("a screen");
    rest.split('"').next().expect("a name").to_owned()
}

/// Signs in, and opens a screen with the first submission.
async fn screen_with_first(console: &Served) -> (SignedIn<'_>, String) {
    let operator = console.sign_in().await;
    let screen = screen(&operator).await;
    send(&operator, &screen, "next", "").await;
    (operator, screen)
}

/// Sends a screen's form; returns status and body.
async fn send(operator: &SignedIn<'_>, screen: &str, path: &str, fields: &str) -> (u16, String) {
    let reply = operator
        .post(
            &format!("{REVIEW}/{path}"),
            &format!("screen={screen}&{fields}"),
        )
        .await;
    (reply.status.as_u16(), reply.text)
}

/// An answer about the submission as made.
fn answer_to(submission: &Submission, verdict: &str) -> String {
    let Submission {
        submission_id,
        revision,
        ..
    } = submission;
    format!("id={submission_id}&revision={revision}&second_look=false&{verdict}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answer_is_written_when_it_arrives() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, typed(), as_it_is).await;
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    let screen = screen(&operator).await;
    let (status, card) = send(&operator, &screen, "next", "").await;
    assert!(
        status == 200 && card.contains(&waiting.reference().to_string()),
        "{status} {card}"
    );
    let filled_in = format!("name=\"code\" value=\"{}\" required", code().as_str());
    assert!(
        card.contains(&filled_in),
        "the typed code is filled in: {card}"
    );
    assert_eq!(send(&operator, &screen, "next", "").await.0, 204);
    let accept = answer_to(&waiting, "verdict=accept&code=AB12CD3456&entries=1");
    assert_eq!(
        send(&operator, &screen, "answer", &accept).await,
        (204, String::new())
    );
    let (json, _) = shown(&stack, &waiting, &[]).await;
    assert_eq!(
        json!([json["state"], json["entries"]]),
        json!(["accepted", 1])
    );
    let (status, text) = send(&operator, &screen, "answer", &accept).await;
    assert!(
        status == 409 && text.contains("nothing was written"),
        "once: {status} {text}"
    );
    for (why, refusal) in [
        ("mistake", "ask a second person"),
        ("+", "The reason must be 1 to 500 characters"),
    ] {
        let own = format!("name={}&why={why}", waiting.reference());
        let (status, text) = send(&operator, &screen, "reopen", &own).await;
        assert_eq!((status, text.contains(refusal)), (422, true), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answer_of_a_closing_page_is_written() {
    let stack = Stack::with_chai().await;
    let answered = with_receipt(&stack, typed(), as_it_is).await;
    with_receipt(&stack, typed(), as_it_is).await;
    let (one, other) = (Served::start(&stack).await, Served::start(&stack).await);
    let (asha, of_asha) = screen_with_first(&one).await;
    send(&asha, &of_asha, "next", "").await;
    // A closing page sends in any order.
    let leave = format!("answered={}", answered.submission_id);
    assert_eq!(send(&asha, &of_asha, "leave", &leave).await.0, 204);
    let (juma, of_juma) = screen_with_first(&other).await;
    assert_eq!(
        send(&juma, &of_juma, "next", "").await.0,
        204,
        "only the other one is free"
    );
    let reject = answer_to(&answered, "verdict=reject&reason=receipt_unreadable");
    assert_eq!(send(&asha, &of_asha, "answer", &reject).await.0, 204);
    assert_eq!(
        shown(&stack, &answered, &[]).await.0["message_key"],
        "receipt_unreadable"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn held_answer_that_is_late_decides_nothing() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, typed(), as_it_is).await;
    let (one, other) = (Served::start(&stack).await, Served::start(&stack).await);
    let (asha, of_asha) = screen_with_first(&one).await;
    let juma = other.sign_in().await;
    let of_juma = screen(&juma).await;
    let reject = answer_to(&waiting, "verdict=reject&reason=receipt_unreadable");
    stack
        .clock
        .advance(LOCK_LIFETIME - Duration::from_millis(1));
    assert_eq!(
        send(&juma, &of_juma, "next", "").await.0,
        204,
        "a claim outlives the time that a page holds an answer"
    );
    stack.clock.advance(Duration::from_secs(30));
    assert_eq!(send(&juma, &of_juma, "next", "").await.0, 200);
    let (status, text) = send(&asha, &of_asha, "answer", &reject).await;
    assert!(
        status == 409 && text.contains("another reviewer has it"),
        "{status} {text}"
    );
    assert_eq!(shown(&stack, &waiting, &[]).await.0["state"], "pending");
    assert_eq!(send(&juma, &of_juma, "answer", &reject).await.0, 204);
    assert_eq!(send(&asha, &of_asha, "answer", &reject).await.0, 409);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conflict_names_the_submission_with_the_receipt() {
    let stack = Stack::with_chai().await;
    let first = with_receipt(&stack, typed(), as_it_is).await;
    let id = first.submission_id.to_string();
    let accept = [
        "submission",
        "settle",
        &id,
        "--accept",
        "--receipt-code",
        CODE,
        "--why",
        "seen",
    ];
    stack.fine(&accept).await;
    let second = with_receipt(&stack, photo(None), as_it_is).await;
    let console = Served::start(&stack).await;
    let (operator, screen) = screen_with_first(&console).await;
    let same = answer_to(&second, &format!("verdict=accept&code={CODE}&entries=1"));
    let (status, text) = send(&operator, &screen, "answer", &same).await;
    assert_eq!(status, 422, "it comes back");
    assert!(
        text.contains(&first.reference().to_string()) && text.contains("already used"),
        "{text}"
    );
    let reject = answer_to(&second, "verdict=reject&reason=receipt_already_used");
    assert_eq!(send(&operator, &screen, "answer", &reject).await.0, 204);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_keeps_the_rules_of_the_command_line() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, typed(), as_it_is).await;
    let console = Served::start(&stack).await;
    let (operator, screen) = screen_with_first(&console).await;
    for wrong in [
        "verdict=accept&entries=0",
        "verdict=accept&entries=10001",
        "verdict=accept&code=AB12CD3456&without=yes",
        "verdict=reject&reason=entered",
        "verdict=reject&reason=receipt_received",
        "verdict=maybe",
        "",
        "verdict=accept&revision=",
    ] {
        let (status, text) = send(&operator, &screen, "answer", &answer_to(&waiting, wrong)).await;
        assert_eq!(status, 422, "{wrong}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prize_is_shown_to_a_second_person_with_who_was_the_first() {
    let stack = Stack::with_chai().await;
    let waiting = at_stake(&stack).await;
    let id = waiting.submission_id.to_string();
    let accept = [
        "submission",
        "settle",
        &id,
        "--accept",
        "--receipt-code",
        CODE,
        "--why",
        "seen",
    ];
    assert_eq!(
        by(&stack, "juma", accept.to_vec()).await.code,
        ops_core::EXIT_OK
    );
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    let first = screen(&operator).await;
    let (status, card) = send(&operator, &first, "next", "").await;
    assert_eq!(status, 200, "{card}");
    assert!(
        card.contains("instant prize “A kettle”") && card.contains("juma accepted it at"),
        "{card}"
    );
    assert!(
        !card.contains(CODE),
        "the second person reads the code, too: {card}"
    );
    let (_, rest) = card.split_once("data-revision=\"").expect("a revision");
    let revision = rest.split('"').next().expect("a number");
    let other = format!(
        "id={id}&revision={revision}&second_look=false&verdict=accept&code={CODE}&entries=5"
    );
    let (status, text) = send(&operator, &first, "answer", &other).await;
    assert_eq!(
        (status, text.contains("waits for a second person")),
        (200, true),
        "{text}"
    );
    assert_eq!(send(&operator, &first, "next", "").await.0, 204);
    let second = by(&stack, "juma", [&accept[..], &["--entries", "5"]].concat()).await;
    assert_eq!(second.code, ops_core::EXIT_OK, "{}", second.err);
    assert_eq!(
        shown(&stack, &waiting, &[]).await.0["instant_win"],
        "A kettle"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_submission_of_a_partner_is_not_shown_as_a_receipt() {
    let stack = Stack::with_chai().await;
    let asked = PartnerProgress {
        attempts: 3,
        maybe_redeemed: true,
        ..PartnerProgress::default()
    };
    let settling = PendingSettlement {
        progress: Progress::Partner(asked),
        ..PendingSettlement::due_at(NOW, None).escalate(NOW)
    };
    let left = submission(random::submission_id(), SubmissionStatus::unknown(), None);
    let left = Submission {
        partner_code: "CODE".parse().ok(),
        settling: Some(settling),
        reasons: vec!["partner_unanswered".to_owned()],
        ..left
    };
    write(&stack, &left, None).await;
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    let screen = screen(&operator).await;
    let (status, card) = send(&operator, &screen, "next", "").await;
    assert_eq!(status, 200, "{card}");
    assert!(
        card.contains("asked 3 times") && card.contains("may have redeemed the code"),
        "{card}"
    );
    assert!(
        !card.contains("not checked") && !card.contains("data-reason"),
        "{card}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answer_that_cannot_be_written_says_why() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, photo(None), as_it_is).await;
    let console = Served::start(&stack).await;
    let (operator, screen) = screen_with_first(&console).await;
    let (status, text) = send(
        &operator,
        &screen,
        "answer",
        &answer_to(&waiting, "verdict=accept"),
    )
    .await;
    assert_eq!(status, 422);
    assert!(
        text.contains("Type the receipt's code, or tick") && !text.contains("--"),
        "{text}"
    );
    assert_eq!(shown(&stack, &waiting, &[]).await.0["state"], "pending");
    let (status, body) = send(&operator, &screen, "heartbeat", "").await;
    assert_eq!(status, 200, "{body}");
    let beat: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(beat["lost"], json!([]), "the page still has it");
    assert!(
        beat["progress"]
            .as_str()
            .expect("text")
            .starts_with("1 waiting, the oldest for"),
        "{beat}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_consoles_show_a_submission_to_one_of_them() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, typed(), as_it_is).await;
    let (one, other) = (Served::start(&stack).await, Served::start(&stack).await);
    let (asha, juma) = (one.sign_in().await, other.sign_in().await);
    let (of_asha, of_juma) = (screen(&asha).await, screen(&juma).await);
    assert_eq!(send(&asha, &of_asha, "next", "").await.0, 200);
    assert_eq!(send(&juma, &of_juma, "next", "").await.0, 204);
    let answer = answer_to(&waiting, "verdict=reject&reason=receipt_unreadable");
    assert_eq!(
        send(&juma, &of_juma, "answer", &answer).await.0,
        409,
        "it is another's"
    );
    assert_eq!(send(&asha, &of_asha, "leave", "").await.0, 204);
    stack.clock.advance(Duration::from_secs(30));
    assert_eq!(send(&juma, &of_juma, "next", "").await.0, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumers_text_is_only_text_and_a_photo_only_pixels() {
    let stack = Stack::with_chai().await;
    let hostile = "<script>alert(1)</script>\"><img src=x onerror=alert(2)>";
    let waiting = with_receipt(&stack, photo(None), |submission| Submission {
        region: Some(hostile.to_owned()),
        claimed: Some(DeclaredPurchase {
            items: vec![DeclaredItem {
                key: hostile.to_owned(),
                qty: 1,
            }],
            branch: Some(hostile.to_owned()),
        }),
        reasons: vec![hostile.to_owned()],
        ..submission
    });
    let waiting = waiting.await;
    upload(&stack, &waiting, photo_with_gps()).await;
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    let screen = screen(&operator).await;
    let (status, card) = send(&operator, &screen, "next", "").await;
    assert_eq!(status, 200, "{card}");
    assert!(card.matches("&lt;script&gt;").count() >= 4, "{card}");
    assert!(card.contains("(no product of the campaign)"), "{card}");
    assert!(
        !card.contains("<script") && !card.contains("<img src=x"),
        "{card}"
    );
    let path = format!("{REVIEW}/photo/{screen}/{}", waiting.submission_id);
    let reply = operator.ask("HEAD", &path).send().await;
    assert_eq!(
        (reply.status.as_u16(), &reply.headers["content-type"]),
        (200, &"image/png".parse().expect("text"))
    );
    let other = format!("{REVIEW}/photo/{screen}/{}", random::submission_id());
    assert_eq!(operator.ask("GET", &other).send().await.status, 404);
}
