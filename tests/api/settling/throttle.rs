//! A stranger can send wrong codes and times under any phone. The throttle slows such guesses at no
//! cost to the phone's owner.

use std::time::Duration;

use common::domain::scope::Environment;
use service_tests::campaign::{TestCampaign, phone};
use service_tests::receipts::{Settler, TIME, code_and_receipt, id_of, receipts_alone};

use super::{
    ENTERED, PENDING, SPEEDUP, UNDER_REVIEW, enter, photo_of, set_up, status, submit_receipt,
    submit_typed,
};

async fn limited() -> (TestCampaign, Settler) {
    set_up(|campaign| {
        receipts_alone(campaign);
        campaign.wrong_codes.count = 2;
    })
    .await
}

async fn throttle(campaign: &TestCampaign, settler: &Settler) {
    let guess = async |code| submit_typed(campaign, &phone(1), "", code, "11:11").await;
    for code in ["TIME010001", "TIME010002"] {
        guess(code).await;
        settler.settle_due().await;
    }
    assert_eq!(
        guess("TIME010003").await.field("message_key"),
        "rate_limited"
    );
}

#[tokio::test]
async fn pending_receipt_outlives_what_a_stranger_sends() {
    let (campaign, settler) = limited().await;
    let late = enter(&campaign, 1, "LATE010001").await;
    settler.settle_due().await;
    throttle(&campaign, &settler).await;
    // Due after fifteen minutes, but the throttle lasts longer.
    let due = settler
        .settle_after(Duration::from_mins(15) / SPEEDUP)
        .await;
    assert_eq!(due, 1);
    assert_eq!(status(&campaign, &late).await, PENDING);
    let due = settler.settle_after(Duration::from_mins(50)).await;
    assert_eq!(due, 0, "this wait is not shortened");
    settler.settle_after(Duration::from_mins(10)).await;
    settler
        .settle_after(Duration::from_hours(1) / SPEEDUP)
        .await;
    assert_eq!(status(&campaign, &late).await, ENTERED);
}

#[tokio::test]
async fn day_old_receipt_is_looked_up_though_throttled() {
    let (campaign, settler) = limited().await;
    let waiting = enter(&campaign, 1, "GOOD010001").await;
    // Then the purchase is dated after the submission, so an operator decides.
    for (wait, expected) in [(23, PENDING), (1, UNDER_REVIEW)] {
        campaign.advance(Duration::from_hours(wait));
        for number in 1..=2 {
            let code = format!("TIME01{wait}{number}");
            let guess = submit_typed(&campaign, &phone(1), "", &code, "11:11").await;
            if guess.field("message_key") == "receipt_received" {
                settler.deliver(&campaign.message(&id_of(&guess))).await;
            }
        }
        settler.deliver(&campaign.message(&id_of(&waiting))).await;
        let now = status(&campaign, &waiting).await;
        assert_eq!(now, expected, "after {wait} hours more");
    }
}

#[tokio::test]
async fn a_throttled_phone_still_enters_with_a_photo() {
    let (campaign, settler) = limited().await;
    throttle(&campaign, &settler).await;
    let photo = photo_of(&["https://verify.tra.go.tz/GOOD010001_101530"]);
    let receipt = campaign.photo(&campaign.live_key, &photo, None).await;
    let submitted = submit_receipt(&campaign, 1, &receipt).await;
    assert_eq!(submitted.field("message_key"), "receipt_received");
    settler.settle_due().await;
    assert_eq!(status(&campaign, &submitted).await, ENTERED);
}

#[tokio::test]
async fn photos_payload_waits_for_the_end_of_the_throttle() {
    let (campaign, settler) = limited().await;
    throttle(&campaign, &settler).await;
    let payload = Some("https://verify.tra.go.tz/GOOD010001_101530");
    let receipt = campaign
        .photo(&campaign.live_key, &photo_of(&["x"]), payload)
        .await;
    let submitted = submit_receipt(&campaign, 1, &receipt).await;
    settler.settle_due().await;
    assert_eq!(status(&campaign, &submitted).await, PENDING);
    settler.settle_after(Duration::from_hours(1)).await;
    assert_eq!(status(&campaign, &submitted).await, ENTERED);
}

