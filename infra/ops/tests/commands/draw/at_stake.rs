//! Entries in a draw: who can remove one, and when.

use super::erasure::{PHONE, erase};
use super::races::{uploads_openings, with_two};
use super::*;
use crate::correction::by;
use crate::draw_walk::revoked_by_two;

fn revoke(reference: &str) -> Vec<&str> {
    vec!["submission", "revoke", reference, "--why", "a bot"]
}

async fn state(stack: &Stack, reference: &str) -> Value {
    stack.json(&["submission", "show", reference]).await["submissions"][0]["state"].clone()
}

/// Revokes an entry alone.
async fn revoked_by_one(stack: &Stack, reference: &str) {
    stack.fine(&revoke(reference)).await;
    assert_eq!(state(stack, reference).await, "rejected");
}

#[tokio::test]
async fn winner_is_not_taken_out_before_the_run() {
    let stack = Stack::with_chai().await;
    let person = entered(&stack, PHONE, 1).await.reference().to_string();
    frozen(&stack, "week-03", PRIZE).await;
    stack.clock.advance(NOTICE);
    // From here on, the openings tell that this is the winner.
    for operator in ["asha", "juma"] {
        let ended = by(&stack, operator, revoke(&person)).await;
        assert!(
            ended.err.contains("draw_not_run") && ended.err.contains("ops draw run"),
            "{}",
            ended.err
        );
    }
    assert_eq!(stack.refused(&erase()).await["code"], "draw_not_run");
    let drawn = stack.json(&run("week-03", &[])).await;
    assert_eq!(
        (&drawn["winners"][0]["ref"], &drawn["winners"][0]["state"]),
        (&json!(person), &json!({ "is": "drawn" }))
    );
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
    frozen(&stack, "week-03", PRIZE).await;
    revoked_by_two(&stack, &before).await;
    let drawn = stack.json(&run("week-03", &[])).await;
    let place = drawn["winners"]
        .as_array()
        .map(Vec::len)
        .expect("winners")
        .to_string();
    let ended = by(&stack, "asha", revoke(&after)).await;
    assert_eq!(state(&stack, &after).await, "accepted", "{}", ended.out);
    for step in ["call --outcome reached", "confirm", "hand-over"] {
        let step = format!("draw {step} --draw week-03 --winner {place}");
        stack.fine(&in_campaign(&step)).await;
    }
    stack.clock.advance(Duration::from_secs(24 * 60 * 60));
    let winner =
        &drawn["winners"][drawn["winners"].as_array().map_or(0, |all| all.len() - 1)]["ref"];
    let other = entered(&stack, "0711000007", 1)
        .await
        .reference()
        .to_string();
    revoked_by_one(
        &stack,
        if *winner == json!(after) {
            &other
        } else {
            &after
        },
    )
    .await;
}

#[tokio::test]
async fn entry_that_a_freeze_is_reading_takes_two() {
    let (hold, stack, person) = with_two().await;
    let reference = person.reference().to_string();
    hold.select(uploads_openings);
    let revoking = async {
        hold.reached().await;
        let ended = by(&stack, "asha", revoke(&reference)).await;
        let is_still = state(&stack, &reference).await;
        hold.release();
        (ended, is_still)
    };
    let (_, (ended, is_still)) = tokio::join!(frozen(&stack, "week-03", PRIZE), revoking);
    assert_eq!(
        (ended.code, is_still),
        (ops_core::EXIT_OK, json!("accepted")),
        "{}",
        ended.err
    );
}

/// The operator looks before the freeze, and writes after the freeze has read the entry.
#[tokio::test]
async fn revocation_that_a_freeze_overtook_is_refused() {
    let (hold, stack, person) = with_two().await;
    let reference = person.reference().to_string();
    hold.select(|_, body| body.contains("\"ConditionCheck\":") && body.contains("freezing#"));
    let freezing = async {
        hold.reached().await;
        let draw = frozen(&stack, "week-03", PRIZE).await;
        hold.release();
        draw
    };
    let command = revoke(&reference);
    let (refused, draw) = tokio::join!(stack.refused(&command), freezing);
    assert_eq!(
        (&refused["code"], state(&stack, &reference).await),
        (&json!("submission_moved"), json!("accepted"))
    );
    assert_eq!(draw["header"]["rows"], 2);
    // A second draw changes nothing: one person asks, another confirms.
    revoked_by_two(&stack, &reference).await;
}

#[tokio::test]
async fn freeze_that_takes_too_long_records_nothing() {
    let (hold, stack, _) = with_two().await;
    hold.select(uploads_openings);
    let at = stack
        .clock
        .now()
        .after(Duration::from_secs(3_600))
        .to_string();
    let waiting = async {
        hold.reached().await;
        stack.clock.advance(Duration::from_secs(30 * 60));
        hold.release();
    };
    let output = stack.arg("week-03");
    let own =
        format!("draw freeze --draw week-03 --at {at} --output {output} --yes {PERIOD} {PRIZE}");
    let command = in_campaign(&own);
    let (refused, ()) = tokio::join!(stack.refused(&command), waiting);
    assert_eq!(refused["code"], "freeze_expired");
    assert!(
        stack
            .tables()
            .await
            .draws
            .list(&chai(Environment::Live))
            .await
            .expect("it answers")
            .is_empty()
    );
}
