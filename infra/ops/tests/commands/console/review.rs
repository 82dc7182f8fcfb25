//! The review screen.

mod lookup;
mod waiting;

use std::time::Duration;

use common::domain::message::{Language, MessageKey};
use common::domain::retry::PartnerProgress;
use common::domain::settling::{PendingSettlement, Progress};
use common::domain::submission::{DeclaredItem, DeclaredPurchase, Submission, SubmissionStatus};
use common::random;
use common::store::review_locks::LOCK_LIFETIME;
use serde_json::json;
use service_tests::text::{fields, parse_json, text_of};

use super::{SignedIn, between};
use crate::decision::prize::at_stake;
use crate::review::{CODE, as_it_is, code, photo, typed, with_receipt};
use crate::reviewing::{photo_with_gps, upload};
use crate::submission::{submission, write};
use crate::support::{NOW, Stack};

const REVIEW: &str = "/campaigns/chai-bora-2026/live/review";

/// A review screen in an operator's browser.
pub(crate) struct Screen {
    operator: SignedIn,
    name: String,
}

impl Screen {
    /// The screen of a console of its own.
    async fn open(stack: &Stack) -> Self {
        Self::of(SignedIn::to(stack).await).await
    }

    pub(crate) async fn of(operator: SignedIn) -> Self {
        let page = operator.page(REVIEW).await;
        Self::on(operator, &page)
    }

    fn on(operator: SignedIn, page: &str) -> Self {
        let name = between(page, "data-screen=\"", "\"").to_owned();
        Self { operator, name }
    }

    /// A screen that shows the first submission.
    async fn with_first(stack: &Stack) -> Self {
        let screen = Self::open(stack).await;
        screen.send(200, "next", "").await;
        screen
    }

    pub(crate) async fn page(&self, path: &str) -> String {
        self.operator.page(path).await
    }

    /// Sends a form, expects this status, and returns the body.
    pub(crate) async fn send(&self, status: u16, path: &str, fields: &str) -> String {
        let (path, fields) = (
            format!("{REVIEW}/{path}"),
            format!("screen={}&{fields}", self.name),
        );
        self.operator.post_for(status, &path, &fields).await.text
    }
}

