//! A campaign's overview, and its pause switch.

use super::Served;
use crate::numbers::counted;
use crate::support::Stack;

const OVERVIEW: &str = "/campaigns/chai-bora-2026/live";

#[tokio::test]
async fn a_campaign_is_paused_and_resumed_as_by_the_command_line() {
    let stack = Stack::with_chai().await;
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    for (switch, paused, action) in [("pause", true, "campaign.pause"), ("resume", false, "campaign.resume")]
    {
        let reply = operator.post(&format!("{OVERVIEW}/{switch}"), "").await;
        assert_eq!(
            (reply.status.as_u16(), &reply.headers["location"]),
            (303, &OVERVIEW.parse().expect("text"))
        );
        assert_eq!(stack.json(&["campaign", "show", "chai-bora-2026"]).await["paused"], paused);
        let rows = stack.json(&["audit", "list"]).await;
        let last = rows["rows"].as_array().and_then(|rows| rows.last()).expect("a row");
        assert_eq!(last["action"], action);
        assert_eq!(last["campaign"], "chai-bora-2026");
    }
    assert!(operator.page(OVERVIEW).await.contains("Pause the campaign"));
}

#[tokio::test]
async fn a_campaign_that_is_not_there_is_said_so() {
    let stack = Stack::with_chai().await;
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    for path in ["/campaigns/other/live", "/campaigns/chai-bora-2026/staging", "/campaigns/UPPER/live"] {
        let reply = operator.ask("GET", path).send().await;
        assert_eq!(reply.status, 404, "{path}");
        assert!(reply.text.contains("aria-label=\"Pages\""), "with the navigation: {}", reply.text);
    }
    let reply = operator.post("/campaigns/other/live/pause", "").await;
    assert_eq!(reply.status, 404);
}

#[tokio::test]
async fn the_overview_shows_the_numbers_that_are_counted() {
    let (stack, _) = counted().await;
    let console = Served::start(&stack).await;
    let page = console.sign_in().await.page(OVERVIEW).await;
    let numbers = stack.json(&["numbers", "--campaign", "chai-bora-2026"]).await;
    for name in ["submissions", "entries", "phones"] {
        assert!(page.contains(&format!("<dd>{}</dd>", numbers[name])), "{name}: {page}");
    }
    for text in [
        // The plots, and the table beneath: one of two submissions is accepted, with two entries.
        "<figcaption>Entries by day</figcaption>",
        "2026-03-01: 2</title>",
        "<td>2026-03-02</td><td>1</td><td>2</td>",
        "<td>accepted, instant win</td><td>1</td>",
        "<td>1 of 5</td>",
        // One of five kettles is won.
        "<td>4 of 5</td>",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
}
