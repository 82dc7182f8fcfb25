//! The tax authority's answer before a decision.

use common::config::RETRY_SPEEDUP;
use common::domain::Dependency;
use common::domain::scope::Environment;
use common::domain::submission::OperatorDecision;
use common::domain::submission::approval::{Acceptance, Approval, ProposedChange};
use common::store::turns::Turns;

use super::*;
use crate::console::Served;
use crate::support::{CHAI, chai};

/// Products of the simulated tax authority's first shop.
const RECEIPTS: &str = "receipt:
  typed: true
  ranges: [{ name: Classic }]
  products: [{ key: chai-250, range: Classic, label: 250 g, name: Chai Bora 250 g, match: [CHAI BORA 250] }]
";

async fn with_receipts() -> Stack {
    let stack = Stack::empty().await;
    stack.apply(format!("{CHAI}{RECEIPTS}")).await;
    stack
}

/// A screen with the first submission, and a pace of milliseconds.
async fn quick_screen(stack: &Stack) -> Screen {
    let console = Served::start_with(stack, stack.env_with(&[(RETRY_SPEEDUP, "1000")])).await;
    let screen = Screen::of(SignedIn::opened(console).await).await;
    screen.send(200, "next", "").await;
    screen
}

fn about(submission: &Submission, code: &str, time: &str) -> String {
    format!("id={}&code={code}&time={time}", submission.submission_id)
}

