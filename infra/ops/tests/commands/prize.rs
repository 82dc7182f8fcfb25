//! `ops prize`: the log of instant prizes.

use std::time::Duration;

use common::domain::submission::{Submission, SubmissionStatus};
use serde_json::{Value, json};
use service_tests::text::{fields, list_of};

use crate::submission::{WHY, holding, submission, write};
use crate::support::{CHAI, Stack};

pub(crate) const PRIZE: &str = "A kettle";
const LIST: &str = "prize list --campaign chai-bora-2026";

/// An accepted entry that won.
pub(crate) async fn won(stack: &Stack) -> Submission {
    let status = SubmissionStatus::accepted(1, Some(PRIZE.to_owned()));
    let won = submission(status, None);
    write(stack, &won, None).await;
    won
}

async fn statuses(stack: &Stack, more: &str) -> Vec<Value> {
    let listed = stack.json(format!("{LIST} {more}")).await;
    let prizes = list_of(&listed["prizes"]).iter();
    prizes.map(|prize| prize["status"].clone()).collect()
}

/// Logs steps, a minute apart.
pub(crate) async fn walk(stack: &Stack, won: &Submission, steps: &[&str]) -> Value {
    let mut last = Value::Null;
    for step in steps {
        stack.clock.advance(Duration::from_secs(60));
        let (command, options) = step.split_once(' ').unwrap_or((step, ""));
        let logged = format!("prize {command} {} {options}", won.reference());
        last = stack.json(logged).await["winner"].clone();
    }
    last
}

pub(crate) const HANDED_OVER: [&str; 3] = ["call --outcome reached", "confirm", "hand-over"];

async fn revoke(stack: &Stack, won: &Submission, options: &str) {
    let revoke = format!("submission revoke {} {options} {WHY}", won.submission_id);
    stack.by_two(revoke).await;
}

#[tokio::test]
async fn winner_is_called_confirmed_and_gets_the_prize() {
    let stack = Stack::with_chai().await;
    assert_contains!(stack.fine(LIST).await, "has no instant prizes yet");
    let won = won(&stack).await;
    let reference = won.reference();
    let told = stack.fine(LIST).await;
    assert_contains!(
        told,
        PRIZE,
        "+2557•••••678",
        "Mwanza",
        "won, not called yet"
    );
    let next = stack.run(LIST).await.fine().err;
    assert_contains!(next, format!("next: `ops prize call {reference}`"));
    let call = format!("prize call {reference} --show-phone");
    assert_contains!(stack.fine(&call).await, "+255712345678");
    assert_eq!(stack.last_audit_row().await["action"], "prize.show_phone");

    let mut seen = vec![statuses(&stack, "").await];
    for step in ["call --outcome no-answer"].iter().chain(&HANDED_OVER) {
        walk(&stack, &won, &[step]).await;
        seen.push(statuses(&stack, "").await);
    }
    let expected = ["won", "called", "reached", "identified", "handed_over"];
    assert_eq!(seen, expected.map(|status| vec![json!(status)]));
    assert!(statuses(&stack, "--status won").await.is_empty());
    assert_eq!(statuses(&stack, "--status handed_over").await.len(), 1);
    let listed = stack.json(LIST).await;
    let events = list_of(&listed["prizes"][0]["steps"]).iter();
    let events: Vec<_> = events.map(|step| fields(step, "event.is by.by")).collect();
    assert_eq!(events[0], "no_answer asha");
    assert_eq!(events.len(), 4);
    let actions = stack.audit_actions().await;
    let logged = [
        "prize.call",
        "prize.call",
        "prize.confirm",
        "prize.hand_over",
    ];
    assert!(actions.ends_with(&logged.map(str::to_owned)), "{actions:?}");
    let last = format!("prize forfeit {reference} --reason declined --inspector Neema --yes");
    stack.refused(last, "step_refused").await;
}

