//! The instant prizes of a campaign.

use std::time::Duration;

use service_tests::text::list_of;

use super::SignedIn;
use crate::prize::{HANDED_OVER, walk, won};
use crate::support::Stack;

const PRIZES: &str = "/campaigns/chai-bora-2026/live/prizes";

#[tokio::test]
async fn winner_is_called_and_gets_the_prize_as_by_the_command_line() {
    let stack = Stack::with_chai().await;
    let operator = SignedIn::to(&stack).await;
    assert_contains!(operator.page(PRIZES).await, "No instant prize was won yet");
    let done = won(&stack).await;
    walk(&stack, &done, &HANDED_OVER).await;
    let won = won(&stack).await;
    let overview = operator.page("/campaigns/chai-bora-2026/live").await;
    assert_contains!(overview, "1 instant prizes: call the winners");
    let list = operator.page(PRIZES).await;
    assert_contains!(
        list,
        "A kettle",
        "to be called 1",
        "handed over 1",
        "+2557•••••678"
    );
    let called = operator.page(&format!("{PRIZES}?status=won")).await;
    assert_contains!(called, won.reference().to_string());
    assert_lacks!(called, done.reference().to_string());

    let winner = format!("{PRIZES}/{}", won.submission_id);
    assert_lacks!(
        operator.page(&winner).await,
        "712345678",
        "value=\"handed_over\""
    );
    let shown = operator.post_for(200, &winner, "step=show_phone").await;
    assert_contains!(shown.text, "+255712345678");
    let early = operator.post_for(422, &winner, "step=handed_over").await;
    assert_contains!(early.text, "the step does not follow");
    for step in ["no_answer", "reached", "identified", "handed_over"] {
        stack.clock.advance(Duration::from_secs(60));
        let step = format!("step={step}");
        operator.post_for(303, &winner, &step).await;
    }
    let page = operator.page(&winner).await;
    assert_contains!(page, "has the prize, logged by asha");
    assert_lacks!(page, "name=\"step\"");
    let test = PRIZES.replace("live", "test");
    for missing in [
        format!("{test}/{}", won.submission_id),
        format!("{PRIZES}/nothing"),
    ] {
        assert_eq!(operator.status("GET", &missing).await, 404, "{missing}");
    }
}

#[tokio::test]
async fn forfeiting_needs_a_reason_a_witness_and_the_reference() {
    let stack = Stack::with_chai().await;
    let won = won(&stack).await;
    let operator = SignedIn::to(&stack).await;
    let (winner, reference) = (format!("{PRIZES}/{}", won.submission_id), won.reference());
    for wrong in [
        "step=skip&reason=excluded&inspector=Neema".to_owned(),
        format!("step=skip&reason=excluded&inspector=&typed={reference}"),
        format!("step=skip&reason=revoked&inspector=Neema&typed={reference}"),
        format!("step=skip&reason=no_answer&inspector=Neema&typed={reference}"),
    ] {
        operator.post_for(422, &winner, &wrong).await;
    }
    let forfeit = format!("step=skip&reason=excluded&inspector=Neema&typed={reference}");
    let forfeited = operator.post_for(303, &winner, &forfeit).await;
    assert_eq!(forfeited.headers["location"], PRIZES);
    let listed = stack.json("prize list --campaign chai-bora-2026").await;
    let prize = &list_of(&listed["prizes"])[0];
    assert_eq!(prize["status"], "forfeited");
    assert_eq!(prize["steps"][0]["event"]["inspector"], "Neema");
}
