//! The draws of a campaign.

use std::time::Duration;

use serde_json::json;

use super::Served;
use crate::draw::{args, entered, freeze};
use crate::draw_walk::{DRAW, drawn};
use crate::support::Stack;

const DRAWS: &str = "/campaigns/chai-bora-2026/live/draws";
const WINNER: &str = "/campaigns/chai-bora-2026/live/draws/week-03/winner?prize=Kettle&place=1";

#[tokio::test]
async fn a_draw_is_shown_with_what_comes_next() {
    let stack = Stack::with_chai().await;
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    assert!(
        operator
            .page(DRAWS)
            .await
            .contains("There are no draws yet")
    );
    entered(&stack, "0711000001", 1).await;
    let frozen = stack
        .json(&args(&freeze(&stack, "week-03", "--prize Kettle<b>=1")))
        .await;
    assert!(
        operator
            .page(DRAWS)
            .await
            .contains("<span class=\"pill paused\">frozen</span>")
    );
    let draw = operator.page(&format!("{DRAWS}/week-03")).await;
    let commitment = frozen["commitment"].as_str().expect("text").as_bytes();
    let groups: Vec<_> = commitment.chunks(4).map(String::from_utf8_lossy).collect();
    assert!(
        draw.contains(&groups.join(" ")) && draw.contains("1 x Kettle&lt;b&gt;"),
        "{draw}"
    );
    let next = "Next: the round comes at 2026-03-01 03:15:00 Africa/Dar_es_Salaam; after it, `ops draw run --campaign \
                chai-bora-2026 --draw week-03` draws the winners.";
    assert!(draw.contains(next), "{draw}");
    // Nobody uses the console while the command waits for the round, so it ends.
    stack.fine(&[&["draw", "run"], &DRAW[..]].concat()).await;
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    let draw = operator.page(&format!("{DRAWS}/week-03")).await;
    assert!(
        draw.contains("Winners without an outcome") && draw.contains("+2557•••••001"),
        "{draw}"
    );
    assert!(
        !draw.contains("711000") && !draw.contains("Kettle<b>"),
        "{draw}"
    );
    for missing in [
        "week-04",
        "Week",
        "week-03/winner?prize=Kettle&place=1",
        "week-03/winner?place=x",
    ] {
        let reply = operator
            .ask("GET", &format!("{DRAWS}/{missing}"))
            .send()
            .await;
        assert_eq!(reply.status, 404, "{missing}: {}", reply.text);
    }
}

#[tokio::test]
async fn a_winner_is_called_and_gets_the_prize_as_by_the_command_line() {
    let stack = drawn().await;
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    let page = operator.page(WINNER).await;
    assert!(
        page.contains("value=\"no_answer\"") && !page.contains("value=\"handed_over\""),
        "{page}"
    );
    assert!(!page.contains("71100"), "{page}");
    let shown = operator.post(WINNER, "step=show_phone").await;
    assert!(
        shown.status == 200 && shown.text.contains("+25571100"),
        "{}",
        shown.text
    );
    let early = operator.post(WINNER, "step=handed_over").await;
    assert!(
        early.status == 422 && early.text.contains("the step does not follow"),
        "{}",
        early.text
    );
    for step in ["no_answer", "reached", "identified", "handed_over"] {
        stack.clock.advance(Duration::from_secs(60));
        let reply = operator.post(WINNER, &format!("step={step}")).await;
        assert_eq!(reply.status, 303, "{step}: {}", reply.text);
    }
    let page = operator.page(WINNER).await;
    assert!(
        page.contains("has the prize, logged by asha") && !page.contains("name=\"step\""),
        "{page}"
    );
    let rows = stack.json(&["audit", "list"]).await;
    let actions: Vec<_> = rows["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row["action"].clone())
        .collect();
    let logged = [
        "draw.show_phone",
        "draw.call",
        "draw.call",
        "draw.confirm",
        "draw.hand_over",
    ];
    assert!(
        actions.ends_with(&logged.map(|action| json!(action))),
        "{actions:?}"
    );
}

#[tokio::test]
async fn skip_needs_a_reason_an_inspector_and_the_draws_name() {
    let stack = drawn().await;
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    for wrong in [
        "step=skip&reason=excluded&inspector=Neema",
        "step=skip&reason=excluded&inspector=&typed=week-03",
        "step=skip&reason=erased&inspector=Neema&typed=week-03",
        "step=skip&reason=no_answer&inspector=Neema&typed=week-03",
        "step=drawn",
    ] {
        let reply = operator.post(WINNER, wrong).await;
        assert_eq!(reply.status, 422, "{wrong}: {}", reply.text);
    }
    let skipped = operator
        .post(
            WINNER,
            "step=skip&reason=excluded&inspector=Neema&typed=week-03",
        )
        .await;
    assert_eq!(
        (skipped.status.as_u16(), &skipped.headers["location"]),
        (303, &format!("{DRAWS}/week-03").parse().expect("text"))
    );
    let shown = stack.json(&[&["draw", "show"], &DRAW[..]].concat()).await;
    let kettle: Vec<_> = shown["winners"]
        .as_array()
        .expect("a list")
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
