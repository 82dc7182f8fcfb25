//! A stranger can send wrong codes and times under any phone. The throttle slows such guesses at no
//! cost to the phone's owner.

use std::time::Duration;

use common::aws::settle_queue::SettleMessage;
use receipt_photo::{Look, jpeg, qr_photo};
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, phone};
use service_tests::http::Reply;
use service_tests::receipts::{Settler, TIME, code_and_receipt, id_of, receipts_alone};

use super::{SPEEDUP, entered, set_up, status, submit_typed};

const WAITS: fn() -> Value = || json!(["pending", null, "receipt_received", 0]);

async fn limited() -> (TestCampaign, Settler) {
    set_up(|campaign| {
        receipts_alone(campaign);
        campaign.wrong_codes.count = 2;
    })
    .await
}

async fn throttle(campaign: &TestCampaign, settler: &Settler, phone: &str) {
    for code in ["TIME010001", "TIME010002"] {
        submit_typed(campaign, phone, "", code, "11:11").await;
        settler.settle_due().await;
    }
    let refused = submit_typed(campaign, phone, "", "TIME010003", "11:11").await;
    assert_eq!(refused.field("message_key"), "rate_limited");
}

/// Uploads a photo without announcing its QR code.
async fn photo_of(campaign: &TestCampaign, payload: &str) -> String {
    let photo = jpeg(
        &qr_photo(&[payload], &Look::default(), 1).expect("a photo"),
        85,
    )
    .expect("a file");
    campaign.photo(&campaign.live_key, &photo, None).await
}

async fn submit(campaign: &TestCampaign, phone: &str, receipt: &str) -> Reply {
    campaign
        .with_receipt(&campaign.live_key, phone, "", receipt)
        .send()
        .await
}

#[tokio::test]
async fn pending_receipt_outlives_what_a_stranger_sends() {
    let (campaign, settler) = limited().await;
    let late = submit_typed(&campaign, &phone(1), "", "LATE010001", TIME).await;
    settler.settle_due().await;
    throttle(&campaign, &settler, &phone(1)).await;
    // Due after fifteen minutes, but the throttle lasts longer.
    assert_eq!(
        settler
            .settle_after(Duration::from_mins(15) / SPEEDUP)
            .await,
        1
    );
    assert_eq!(status(&campaign, &late).await, WAITS());
    assert_eq!(
        settler.settle_after(Duration::from_mins(50)).await,
        0,
        "this wait is not shortened"
    );
    settler.settle_after(Duration::from_mins(10)).await;
    settler
        .settle_after(Duration::from_hours(1) / SPEEDUP)
        .await;
    assert_eq!(status(&campaign, &late).await, entered());
}

#[tokio::test]
async fn day_old_receipt_is_looked_up_though_throttled() {
    let (campaign, settler) = limited().await;
    let scope = campaign.live_scope();
    let message = |reply: &Reply| SettleMessage {
        scope: scope.clone(),
        submission_id: id_of(reply).parse().expect("an id"),
    };
    let waiting = submit_typed(&campaign, &phone(1), "", "GOOD010001", TIME).await;
    // Then the purchase is dated after the submission, so an operator decides.
    let looked_up = json!(["pending", "under_review", "receipt_received", 0]);
    for (wait, expected) in [(23, WAITS()), (1, looked_up)] {
        campaign.service.clock.advance(Duration::from_hours(wait));
        for number in 1..=2 {
            let code = format!("TIME01{wait}{number}");
            let guess = submit_typed(&campaign, &phone(1), "", &code, "11:11").await;
            if guess.field("message_key") == "receipt_received" {
                settler.deliver(&message(&guess)).await;
            }
        }
        settler.deliver(&message(&waiting)).await;
        assert_eq!(
            status(&campaign, &waiting).await,
            expected,
            "after {wait} hours more"
        );
    }
}

#[tokio::test]
async fn a_throttled_phone_still_enters_with_a_photo() {
    let (campaign, settler) = limited().await;
    throttle(&campaign, &settler, &phone(1)).await;
    let receipt = photo_of(&campaign, "https://verify.tra.go.tz/GOOD010001_101530").await;
    let submitted = submit(&campaign, &phone(1), &receipt).await;
    assert_eq!(
        submitted.field("message_key"),
        "receipt_received",
        "{}",
        submitted.text
    );
    settler.settle_due().await;
    assert_eq!(status(&campaign, &submitted).await, entered());
}

