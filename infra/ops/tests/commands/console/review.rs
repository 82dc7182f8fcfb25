//! The review screen.

use std::time::Duration;

use common::domain::retry::PartnerProgress;
use common::domain::settling::{PendingSettlement, Progress};
use common::domain::submission::{Claimed, ClaimedItem, Submission, SubmissionStatus};
use common::random;
use serde_json::{Value, json};

use super::{Served, SignedIn};
use crate::correction::by;
use crate::decision::prize::at_stake;
use crate::review::{CODE, as_it_is, code, photo, shown, typed, with_receipt};
use crate::reviewing::{photo_with_gps, upload};
use crate::submission::{submission, write};
use crate::support::{NOW, Stack};

const REVIEW: &str = "/campaigns/chai-bora-2026/live/review";

/// Opens a screen, and returns its name.
async fn screen(operator: &SignedIn<'_>) -> String {
    let page = operator.page(REVIEW).await;
    let (_, rest) = page.split_once("data-screen=\"").expect("a screen");
    rest.split('"').next().expect("a name").to_owned()
}

/// Signs in and opens a screen that shows the first submission.
async fn screen_with_first(console: &Served) -> (SignedIn<'_>, String) {
    let operator = console.sign_in().await;
    let screen = screen(&operator).await;
    send(&operator, &screen, "next", "").await;
    (operator, screen)
}

/// Sends a form of the screen, and returns status and body.
async fn send(operator: &SignedIn<'_>, screen: &str, path: &str, fields: &str) -> (u16, String) {
    let reply = operator.post(&format!("{REVIEW}/{path}"), &format!("screen={screen}&{fields}")).await;
    (reply.status.as_u16(), reply.text)
}