/// An answer about the submission as made.
pub(crate) fn answer_to(submission: &Submission, verdict: &str) -> String {
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
    let screen = Screen::open(&stack).await;
    let card = screen.send(200, "next", "").await;
    assert_contains!(card, &waiting.reference().to_string());
    let filled_in = format!("name=\"code\" value=\"{}\" required", code().as_str());
    assert_contains!(card, filled_in);
    let swahili = MessageKey::Entered.text(Language::Sw);
    assert_contains!(
        card,
        "lang=\"en\">You are in!</small>",
        format!("title=\"{swahili}\"")
    );
    screen.send(204, "next", "").await;
    let accept = answer_to(&waiting, "verdict=accept&code=AB12CD3456&entries=1");
    screen.send(204, "answer", &accept).await;
    let json = stack.shown(waiting.submission_id).await;
    assert_eq!(fields(&json, "state entries"), "accepted 1");
    let text = screen.send(409, "answer", &accept).await;
    assert_contains!(text, "asha accepted it at", "nothing was written");
    for (why, refusal) in [
        ("mistake", "ask a second person"),
        ("+", "The reason must be 1 to 500 characters"),
    ] {
        let own = format!("name={}&why={why}", waiting.reference());
        let text = screen.send(422, "reopen", &own).await;
        assert_contains!(text, refusal);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answer_of_a_closing_page_is_written() {
    let stack = Stack::with_chai().await;
    let answered = with_receipt(&stack, typed(), as_it_is).await;
    with_receipt(&stack, typed(), as_it_is).await;
    let of_asha = Screen::with_first(&stack).await;
    of_asha.send(200, "next", "").await;
    // A closing page sends in any order.
    let leave = format!("answered={}", answered.submission_id);
    of_asha.send(204, "leave", &leave).await;
    let of_juma = Screen::with_first(&stack).await;
    of_juma.send(204, "next", "").await;
    let reject = answer_to(&answered, "verdict=reject&reason=receipt_unreadable");
    of_asha.send(204, "answer", &reject).await;
    let json = stack.shown(answered.submission_id).await;
    assert_eq!(json["message_key"], "receipt_unreadable");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn held_answer_that_is_late_decides_nothing() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, typed(), as_it_is).await;
    let of_asha = Screen::with_first(&stack).await;
    let of_juma = Screen::open(&stack).await;
    let reject = answer_to(&waiting, "verdict=reject&reason=receipt_unreadable");
    stack
        .clock
        .advance(LOCK_LIFETIME - Duration::from_millis(1));
    of_juma.send(204, "next", "").await;
    stack.clock.advance(Duration::from_secs(30));
    of_juma.send(200, "next", "").await;
    let text = of_asha.send(409, "answer", &reject).await;
    assert_contains!(text, "asha has it now");
    assert_eq!(stack.shown(waiting.submission_id).await["state"], "pending");
    of_juma.send(204, "answer", &reject).await;
    of_asha.send(409, "answer", &reject).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conflict_names_the_submission_with_the_receipt() {
    let stack = Stack::with_chai().await;
    let first = with_receipt(&stack, typed(), as_it_is).await;
    let id = first.submission_id.to_string();
    let accept = format!("submission settle {id} --accept --receipt-code {CODE} --why seen");
    stack.fine(&accept).await;
    let second = with_receipt(&stack, photo(None), as_it_is).await;
    let screen = Screen::with_first(&stack).await;
    let same = answer_to(&second, &format!("verdict=accept&code={CODE}&entries=1"));
    let text = screen.send(422, "answer", &same).await;
    assert_contains!(text, first.reference().to_string(), "already used");
    let reject = answer_to(&second, "verdict=reject&reason=receipt_already_used");
    screen.send(204, "answer", &reject).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_keeps_the_rules_of_the_command_line() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, typed(), as_it_is).await;
    let screen = Screen::with_first(&stack).await;
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
        screen
            .send(422, "answer", &answer_to(&waiting, wrong))
            .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prize_is_shown_to_a_second_person_with_who_was_the_first() {
    let stack = Stack::with_chai().await;
    let waiting = at_stake(&stack).await;
    let id = waiting.submission_id.to_string();
    let accept = format!("submission settle {id} --accept --receipt-code {CODE} --why seen");
    stack.json_by("juma", &accept).await;
    let first = Screen::open(&stack).await;
    let card = first.send(200, "next", "").await;
    assert_contains!(card, "instant prize “A kettle”", "juma accepted it at");
    assert_lacks!(card, CODE);
    let revision = between(&card, "data-revision=\"", "\"");
    let other = format!(
        "id={id}&revision={revision}&second_look=false&verdict=accept&code={CODE}&entries=5"
    );
    let text = first.send(200, "answer", &other).await;
    assert_contains!(text, "waits for a second person");
    first.send(204, "next", "").await;
    stack.json_by("juma", format!("{accept} --entries 5")).await;
    assert_eq!(
        stack.shown(waiting.submission_id).await["instant_win"],
        "A kettle"
    );
}

/// A submission whose partner may have redeemed the code.
async fn maybe_redeemed(stack: &Stack) -> Submission {
    let asked = PartnerProgress {
        attempts: 3,
        maybe_redeemed: true,
        ..PartnerProgress::default()
    };
    let settling = PendingSettlement {
        progress: Progress::Partner(asked),
        ..PendingSettlement::due_at(NOW, None).escalate(NOW)
    };
    let left = submission(SubmissionStatus::unknown(), None);
    let left = Submission {
        partner_code: "CODE".parse().ok(),
        settling: Some(settling),
        reasons: vec!["partner_unanswered".to_owned()],
        ..left
    };
    write(stack, &left, None).await;
    left
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_submission_of_a_partner_is_not_shown_as_a_receipt() {
    let stack = Stack::with_chai().await;
    maybe_redeemed(&stack).await;
    let screen = Screen::open(&stack).await;
    let card = screen.send(200, "next", "").await;
    assert_contains!(card, "asked 3 times", "may have redeemed the code");
    assert_lacks!(card, "not checked", "data-reason");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answer_that_cannot_be_written_says_why() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, photo(None), as_it_is).await;
    let screen = Screen::with_first(&stack).await;
    let text = screen
        .send(422, "answer", &answer_to(&waiting, "verdict=accept"))
        .await;
    assert_contains!(text, "Type the receipt's code, or tick");
    assert_lacks!(text, "--");
    assert_eq!(stack.shown(waiting.submission_id).await["state"], "pending");
    let body = screen.send(200, "heartbeat", "").await;
    let beat = parse_json(&body);
    assert_eq!(beat["lost"], json!([]), "the page still has it");
    assert!(
        text_of(&beat["progress"]).starts_with("1 waiting, the oldest for"),
        "{beat}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_consoles_show_a_submission_to_one_of_them() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, typed(), as_it_is).await;
    let (of_asha, of_juma) = (Screen::open(&stack).await, Screen::open(&stack).await);
    of_asha.send(200, "next", "").await;
    of_juma.send(204, "next", "").await;
    let answer = answer_to(&waiting, "verdict=reject&reason=receipt_unreadable");
    of_juma.send(409, "answer", &answer).await;
    of_asha.send(204, "leave", "").await;
    stack.clock.advance(Duration::from_secs(30));
    of_juma.send(200, "next", "").await;
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
    let screen = Screen::open(&stack).await;
    let card = screen.send(200, "next", "").await;
    assert!(card.matches("&lt;script&gt;").count() >= 4, "{card}");
    assert_contains!(card, "(no product of the campaign)");
    assert_lacks!(card, "<script", "<img src=x");
    let path = format!("{REVIEW}/photo/{}/{}", screen.name, waiting.submission_id);
    let reply = screen.operator.ask("HEAD", &path).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.headers["content-type"], "image/jpeg");
    let other = format!("{REVIEW}/photo/{}/{}", screen.name, random::submission_id());
    assert_eq!(screen.operator.status("GET", &other).await, 404);
}