async fn slots(stack: &Stack) -> u64 {
    let client = stack.aws().dynamodb();
    let turns = Turns::from_env(&stack.env, &client, Dependency::TaxAuthority);
    let last = turns.expect("all variables").last().await;
    last.expect("it answers").map_or(0, |turn| turn.number)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn record_is_shown_before_the_decision() {
    let stack = with_receipts().await;
    let first = with_receipt(&stack, photo(None), as_it_is).await;
    let screen = quick_screen(&stack).await;
    let looked = about(&first, "good01-0001", "10:15:30");
    let text = screen.send(200, "lookup", &looked).await;
    assert_contains!(text, "DUKA KUU LIMITED", "2026-02-28 10:15:30", "2,500.00");
    assert_contains!(text, "1 x Chai Bora 250 g", "accept it with 1 entry");
    assert_contains!(
        text,
        "data-entries=\"1\" data-clear",
        "</kbd> accepts it",
        "<dt>Entered before</dt><dd>no</dd>"
    );
    assert_eq!(stack.shown(first.submission_id).await["state"], "pending");
    let accept = answer_to(&first, "verdict=accept&code=GOOD010001&entries=1");
    screen.send(204, "answer", &accept).await;
    let second = with_receipt(&stack, photo(None), as_it_is).await;
    let other = quick_screen(&stack).await;
    let looked = about(&second, "GOOD010001", "10:15:30");
    let text = other.send(200, "lookup", &looked).await;
    assert_contains!(text, "<mark>yes</mark>", first.reference().to_string());
    assert_lacks!(text, "data-clear", "accepts it");
    assert_eq!(slots(&stack).await, 2, "a slot each");
    let rows = stack.json("audit list").await.to_string();
    assert_eq!(rows.matches("submission.look_up").count(), 2);
    assert_lacks!(rows, "GOOD01", "10:15:30");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_answer_has_its_own_words_and_decides_nothing() {
    let stack = with_receipts().await;
    let waiting = with_receipt(&stack, photo(None), as_it_is).await;
    let screen = quick_screen(&stack).await;
    for (code, time, words) in [
        ("TIME010001", "9:00", "with another time"),
        ("NONE010001", "10:15:30", "does not know this code"),
        ("BUSY010001", "10:15:30", "turns look-ups away"),
        ("DEAD010001", "10:15:30", "cannot be reached"),
        ("SWAX010001", "10:15:30", "the page of another receipt"),
        (
            "HTML010001",
            "10:15:30",
            "a page that the service cannot read",
        ),
        ("VOID010001", "10:15:30", "(cancelled)"),
    ] {
        let looked = about(&waiting, code, time);
        let text = screen.send(200, "lookup", &looked).await;
        assert_contains!(text, words);
        assert_lacks!(text, "data-clear", "accepts it");
    }
    assert_eq!(stack.shown(waiting.submission_id).await["state"], "pending");
    let by_hand = answer_to(&waiting, "verdict=accept&code=GOOD010001&entries=1");
    screen.send(204, "answer", &by_hand).await;
    assert_eq!(
        why_of(&stack, &waiting).await,
        "reviewed in the console; not looked up: no time typed"
    );
}

/// The reason in the audit log, which the submission's page has too.
async fn why_of(stack: &Stack, submission: &Submission) -> String {
    let row = stack.last_audit_row().await;
    let why = row["why"].as_str().expect("text").to_owned();
    let operator = SignedIn::to(stack).await;
    let page = operator
        .page(&format!("/submissions/{}", submission.submission_id))
        .await;
    assert_contains!(page, &why);
    why
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acceptance_says_what_was_looked_up() {
    let stack = with_receipts().await;
    for (looked, accepted, said) in [
        ("GOOD010001", "code=GOOD010001", "looked up: found"),
        ("NONE010001", "code=NONE010001", "looked up: not found yet"),
        (
            "NONE010002",
            "code=GOOD010002",
            "not looked up: no time typed",
        ),
        ("NONE010003", "without=yes", "not looked up: no code typed"),
    ] {
        let waiting = with_receipt(&stack, photo(None), as_it_is).await;
        let screen = quick_screen(&stack).await;
        let looked = about(&waiting, looked, "10:15:30");
        screen.send(200, "lookup", &looked).await;
        let accept = format!("verdict=accept&{accepted}&entries=1");
        let accept = answer_to(&waiting, &accept);
        screen.send(204, "answer", &accept).await;
        let why = why_of(&stack, &waiting).await;
        assert_eq!(why, format!("reviewed in the console; {said}"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_asked_without_a_receipt_code_and_time() {
    let stack = with_receipts().await;
    let waiting = with_receipt(&stack, photo(None), as_it_is).await;
    let screen = quick_screen(&stack).await;
    for (code, time, words) in [
        ("GOOD", "10:15:30", "6 to 40 letters and digits"),
        ("GOOD010001", "25:00", "hours and minutes"),
        ("GOOD010001", "", "hours and minutes"),
    ] {
        let text = screen
            .send(422, "lookup", &about(&waiting, code, time))
            .await;
        assert_contains!(text, words);
    }
    let looked = about(&waiting, "GOOD010001", "10:15:30");
    let of_juma = Screen::open(&stack).await;
    let text = of_juma.send(409, "lookup", &looked).await;
    assert_contains!(text, "Another reviewer has this receipt");
    assert_eq!(slots(&stack).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn number_of_the_first_person_is_not_filled_in_again() {
    let stack = with_receipts().await;
    let acceptance = Acceptance {
        entries: 3,
        purchase: None,
    };
    let decision = OperatorDecision {
        by: "juma".to_owned(),
        at: NOW,
        why: None,
        confirmed: None,
        identity: None,
    };
    let accepted = |submission| Submission {
        approval: Some(Approval {
            change: ProposedChange::Accept(acceptance),
            decision,
        }),
        ..submission
    };
    let waiting = with_receipt(&stack, photo(None), accepted).await;
    let screen = quick_screen(&stack).await;
    let looked = about(&waiting, "GOOD010001", "10:15:30");
    let text = screen.send(200, "lookup", &looked).await;
    assert_contains!(text, "accept it with 1 entry", "accepts it");
    assert_lacks!(text, "data-entries");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tax_authority_is_not_asked_about_a_test_receipt() {
    let stack = with_receipts().await;
    let in_test = |submission| Submission {
        scope: chai(Environment::Test),
        ..submission
    };
    let waiting = with_receipt(&stack, photo(None), in_test).await;
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    let review = REVIEW.replace("/live/", "/test/");
    let page = operator.page(&review).await;
    let Screen { operator, name } = Screen::on(operator, &page);
    let (next, lookup) = (format!("{review}/next"), format!("{review}/lookup"));
    let fields = format!("screen={name}");
    let card = operator.post_for(200, &next, &fields).await.text;
    assert_contains!(card, "name=\"code\"", "name=\"without\"");
    assert_lacks!(card, "name=\"time\"", "asks the tax authority");
    let looked = about(&waiting, "TEST0REVIEW", "10:15:30");
    let looked = format!("screen={name}&{looked}");
    let said = operator.post_for(422, &lookup, &looked).await;
    assert_contains!(said.text, "not asked about a test receipt");
    assert_eq!(slots(&stack).await, 0);
    let actions = stack.audit_actions().await;
    assert!(!actions.contains(&"submission.look_up".to_owned()));
}