#[tokio::test]
async fn a_time_that_the_service_read_out_of_a_photo_is_no_guess() {
    let (campaign, settler) = limited().await;
    for number in 1..=3 {
        let payload = format!("https://verify.tra.go.tz/TIME01000{number}_111111");
        let photo = photo_of(&[&payload]);
        let receipt = campaign.photo(&campaign.live_key, &photo, None).await;
        let submitted = submit_receipt(&campaign, 1, &receipt).await;
        settler.settle_due().await;
        let key = campaign.shown(&submitted).await.field("message_key");
        assert_eq!(key, "receipt_time_mismatch", "{number}");
    }
    let entrant = campaign.entrant(Environment::Live, 1).await;
    assert_eq!(entrant.wrong_codes, []);
}

#[tokio::test]
async fn throttled_phones_refusal_does_not_tell_wrong_codes_by_time() {
    let (campaign, _) = set_up(|campaign| campaign.wrong_codes.count = 1).await;
    assert_eq!(campaign.outcome(&phone(1), "WRONG").await, "invalid");
    for code in [campaign.code(1), "WRONG".to_owned()] {
        let started = tokio::time::Instant::now();
        assert_eq!(campaign.outcome(&phone(1), &code).await, "rate_limited");
        assert!(
            started.elapsed() >= Duration::from_millis(200),
            "{code}: both wait for the same moment"
        );
    }
}

#[tokio::test]
async fn a_phone_has_at_most_twenty_receipts_that_are_to_be_settled() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let first = enter(&campaign, 1, "LATE010001").await;
    for number in 2..=20 {
        enter(&campaign, 1, &format!("LATE0100{number:02}")).await;
    }
    let receipt = campaign.typed(&campaign.live_key, "GOOD010001", TIME).await;
    let one_more = submit_receipt(&campaign, 1, &receipt).await;
    assert_eq!(one_more.field("message_key"), "rate_limited");
    let unused = campaign
        .live("GET", &format!("/api/v1/receipts/{receipt}"))
        .await;
    assert_eq!(
        unused.field("state"),
        "uploaded",
        "it is attached to nothing"
    );
    let other = enter(&campaign, 2, "GENR010001").await;
    let key = other.field("message_key");
    assert_eq!(key, "receipt_received", "another phone has its own");
    for wait in [0, 15, 60] {
        settler.settle_after(Duration::from_secs(wait)).await;
    }
    assert_eq!(status(&campaign, &first).await, ENTERED);
    let now = submit_receipt(&campaign, 1, &receipt).await;
    assert_eq!(now.field("message_key"), "receipt_received");
}

#[tokio::test]
async fn a_receipt_that_waits_for_a_person_does_not_count_as_open() {
    let (campaign, settler) = set_up(receipts_alone).await;
    for number in 1..=21 {
        let submitted = enter(&campaign, 1, &format!("GENR0100{number:02}")).await;
        let key = submitted.field("message_key");
        assert_eq!(key, "receipt_received", "{number}");
        settler.settle_due().await;
    }
    let entrant = campaign.entrant(Environment::Live, 1).await;
    assert_eq!((entrant.open_receipts, entrant.total), (0, 21));
}

#[tokio::test]
async fn earlier_submission_comes_back_whatever_the_receipt() {
    let (campaign, settler) = set_up(code_and_receipt).await;
    let (key, code) = (&campaign.live_key, campaign.code(1));
    let first = submit_typed(&campaign, &phone(1), &code, "GOOD010001", TIME).await;
    settler.settle_due().await;
    assert_eq!(campaign.shown(&first).await.field("state"), "accepted");
    let replay = format!("{} true", id_of(&first));
    let fresh = campaign.typed(key, "GOOD010002", TIME).await;
    for receipt in [fresh.as_str(), "00000000-0000-4000-8000-000000000000"] {
        let again = campaign.with_receipt(key, &phone(1), &code, receipt).await;
        assert_eq!(again.fields("id replayed"), replay, "{receipt}");
    }
}