#[tokio::test]
async fn photos_payload_waits_for_the_end_of_the_throttle() {
    let (campaign, settler) = limited().await;
    throttle(&campaign, &settler, &phone(1)).await;
    let photo = jpeg(&qr_photo(&["x"], &Look::default(), 1).expect("a photo"), 85).expect("a file");
    let payload = Some("https://verify.tra.go.tz/GOOD010001_101530");
    let receipt = campaign.photo(&campaign.live_key, &photo, payload).await;
    let submitted = submit(&campaign, &phone(1), &receipt).await;
    settler.settle_due().await;
    assert_eq!(status(&campaign, &submitted).await, WAITS());
    settler.settle_after(Duration::from_hours(1)).await;
    assert_eq!(status(&campaign, &submitted).await, entered());
}

#[tokio::test]
async fn a_time_that_the_service_read_out_of_a_photo_is_no_guess() {
    let (campaign, settler) = limited().await;
    for number in 1..=3 {
        let receipt = photo_of(
            &campaign,
            &format!("https://verify.tra.go.tz/TIME01000{number}_111111"),
        )
        .await;
        let submitted = submit(&campaign, &phone(1), &receipt).await;
        settler.settle_due().await;
        assert_eq!(
            status(&campaign, &submitted).await[2],
            "receipt_time_mismatch",
            "{number}"
        );
    }
    let scope = campaign.live_scope();
    let phone = phone(1).parse().expect("a phone");
    let entrant = campaign
        .service
        .entrant(&scope, &phone, "")
        .await
        .expect("the table");
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
    let mut open = Vec::new();
    for number in 1..=20 {
        open.push(
            submit_typed(
                &campaign,
                &phone(1),
                "",
                &format!("LATE0100{number:02}"),
                TIME,
            )
            .await,
        );
    }
    let receipt = campaign.typed(&campaign.live_key, "GOOD010001", TIME).await;
    let one_more = submit(&campaign, &phone(1), &receipt).await;
    assert_eq!(
        (one_more.status.as_u16(), one_more.field("message_key")),
        (200, json!("rate_limited"))
    );
    let unused = campaign
        .live("GET", &format!("/api/v1/receipts/{receipt}"))
        .send()
        .await;
    assert_eq!(
        unused.field("state"),
        "uploaded",
        "it is attached to nothing"
    );
    let other = submit_typed(&campaign, &phone(2), "", "GENR010001", TIME).await;
    assert_eq!(
        other.field("message_key"),
        "receipt_received",
        "another phone has its own"
    );
    for wait in [0, 15, 60] {
        settler.settle_after(Duration::from_secs(wait)).await;
    }
    assert_eq!(status(&campaign, &open[0]).await, entered());
    let now = submit(&campaign, &phone(1), &receipt).await;
    assert_eq!(now.field("message_key"), "receipt_received");
}

#[tokio::test]
async fn a_receipt_that_waits_for_a_person_does_not_count_as_open() {
    let (campaign, settler) = set_up(receipts_alone).await;
    for number in 1..=21 {
        let submitted = submit_typed(
            &campaign,
            &phone(1),
            "",
            &format!("GENR0100{number:02}"),
            TIME,
        )
        .await;
        assert_eq!(
            submitted.field("message_key"),
            "receipt_received",
            "{number}"
        );
        settler.settle_due().await;
    }
    let scope = campaign.live_scope();
    let phone = phone(1).parse().expect("a phone");
    let entrant = campaign
        .service
        .entrant(&scope, &phone, "")
        .await
        .expect("the table");
    assert_eq!((entrant.open_receipts, entrant.total), (0, 21));
}

#[tokio::test]
async fn earlier_submission_comes_back_whatever_the_receipt() {
    let (campaign, settler) = set_up(code_and_receipt).await;
    let code = campaign.code(1);
    let first = submit_typed(&campaign, &phone(1), &code, "GOOD010001", TIME).await;
    settler.settle_due().await;
    let attached = id_of(&first);
    let used = campaign.read(&campaign.live_key, &attached).await;
    assert_eq!(used.field("state"), "accepted");
    let fresh = campaign.typed(&campaign.live_key, "GOOD010002", TIME).await;
    for receipt in [fresh.as_str(), "00000000-0000-4000-8000-000000000000"] {
        let again = campaign
            .with_receipt(&campaign.live_key, &phone(1), &code, receipt)
            .send()
            .await;
        assert_eq!(
            again.fields(["id", "replayed"]),
            json!([attached, true]),
            "{receipt}: {}",
            again.text
        );
    }
}
