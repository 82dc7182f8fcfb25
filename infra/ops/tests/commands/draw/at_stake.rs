//! Entries in a draw: who can remove one, and when.

use super::erasure::{ERASE, PHONE};
use super::races::{uploads_openings, with_two};
use super::*;
use crate::draw_walk::revoked_by_two;

fn revoke(reference: &str) -> String {
    format!("submission revoke {reference} --why 'a bot'")
}

async fn state(stack: &Stack, reference: &str) -> Value {
    stack.shown(reference).await["state"].clone()
}

/// Revokes an entry alone.
async fn revoked_by_one(stack: &Stack, reference: &str) {
    stack.fine(revoke(reference)).await;
    assert_eq!(state(stack, reference).await, "rejected");
}

#[tokio::test]
async fn winner_is_not_taken_out_before_the_run() {
    let stack = Stack::with_chai().await;
    let person = entered(&stack, PHONE, 1).await.reference().to_string();
    frozen(&stack).await;
    stack.clock.advance(NOTICE);
    // From here on, the openings tell that this is the winner.
    for operator in ["asha", "juma"] {
        let refused = stack
            .run_by(operator, revoke(&person))
            .await
            .refused("draw_not_run");
        assert_contains!(refused.message, "ops draw run");
    }
    stack.refused(ERASE, "draw_not_run").await;
    let drawn = stack.json(RUN).await;
    assert_eq!(drawn["winners"][0]["ref"], json!(person));
    assert_eq!(drawn["winners"][0]["state"], json!({ "is": "drawn" }));
    revoked_by_two(&stack, &person).await;
}

#[tokio::test]
async fn frozen_entry_is_revoked_by_two_until_the_draw_is_finished() {
    let stack = with_entries().await;
    let early = entered(&stack, "0711000005", 1)
        .await
        .reference()
        .to_string();
    revoked_by_one(&stack, &early).await;
    let others = [
        // Two more entries, so that it can win.
        entered(&stack, "0711000003", 1).await,
        entered(&stack, "0711000006", 1).await,
    ];
    let [before, after] = others.map(|entry| entry.reference().to_string());
    frozen(&stack).await;
    revoked_by_two(&stack, &before).await;
    let drawn = stack.json(RUN).await;
    let winners = list_of(&drawn["winners"]);
    let place = winners.len();
    let ended = stack.run_by("asha", revoke(&after)).await;
    assert_eq!(state(&stack, &after).await, "accepted", "{}", ended.out);
    for step in ["call --outcome reached", "confirm", "hand-over"] {
        let step = format!("draw {step} {DRAW} --winner {place}");
        stack.fine(step).await;
    }
    stack.clock.advance(Duration::from_secs(24 * 60 * 60));
    let winner = &winners[place - 1]["ref"];
    let other = entered(&stack, "0711000007", 1)
        .await
        .reference()
        .to_string();
    let over = if *winner == after { other } else { after };
    revoked_by_one(&stack, &over).await;
}

#[tokio::test]
async fn entry_that_a_freeze_is_reading_takes_two() {
    let (hold, stack, person) = with_two().await;
    let reference = person.reference().to_string();
    hold.select(uploads_openings);
    let revoking = async {
        hold.reached().await;
        let ended = stack.run_by("asha", revoke(&reference)).await;
        let is_still = state(&stack, &reference).await;
        hold.release();
        (ended, is_still)
    };
    let (_, (ended, is_still)) = tokio::join!(frozen(&stack), revoking);
    ended.fine();
    assert_eq!(is_still, "accepted");
}

/// The operator looks before the freeze, and writes after the freeze has read the entry.
#[tokio::test]
async fn revocation_that_a_freeze_overtook_is_refused() {
    let (hold, stack, person) = with_two().await;
    let reference = person.reference().to_string();
    hold.select(|_, body| body.contains("\"ConditionCheck\":") && body.contains("freezing#"));
    let freezing = async {
        hold.reached().await;
        let draw = frozen(&stack).await;
        hold.release();
        draw
    };
    let revoking = stack.refused(revoke(&reference), "submission_moved");
    let (_, draw) = tokio::join!(revoking, freezing);
    assert_eq!(state(&stack, &reference).await, "accepted");
    assert_eq!(draw["header"]["rows"], 2);
    // A second draw changes nothing: one person asks, another confirms.
    revoked_by_two(&stack, &reference).await;
}

#[tokio::test]
async fn freeze_that_takes_too_long_records_nothing() {
    let (hold, stack, _) = with_two().await;
    hold.select(uploads_openings);
    let waiting = async {
        hold.reached().await;
        stack.clock.advance(Duration::from_secs(30 * 60));
        hold.release();
    };
    let at = stack.clock.now().after(Duration::from_hours(1));
    let freezing = freeze_at(&stack, "week-03", at, PRIZE);
    tokio::join!(stack.refused(freezing, "freeze_expired"), waiting);
    assert_no_draws(&stack).await;
}
