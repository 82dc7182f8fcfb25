//! Rounds of other draws, and changed evidence.

use std::num::{NonZeroU32, NonZeroU64};

use common::domain::draw::contact::{ContactEvent, ContactStep, SkipReason};
use draw::beacon::SimulatedChain;

use super::*;
use crate::support::{Ended, run as run_with};

/// Runs with a silent relay and little patience.
async fn without_relay(stack: &Stack, more: &[&str]) -> Ended {
    let env = [
        ("RETRY_SPEEDUP", "1000"),
        ("BEACON_URL", "http://127.0.0.1:9"),
    ];
    let env = env
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into_iter()
        .collect();
    run_with(
        &run("week-03", more),
        stack.env.clone().overridden_by(env),
        &stack.clock,
    )
    .await
}

#[tokio::test]
async fn round_is_taken_from_a_file() {
    let stack = with_entries().await;
    let draw = frozen(&stack, "week-03", PRIZE).await;
    let down = without_relay(&stack, &[]).await;
    assert_eq!(down.code, ops_core::EXIT_FAILURE);
    assert!(
        down.err.contains("127.0.0.1 takes no connection")
            && down.err.contains("--beacon URL-OR-FILE"),
        "{}",
        down.err
    );
    let reply = relay_reply(&stack, &draw).await;
    let file = stack.file("reply.json", &reply);
    let signature = serde_json::from_str::<Value>(&reply).expect("JSON")["signature"].clone();
    let drawn = without_relay(&stack, &["--beacon", &file, "--json"]).await;
    assert_eq!(drawn.code, ops_core::EXIT_OK, "{}", drawn.err);
    let drawn: Value = serde_json::from_str(&drawn.out).expect("JSON");
    assert_eq!(drawn["outcome"]["signature"], signature);
}

#[tokio::test]
async fn round_that_is_not_the_draws_is_refused() {
    let stack = with_entries().await;
    let draw = frozen(&stack, "week-03", PRIZE).await;
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
        let error = stack.refused(&run("week-03", &["--beacon", &file])).await;
        assert_eq!(error["code"], "signature_invalid");
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|message| message.contains(why)),
            "{error}"
        );
    }
    let shown = shown(&stack, "week-03").await;
    assert_eq!(
        (&shown["state"], &shown["winners"]),
        (&json!("frozen"), &json!([]))
    );
}

#[tokio::test]
async fn draw_waits_for_its_own_chain_alone() {
    let stack = with_entries().await;
    frozen(&stack, "week-03", PRIZE).await;
    let without = [("BEACON_CHAIN".to_owned(), String::new())]
        .into_iter()
        .collect();
    let env = stack.env.clone().overridden_by(without);
    let ended = run_with(&run("week-03", &["--json"]), env.clone(), &stack.clock).await;
    assert!(ended.err.contains("\"chain_unknown\""), "{}", ended.err);
    // Without the variable, draws use drand's quicknet.
    let command = freeze(&stack, "public", PRIZE);
    let ended = run_with(&args(&command), env, &stack.clock).await;
    assert!(
        ended.out.contains("drand quicknet, 52db9ba7") && !ended.out.contains("rehearsals"),
        "{}",
        ended.out
    );
    let told = stack.fine(&args(&freeze(&stack, "simulated", PRIZE))).await;
    assert!(told.contains("which is NOT drand's quicknet"), "{told}");
}

#[tokio::test]
async fn result_that_was_changed_changes_nothing() {
    let stack = with_entries().await;
    let draw = frozen(&stack, "week-03", PRIZE).await;
    stack
        .fine(&run("week-03", &["--output", &stack.arg("week-03")]))
        .await;
    let result = fs::read_to_string(stack.path("week-03/result.json")).expect("a file");
    let mut result: Value = serde_json::from_str(&result).expect("JSON");
    result["tiers"][0]["order"]
        .as_array_mut()
        .expect("an order")
        .swap(1, 2);
    let key = key(&draw, "result.json");
    stored::evidence(&stack).put(&key, result.to_string()).await;
    let skip = in_campaign(
        "draw skip --winner 1 --reason excluded --inspector Neema --yes --draw week-03",
    );
    let order = |place: usize| result["tiers"][0]["order"][place]["row"].clone();
    let skipped = stack.json(&skip).await;
    assert_eq!(skipped["next"][0]["row"], order(2), "the second, as drawn");
}

#[tokio::test]
async fn draw_on_quicknet_has_its_whole_notice() {
    let stack = with_entries().await;
    let env = [("BEACON_CHAIN", ""), ("RETRY_SPEEDUP", "1000000")];
    let env = env
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into_iter()
        .collect();
    let at = stack.clock.now().after(Duration::from_secs(60)).to_string();
    let output = stack.arg("soon");
    let own = format!("draw freeze --draw soon --at {at} --output {output} {PRIZE} {PERIOD}");
    let command = in_campaign(&own);
    let ended = run_with(&command, stack.env.clone().overridden_by(env), &stack.clock).await;
    assert!(
        ended.code == ops_core::EXIT_FAILURE && ended.err.contains("give 2026-03-01"),
        "{}",
        ended.err
    );
}

#[tokio::test]
async fn evidence_that_was_changed_is_not_drawn_from() {
    let stack = with_entries().await;
    // Changed before the round: later writes are late anyway.
    let draw = frozen(&stack, "list", PRIZE).await;
    let entries = key(&draw, "entries.csv");
    stored::evidence(&stack).put(&entries, "{}").await;
    let error = stack.refused(&run("list", &[])).await;
    assert_eq!(error["code"], "evidence_differs");
    let shown = shown(&stack, "list").await;
    assert_eq!(
        (&shown["state"], &shown["winners"]),
        (&json!("frozen"), &json!([]))
    );
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
    let env = [("BEACON_CHAIN".to_owned(), info.to_string())]
        .into_iter()
        .collect();
    let command = freeze(&stack, "past", "--prize Kettle=1 --json");
    let ended = run_with(
        &args(&command),
        stack.env.clone().overridden_by(env),
        &stack.clock,
    )
    .await;
    assert_eq!(ended.code, ops_core::EXIT_FAILURE, "{}", ended.out);
    assert!(
        ended.err.contains("\"not_configured\"") && ended.err.contains("hash of drand's quicknet"),
        "{}",
        ended.err
    );
    assert!(!stack.path("past").exists());
}

#[tokio::test]
async fn certificate_refuses_a_log_that_was_changed() {
    let stack = crate::draw_walk::drawn().await;
    let (draws, scope) = (stack.tables().await.draws, chai(Environment::Live));
    let contacts = draws
        .contacts(&scope, &"week-03".parse().expect("a name"))
        .await
        .expect("it answers");
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
    assert!(
        draws
            .change_contact(&scope, tea, &skipped)
            .await
            .expect("it answers")
    );
    let page = stack.arg("page.html");
    let certificate = format!("draw certificate --draw week-03 --output {page}");
    let error = stack.refused(&in_campaign(&certificate)).await;
    assert_eq!(error["code"], "draw_log_differs");
    assert!(
        error["message"]
            .as_str()
            .is_some_and(|message| message.contains("but it had none")),
        "{error}"
    );
    assert!(!stack.path("page.html").exists());
}
