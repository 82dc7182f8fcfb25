//! The list of campaigns, and the form of one.

use common::domain::settling::PendingSettlement;
use common::domain::submission::Submission;

use super::SignedIn;
use crate::submission::{submission, waiting, write};
use crate::support::{CHAI, NOW, Stack};

#[tokio::test]
async fn campaigns_are_found_by_status_brand_and_text() {
    let stack = Stack::with_chai().await;
    let soda = CHAI
        .replace("chai-bora-2026", "soda-2026")
        .replace("Chai Bora", "Soda Rush");
    stack.apply(&soda).await;
    let juice = soda
        .replace("soda-2026", "juice-2026")
        .replace("Soda", "Juice");
    stack.apply(juice).await;
    stack.fine("campaign pause soda-2026").await;
    stack.fine("campaign pause juice-2026").await;
    stack.fine("campaign archive juice-2026").await;
    let operator = SignedIn::to(&stack).await;
    for (query, shown) in [
        ("", vec!["chai", "soda"]),
        ("?status=paused", vec!["soda"]),
        ("?status=archived", vec!["juice"]),
        ("?text=CHAI+bora", vec!["chai"]),
        ("?text=2026&status=live", vec!["chai"]),
        ("?text=nothing", vec![]),
    ] {
        let page = operator.page(&format!("/{query}")).await;
        for name in ["chai", "soda", "juice"] {
            let link = match name {
                "chai" => "href=\"/campaigns/chai-bora-2026/live\"".to_owned(),
                name => format!("href=\"/campaigns/{name}-2026/live\""),
            };
            assert_eq!(
                page.contains(&link),
                shown.contains(&name),
                "{query} {name}"
            );
        }
    }
}

#[tokio::test]
async fn campaigns_say_how_many_wait_for_a_person() {
    let stack = Stack::with_chai().await;
    let left = Submission {
        settling: Some(PendingSettlement::due_at(NOW, None).escalate(NOW)),
        ..submission(waiting(), None)
    };
    write(&stack, &left, None).await;
    let page = SignedIn::to(&stack).await.page("/").await;
    assert_contains!(
        page,
        "<a class=\"waiting\" href=\"/campaigns/chai-bora-2026/live/review\">1<span",
        "href=\"/campaigns/new\">New campaign</a>",
        "<span class=\"pill good\">live</span>"
    );
}
