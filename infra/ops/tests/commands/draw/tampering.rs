//! Rounds of other draws, and changed evidence.

use std::num::{NonZeroU32, NonZeroU64};

use common::domain::contact_log::{ContactEvent, ContactStep, SkipReason};
use draw::beacon::SimulatedChain;

use super::*;
use crate::support::Ended;

/// Runs with a silent relay and little patience.
async fn without_relay(stack: &Stack, more: &str) -> Ended {
    let env = [
        ("RETRY_SPEEDUP", "1000"),
        ("BEACON_URL", "http://127.0.0.1:9"),
    ];
    stack.run_with(&env, format!("{RUN} {more}")).await
}

#[tokio::test]
async fn round_is_taken_from_a_file() {
    let stack = with_entries().await;
    let draw = frozen(&stack).await;
    let down = without_relay(&stack, "").await.failed();
    assert_contains!(
        down,
        "127.0.0.1 takes no connection",
        "--beacon URL-OR-FILE"
    );
    let reply = relay_reply(&stack, &draw).await;
    let file = stack.file("reply.json", &reply);
    let signature = parse_json(&reply)["signature"].clone();
    let options = format!("--beacon {file} --json");
    let drawn = without_relay(&stack, &options).await.json();
    assert_eq!(drawn["outcome"]["signature"], signature);
}

#[tokio::test]
async fn round_that_is_not_the_draws_is_refused() {
    let stack = with_entries().await;
    let draw = frozen(&stack).await;
    let round = NonZeroU64::new(draw["round"].as_u64().expect("a round")).expect("not zero");
    stack.clock.advance(NOTICE);
    let genesis = "2026-01-01T00:00:00Z".parse().expect("a time");
    let other_chain = SimulatedChain::new(&[1; 32], genesis, NonZeroU32::MIN);
    let other_round = relay_reply(
        &stack,
        &json!({ "chain": draw["chain"], "round": round.get() - 1 }),
    )
    .await;
    let claimed = other_round.replace(&(round.get() - 1).to_string(), &round.to_string());
    for (reply, why) in [
        (
            other_chain.reply(round),
            "a signature that is not of this chain and round",
        ),
        (claimed, "a signature that is not of this chain and round"),
        (other_round, "is of round"),
        ("00".repeat(48), "is not a relay's reply"),
    ] {
        let file = stack.file("reply.json", reply);
        let error = stack
            .refused(format!("{RUN} --beacon {file}"), "signature_invalid")
            .await;
        assert_contains!(error.message, why);
    }
    let shown = shown(&stack).await;
    assert_eq!(shown["state"], "frozen");
    assert_eq!(shown["winners"], json!([]));
}

#[tokio::test]
async fn draw_waits_for_its_own_chain_alone() {
    let stack = with_entries().await;
    frozen(&stack).await;
    let without = [("BEACON_CHAIN", "")];
    let ended = stack.run_with(&without, format!("{RUN} --json")).await;
    ended.refused("chain_unknown");
    // Without the variable, draws use drand's quicknet.
    let command = freeze(&stack, "public", PRIZE);
    let ended = stack.run_with(&without, command).await;
    assert_contains!(ended.out, "drand quicknet, 52db9ba7");
    assert_lacks!(ended.out, "rehearsals");
    let told = stack.fine(freeze(&stack, "simulated", PRIZE)).await;
    assert_contains!(told, "which is NOT drand's quicknet");
}

#[tokio::test]
async fn result_that_was_changed_changes_nothing() {
    let stack = with_entries().await;
    let draw = frozen(&stack).await;
    stack
        .fine(format!("{RUN} --output {}", stack.arg("week-03")))
        .await;
    let mut result = parse_json(&stack.read("week-03/result.json"));
    result["tiers"][0]["order"]
        .as_array_mut()
        .expect("an order")
        .swap(1, 2);
    let key = key(&draw, "result.json");
    stored::evidence(&stack).put(&key, result.to_string()).await;
    let skip = format!("draw skip {DRAW} --winner 1 --reason excluded --inspector Neema --yes");
    let order = |place: usize| result["tiers"][0]["order"][place]["row"].clone();
    let skipped = stack.json(&skip).await;
    assert_eq!(skipped["next"][0]["row"], order(2), "the second, as drawn");
}

#[tokio::test]
async fn draw_on_quicknet_has_its_whole_notice() {
    let stack = with_entries().await;
    let env = [("BEACON_CHAIN", ""), ("RETRY_SPEEDUP", "1000000")];
    let at = stack.clock.now().after(Duration::from_secs(60));
    let soon = freeze_at(&stack, "soon", at, PRIZE);
    let said = stack.run_with(&env, soon).await.failed();
    assert_contains!(said, "give 2026-03-01");
}

#[tokio::test]
async fn evidence_that_was_changed_is_not_drawn_from() {
    let stack = with_entries().await;
    // Changed before the round: later writes are late anyway.
    let draw = frozen(&stack).await;
    let entries = key(&draw, "entries.csv");
    stored::evidence(&stack).put(&entries, "{}").await;
    stack.refused(RUN, "evidence_differs").await;
    let shown = shown(&stack).await;
    assert_eq!(shown["state"], "frozen");
    assert_eq!(shown["winners"], json!([]));
}

#[tokio::test]
async fn quicknet_cannot_be_configured_otherwise() {
    let stack = with_entries().await;
    let quicknet = draw::beacon::Chain::quicknet();
    // A genesis that puts a round of 2023 in a quarter of an hour.
    let genesis = stack.clock.now().as_millis() / 1000 + 900 - 3 * 657_412;
    let info = json!({
        "hash": quicknet.hash(), "public_key": quicknet.public_key(), "period": 3, "genesis_time": genesis,
    });
    let command = freeze(&stack, "past", "--prize Kettle=1 --json");
    let info = info.to_string();
    let ended = stack.run_with(&[("BEACON_CHAIN", &info)], command).await;
    let refused = ended.refused("not_configured");
    assert_contains!(refused.message, "hash of drand's quicknet");
    assert!(!stack.path("past").exists());
}

#[tokio::test]
async fn certificate_refuses_a_log_that_was_changed() {
    let stack = crate::draw_walk::drawn().await;
    let contacts = erasure::contacts(&stack).await;
    let tea = contacts
        .iter()
        .find(|contact| contact.prize == "Tea" && contact.is_open())
        .expect("a winner");
    let event = ContactEvent::Skipped {
        reason: SkipReason::HasPrize,
        inspector: None,
    };
    let skip = ContactStep {
        at: tea.changed_at().expect("it was drawn"),
        by: None,
        event,
    };
    let skipped = tea.after(skip).expect("it can be skipped");
    erasure::change_contact(&stack, tea, &skipped).await;
    let page = stack.arg("page.html");
    let certificate = format!("draw certificate {DRAW} --output {page}");
    let error = stack.refused(certificate, "draw_log_differs").await;
    assert_contains!(error.message, "but it had none");
    assert!(!stack.path("page.html").exists());
}
