//! A visitor's first sight of the console is what the service makes.

use common::clock::Clock;
use common::domain::message::MessageKey;
use common::domain::receipt::checks::{CheckResult, checks};
use common::domain::scope::{Environment, Scope};
use local::demo;
use ops_core::settle::OPERATOR_DECISION;

use super::SignedIn;
use crate::support::Stack;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn demo_has_an_open_draw_and_only_reasons_of_the_service() {
    let stack = Stack::empty().await;
    let clock: &Clock = &stack.clock;
    demo::load(&stack.env, None, "http://127.0.0.1:9/redeem", clock)
        .await
        .expect("it answers");
    let frozen = demo::draw::freeze(&stack.env, clock, true)
        .await
        .expect("it answers");
    demo::entries::load(&stack.env, clock, |_| {})
        .await
        .expect("it answers");
    demo::draw::walk(&stack.env, clock, &frozen)
        .await
        .expect("it answers");
    let operator = SignedIn::to(&stack).await;
    let draws = operator.page("/campaigns/chai-bora-2026/live/draws").await;
    assert_contains!(
        draws,
        ">frozen</span>",
        ">round is out</span>",
        ">abandoned</span>",
        ">drawn</span>"
    );
    let finished = operator
        .page("/campaigns/chai-bora-2026/live/draws/week-1")
        .await;
    assert_contains!(finished, "Every winner has an outcome");
    let draw = operator
        .page("/campaigns/chai-bora-2026/live/draws/demo")
        .await;
    assert_contains!(
        draw,
        "Winners without an outcome",
        "Winners with an outcome"
    );

    let campaigns = operator.page("/").await;
    assert_contains!(campaigns, "1 request");
    let overview = operator.page("/campaigns/bahati-2026/live").await;
    assert_contains!(overview, "The webhook at 127.0.0.1 fails since");

    let submissions = stack.tables().store.submissions().clone();
    for campaign in ["duka-kuu-2026", "soda-rush-2026", "mango-2025"] {
        let scope = Scope {
            campaign: campaign.parse().expect("a slug"),
            environment: Environment::Live,
        };
        let (all, _) = submissions
            .list(&scope, 2_000, |_| true)
            .await
            .expect("it answers");
        assert!(all.len() >= 300, "{campaign}: {}", all.len());
        for submission in all {
            let is_known = |reason: &String| {
                let is_check = checks(std::slice::from_ref(reason))
                    .iter()
                    .any(|(_, result)| matches!(result, CheckResult::Failed(_)));
                is_check || reason.parse::<MessageKey>().is_ok() || reason == OPERATOR_DECISION
            };
            assert!(
                submission.reasons.iter().all(is_known),
                "{:?}",
                submission.reasons
            );
            let is_waiting = submission.settling.is_some();
            let is_explained = checks(&submission.reasons)
                .iter()
                .any(|(_, result)| *result != CheckResult::NotReached);
            assert!(!is_waiting || is_explained, "{:?}", submission.reasons);
        }
    }
}
