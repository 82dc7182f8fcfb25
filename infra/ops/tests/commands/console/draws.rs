//! The draws of a campaign.

use std::time::Duration;

use serde_json::json;
use service_tests::text::{list_of, text_of};

use super::{Served, SignedIn};
use crate::draw::{DRAW, entered, freeze, shown};
use crate::draw_walk::{drawn, in_groups};
use crate::support::Stack;

const DRAWS: &str = "/campaigns/chai-bora-2026/live/draws";
const WINNER: &str = "/campaigns/chai-bora-2026/live/draws/week-03/winner?prize=Kettle&place=1";

#[tokio::test]
async fn a_draw_is_shown_with_what_comes_next() {
    let stack = Stack::with_chai().await;
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    assert_contains!(operator.page(DRAWS).await, "There are no draws yet");
    entered(&stack, "0711000001", 1).await;
    let frozen = stack
        .json(freeze(&stack, "week-03", "--prize Kettle<b>=1"))
        .await;
    assert_contains!(
        operator.page(DRAWS).await,
        "<span class=\"pill paused\">frozen</span>"
    );
    let draw = operator.page(&format!("{DRAWS}/week-03")).await;
    let groups = in_groups(text_of(&frozen["commitment"]));
    assert_contains!(draw, groups, "1 x Kettle&lt;b&gt;");
    assert_contains!(
        draw,
        "The round comes at 2026-03-01 03:15:00 Africa/Dar_es_Salaam, in "
    );
    // Nobody uses the console while the command waits for the round, so it ends.
    stack.fine(format!("draw run {DRAW}")).await;
    let operator = SignedIn::to(&stack).await;
    let draw = operator.page(&format!("{DRAWS}/week-03")).await;
    assert_contains!(draw, "Winners without an outcome", "+2557•••••001");
    assert_lacks!(draw, "711000", "Kettle<b>");
    for missing in [
        "week-04",
        "Week",
        "week-03/winner?prize=Kettle&place=1",
        "week-03/winner?place=x",
    ] {
        let path = format!("{DRAWS}/{missing}");
        assert_eq!(operator.status("GET", &path).await, 404, "{missing}");
    }
}

#[tokio::test]
async fn a_winner_is_called_and_gets_the_prize_as_by_the_command_line() {
    let stack = drawn().await;
    let operator = SignedIn::to(&stack).await;
    let page = operator.page(WINNER).await;
    assert_contains!(page, "value=\"no_answer\"");
    assert_lacks!(page, "value=\"handed_over\"", "71100");
    let shown = operator.post_for(200, WINNER, "step=show_phone").await;
    assert_contains!(shown.text, "+25571100");
    let early = operator.post_for(422, WINNER, "step=handed_over").await;
    assert_contains!(early.text, "the step does not follow");
    for step in ["no_answer", "reached", "identified", "handed_over"] {
        stack.clock.advance(Duration::from_secs(60));
        let step = format!("step={step}");
        operator.post_for(303, WINNER, &step).await;
    }
    let page = operator.page(WINNER).await;
    assert_contains!(page, "has the prize, logged by asha");
    assert_lacks!(page, "name=\"step\"");
    let actions = stack.audit_actions().await;
    let logged = [
        "draw.show_phone",
        "draw.call",
        "draw.call",
        "draw.confirm",
        "draw.hand_over",
    ];
    assert!(actions.ends_with(&logged.map(str::to_owned)), "{actions:?}");
}

#[tokio::test]
async fn skip_needs_a_reason_an_inspector_and_the_draws_name() {
    let stack = drawn().await;
    let operator = SignedIn::to(&stack).await;
    for wrong in [
        "step=skip&reason=excluded&inspector=Neema",
        "step=skip&reason=excluded&inspector=&typed=week-03",
        "step=skip&reason=erased&inspector=Neema&typed=week-03",
        "step=skip&reason=no_answer&inspector=Neema&typed=week-03",
        "step=drawn",
    ] {
        operator.post_for(422, WINNER, wrong).await;
    }
    let skip = "step=skip&reason=excluded&inspector=Neema&typed=week-03";
    let skipped = operator.post_for(303, WINNER, skip).await;
    assert_eq!(skipped.headers["location"], format!("{DRAWS}/week-03"));
    let shown = shown(&stack).await;
    let kettle: Vec<_> = list_of(&shown["winners"])
        .iter()
        .filter(|winner| winner["prize"] == "Kettle")
        .collect();
    assert_eq!(
        kettle[0]["state"],
        json!({ "is": "skipped", "reason": "excluded" })
    );
    assert_eq!(kettle[0]["steps"][1]["event"]["inspector"], "Neema");
    assert!(
        kettle.iter().any(|winner| winner["state"]["is"] == "drawn"),
        "{kettle:?}"
    );
}