/// Waits until a submission is settled, and returns it.
async fn settled(stack: &Stack, submission: &Submission) -> Value {
    loop {
        let (json, _) = shown(stack, submission, &[]).await;
        if json["state"] != "pending" {
            return json;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_can_be_taken_back_for_eight_seconds_and_is_then_written() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, typed(), as_it_is).await;
    let id = format!("id={}", waiting.submission_id);
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    let screen = screen(&operator).await;
    let (status, card) = send(&operator, &screen, "next", "").await;
    assert!(status == 200 && card.contains(&waiting.reference().to_string()), "{status} {card}");
    assert!(
        card.contains(&format!("data-code=\"{}\"", code().as_str())),
        "the typed code is filled in: {card}"
    );
    assert_eq!(send(&operator, &screen, "next", "").await.0, 204);
    let reject = format!("{id}&verdict=reject&reason=receipt_wrong_store");
    assert_eq!(send(&operator, &screen, "answer", &reject).await, (204, String::new()));
    assert_eq!(send(&operator, &screen, "undo", &id).await, (204, String::new()));
    let accept = format!("{id}&verdict=accept&code=AB12CD3456&entries=1");
    assert_eq!(send(&operator, &screen, "answer", &accept).await, (204, String::new()));
    assert_eq!(shown(&stack, &waiting, &[]).await.0["state"], "pending", "it is held");
    stack.clock.advance(Duration::from_secs(8));
    let json = settled(&stack, &waiting).await;
    assert_eq!((&json["state"], &json["entries"]), (&json!("accepted"), &json!(1)));
    let (status, text) = send(&operator, &screen, "undo", &id).await;
    assert_eq!(status, 409, "{text}");
    let own = format!("name={}&why=mistake", waiting.reference());
    let (status, text) = send(&operator, &screen, "reopen", &own).await;
    assert_eq!((status, text.contains("ask a second person")), (422, true), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_written_when_the_console_ends() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, typed(), as_it_is).await;
    let console = Served::start(&stack).await;
    let (operator, screen) = screen_with_first(&console).await;
    let reject = format!("id={}&verdict=reject&reason=receipt_unreadable", waiting.submission_id);
    assert_eq!(send(&operator, &screen, "answer", &reject).await.0, 204);
    console.stop().await.expect("it is written");
    assert_eq!(shown(&stack, &waiting, &[]).await.0["message_key"], "receipt_unreadable");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_waits_for_an_answer_that_is_being_written() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, typed(), as_it_is).await;
    let console = Served::start(&stack).await;
    let (operator, screen) = screen_with_first(&console).await;
    let id = format!("id={}", waiting.submission_id);
    let reject = format!("{id}&verdict=reject&reason=receipt_unreadable");
    assert_eq!(send(&operator, &screen, "answer", &reject).await.0, 204);
    stack.clock.advance(Duration::from_secs(8));
    // Once it cannot be taken back, it is being written.
    while send(&operator, &screen, "undo", &id).await.0 == 204 {
        assert_eq!(send(&operator, &screen, "answer", &reject).await.0, 204);
        stack.clock.advance(Duration::from_secs(8));
    }
    console.stop().await.expect("it is written");
    assert_eq!(shown(&stack, &waiting, &[]).await.0["message_key"], "receipt_unreadable");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_could_not_be_written_at_the_end_is_said() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, photo(None), as_it_is).await;
    let console = Served::start(&stack).await;
    let (operator, screen) = screen_with_first(&console).await;
    let accept = format!("id={}&verdict=accept", waiting.submission_id);
    assert_eq!(send(&operator, &screen, "answer", &accept).await.0, 204);
    let failure = console.stop().await.expect_err("its code is not known");
    let reference = waiting.reference().to_string();
    assert!(
        failure.message.contains(&reference) && failure.message.contains("1 of your answers"),
        "{failure}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_was_reloaded_is_told_what_was_not_written() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, photo(None), as_it_is).await;
    let console = Served::start(&stack).await;
    let (operator, before) = screen_with_first(&console).await;
    let accept = format!("id={}&verdict=accept", waiting.submission_id);
    assert_eq!(send(&operator, &before, "answer", &accept).await.0, 204);
    assert_eq!(send(&operator, &before, "leave", "").await.0, 204);
    let after = screen(&operator).await;
    stack.clock.advance(Duration::from_secs(8));
    let text = loop {
        let (_, body) = send(&operator, &after, "notices", "").await;
        let told: Value = serde_json::from_str(&body).expect("JSON");
        if let Some(notice) = told["notices"].get(0) {
            break notice["text"].as_str().expect("text").to_owned();
        }
    };
    assert!(text.starts_with(&waiting.reference().to_string()), "{text}");
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
    ] {
        let (status, text) =
            send(&operator, &screen, "answer", &format!("id={}&{wrong}", waiting.submission_id)).await;
        assert_eq!(status, 422, "{wrong}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prize_is_shown_to_a_second_person_with_who_was_the_first() {
    let stack = Stack::with_chai().await;
    let waiting = at_stake(&stack).await;
    let id = waiting.submission_id.to_string();
    let accept = ["submission", "settle", &id, "--accept", "--receipt-code", CODE, "--why", "seen"];
    assert_eq!(by(&stack, "juma", accept.to_vec()).await.code, ops_core::EXIT_OK);
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    let first = screen(&operator).await;
    let (status, card) = send(&operator, &first, "next", "").await;
    assert_eq!(status, 200, "{card}");
    assert!(card.contains("instant prize “A kettle”") && card.contains("juma accepted it at"), "{card}");
    assert!(!card.contains(CODE), "the second person reads the code, too: {card}");
    let other = format!("id={id}&verdict=accept&code={CODE}&entries=5");
    assert_eq!(send(&operator, &first, "answer", &other).await.0, 204);
    stack.clock.advance(Duration::from_secs(8));
    let notice = loop {
        let (_, body) = send(&operator, &first, "notices", "").await;
        let told: Value = serde_json::from_str(&body).expect("JSON");
        if let Some(notice) = told["notices"].get(0) {
            break notice.clone();
        }
    };
    assert_eq!((&notice["is_failure"], &notice["is_gone"]), (&json!(false), &json!(true)));
    assert!(notice["text"].as_str().expect("text").contains("waits for a second person"), "{notice}");
    assert_eq!(send(&operator, &first, "next", "").await.0, 204);
    let second = by(&stack, "juma", [&accept[..], &["--entries", "5"]].concat()).await;
    assert_eq!(second.code, ops_core::EXIT_OK, "{}", second.err);
    assert_eq!(shown(&stack, &waiting, &[]).await.0["instant_win"], "A kettle");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_submission_of_a_partner_is_not_shown_as_a_receipt() {
    let stack = Stack::with_chai().await;
    let asked = PartnerProgress { attempts: 3, maybe_redeemed: true, ..PartnerProgress::default() };
    let settling = PendingSettlement {
        progress: Progress::Partner(asked),
        ..PendingSettlement::due_at(NOW, None).escalate(NOW)
    };
    let left = submission(random::submission_id(), SubmissionStatus::unanswered(), None);
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
    assert!(card.contains("asked 3 times") && card.contains("may have redeemed the code"), "{card}");
    assert!(!card.contains("not checked") && !card.contains("data-reason"), "{card}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_cannot_be_written_comes_back_with_the_reason() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, photo(None), as_it_is).await;
    let console = Served::start(&stack).await;
    let (operator, screen) = screen_with_first(&console).await;
    let accept = format!("id={}&verdict=accept", waiting.submission_id);
    assert_eq!(send(&operator, &screen, "answer", &accept).await.0, 204);
    stack.clock.advance(Duration::from_secs(8));
    let notice = loop {
        let (status, body) = send(&operator, &screen, "beat", "").await;
        assert_eq!(status, 200, "{body}");
        let beat: Value = serde_json::from_str(&body).expect("JSON");
        assert!(beat["progress"].as_str().expect("text").starts_with("1 waiting, the oldest for"), "{beat}");
        if let Some(notice) = beat["notices"].get(0) {
            break notice.clone();
        }
    };
    assert_eq!((&notice["id"], &notice["is_failure"]), (&json!(waiting.submission_id), &json!(true)));
    let text = notice["text"].as_str().expect("text");
    assert!(text.contains("Type the receipt's code, or tick") && !text.contains("--"), "{text}");
    assert_eq!(shown(&stack, &waiting, &[]).await.0["state"], "pending");
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
    let answer = format!("id={}&verdict=reject&reason=receipt_unreadable", waiting.submission_id);
    assert_eq!(send(&juma, &of_juma, "answer", &answer).await.0, 409, "it is another's");
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
        claimed: Some(Claimed {
            items: vec![ClaimedItem { key: hostile.to_owned(), qty: 1 }],
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
    assert!(!card.contains("<script") && !card.contains("<img src=x"), "{card}");
    let path = format!("{REVIEW}/photo/{screen}/{}", waiting.submission_id);
    let reply = operator.ask("HEAD", &path).send().await;
    assert_eq!(
        (reply.status.as_u16(), &reply.headers["content-type"]),
        (200, &"image/png".parse().expect("text"))
    );
    let other = format!("{REVIEW}/photo/{screen}/{}", random::submission_id());
    assert_eq!(operator.ask("GET", &other).send().await.status, 404);
}