#[tokio::test]
async fn prize_is_forfeited_for_a_reason_that_the_log_allows() {
    let stack = Stack::with_chai().await;
    let won = won(&stack).await;
    let forfeit = |reason: &str| {
        let reference = won.reference();
        format!("prize forfeit {reference} --reason {reason} --inspector Neema --yes")
    };
    for (reason, why) in [
        ("no-answer", "is called three times first"),
        ("declined", "log the call first"),
        ("revoked", "revoke it first with `ops submission revoke`"),
    ] {
        let refused = stack.refused(forfeit(reason), "step_refused").await;
        assert_contains!(refused.message, why);
    }
    let early = format!("prize hand-over {}", won.reference());
    stack.refused(early, "step_refused").await;
    let calls = ["call --outcome no-answer"; 3];
    walk(&stack, &won, &calls).await;
    assert_contains!(
        stack.fine(forfeit("no-answer")).await,
        "forfeited: did not answer"
    );
    assert_eq!(statuses(&stack, "").await, ["forfeited"]);
    let row = stack.last_audit_row().await;
    assert_eq!(row["action"], "prize.forfeit");
    let none = submission(SubmissionStatus::accepted(1, None), None);
    write(&stack, &none, None).await;
    let call = format!("prize confirm {}", none.reference());
    stack.refused(call, "prize_unknown").await;
}

#[tokio::test]
async fn of_two_operators_one_logs_the_step() {
    let (hold, stack) = Stack::held().await;
    stack.apply(CHAI).await;
    let won = won(&stack).await;
    let reached = format!("prize call {} --outcome reached", won.reference());
    hold.select(|_, body| body.contains("#wins") && body.contains("UpdateExpression"));
    let other = async {
        hold.reached().await;
        hold.select(|_, _| false);
        let first = walk(&stack, &won, &["call --outcome no-answer"]).await;
        hold.release();
        first
    };
    let (refused, first) = tokio::join!(stack.refused(reached, "changed_meanwhile"), other);
    assert_contains!(refused.message, "nothing was logged");
    assert_eq!(first["status"], "called");
    assert_eq!(statuses(&stack, "").await, ["called"]);
}

#[tokio::test]
async fn revoking_an_entry_takes_its_prize_back() {
    let stack = Stack::with_chai().await;
    let won = won(&stack).await;
    walk(&stack, &won, &["call --outcome reached"]).await;
    let keep = format!("submission revoke {} --keep-prize {WHY}", won.reference());
    stack.refused(keep, "prize_not_handed_over").await;
    revoke(&stack, &won, "").await;
    assert_eq!(statuses(&stack, "").await, ["revoked"]);
    let confirm = format!("prize confirm {}", won.reference());
    stack.refused(confirm, "step_refused").await;
}

#[tokio::test]
async fn prize_of_an_entry_accepted_again_is_won_again() {
    let stack = Stack::with_chai().await;
    stack.mint(format!("9 --prize '{PRIZE}'")).await;
    let status = SubmissionStatus::accepted(1, Some(PRIZE.to_owned()));
    let won = holding(&stack, 0, submission(status, None)).await;
    let again = async || {
        let id = won.submission_id;
        for command in [
            format!("submission reopen {id} {WHY}"),
            format!("submission settle {id} --accept {WHY}"),
        ] {
            for by in ["asha", "juma"] {
                stack.clock.advance(Duration::from_secs(60));
                stack.run_by(by, &command).await;
            }
        }
    };
    revoke(&stack, &won, "").await;
    again().await;
    assert_eq!(statuses(&stack, "").await, ["revoked", "won"]);

    // Commands mean the latest.
    walk(&stack, &won, &HANDED_OVER).await;
    let plain = format!("submission revoke {} {WHY}", won.reference());
    stack.refused(plain, "prize_handed_over").await;
    revoke(&stack, &won, "--keep-prize").await;
    assert_eq!(statuses(&stack, "").await, ["revoked", "handed_over"]);
    again().await;
    let shown = stack.shown(won.submission_id).await;
    assert_eq!(fields(&shown, "state instant_win"), "accepted null");
    assert_eq!(statuses(&stack, "").await, ["revoked", "handed_over"]);
}

#[tokio::test]
async fn export_of_winners_says_where_the_prize_is() {
    let stack = Stack::with_chai().await;
    let won = won(&stack).await;
    walk(&stack, &won, &["call --outcome reached"]).await;
    let file = stack.arg("winners.csv");
    let export = format!("export winners --campaign chai-bora-2026 --output {file}");
    stack.fine(export).await;
    let text = std::fs::read_to_string(file).expect("a file");
    let ends: Vec<_> = text.lines().map(|line| line.rsplit(',').next()).collect();
    assert_eq!(ends, [Some("status"), Some("reached")]);
}
