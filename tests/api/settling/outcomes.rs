//! Every answer of the tax authority, by the simulated portal's codes.

use common::domain::campaign::{Campaign, Window};
use common::domain::receipt::rules::OnNoMatch;
use common::domain::timestamp::Timestamp;
use insta::assert_snapshot;
use serde_json::json;
use service_tests::campaign::{TestCampaign, phone};
use service_tests::receipts::{TIME, code_and_receipt, receipts_alone};
use service_tests::text::text_of;

use super::{
    ENTERED, UNDER_REVIEW, UNKNOWN, declined, enter, judged, set_up, status, status_with,
    submit_typed,
};

#[tokio::test]
async fn a_receipt_is_received_first_and_judged_then() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let submitted = enter(&campaign, 1, "GOOD010001").await;
    assert_eq!(
        submitted.fields("state message_key display_status terminal poll_after_seconds"),
        "pending receipt_received checking false 2"
    );
    assert_eq!(settler.settle_due().await, 1);
    let settled = campaign.shown(&submitted).await;
    assert_snapshot!(settled.snapshot(), @r#"
    200 {
      "campaign": "[slug]",
      "consent": {
        "language": "en",
        "version": null
      },
      "created_at": "[time]",
      "display_status": "entered",
      "entries": 1,
      "id": "[uuid]",
      "instant_win": null,
      "livemode": true,
      "message": "You are in! Keep your code or receipt until the campaign ends.",
      "message_key": "entered",
      "poll_after_seconds": null,
      "reasons": [],
      "receipt": {
        "branch": "kko",
        "date": "[date]",
        "items_summary": "1 x CHAI BORA 250",
        "tra_verified": true
      },
      "ref": "[ref]",
      "replayed": false,
      "review_status": "verified",
      "state": "accepted",
      "terminal": true,
      "updated_at": "[time]",
      "upstream": null
    }
    "#);
    assert_eq!(settled.field("receipt")["date"], "2050-06-15");
    assert_eq!(settler.settle_due().await, 0, "it is settled");
}

#[tokio::test]
async fn every_answer_that_settles_has_its_outcome() {
    let (campaign, settler) = set_up(|campaign| {
        receipts_alone(campaign);
        campaign.window.start = Some(Timestamp::from_millis(2_535_000_000_000));
    })
    .await;
    let entered = (ENTERED.to_owned(), json!([]));
    let refused = |key: &str, detail: &str| (declined(key), json!([key, detail]));
    let reviewed = |reason: &str| (UNDER_REVIEW.to_owned(), json!([reason]));
    let cases = [
        ("GOOD020001", entered.clone()),
        ("OLDP010001", entered),
        (
            "VOID010001",
            refused("receipt_not_found", "receipt_cancelled"),
        ),
        (
            "TRAI010001",
            refused("receipt_not_found", "receipt_from_training"),
        ),
        (
            "OLDD010001",
            (
                declined("receipt_outside_window"),
                json!(["receipt_outside_window"]),
            ),
        ),
        (
            "SHOP010001",
            refused("receipt_wrong_store", "trader_unknown"),
        ),
        (
            "SERI010001",
            refused("receipt_wrong_store", "fiscal_device_unknown"),
        ),
        ("FUTR010001", reviewed("receipt_from_the_future")),
        ("GENR010001", reviewed("no_product_matched")),
        ("NOIT010001", reviewed("no_product_matched")),
        (
            "INDX010001",
            (UNKNOWN.to_owned(), json!(["referer_refused"])),
        ),
    ];
    for (number, (code, (expected, reasons))) in (1..).zip(cases) {
        let submitted = enter(&campaign, number, code).await;
        settler.settle_due().await;
        assert_eq!(status(&campaign, &submitted).await, expected, "{code}");
        let now = campaign.shown(&submitted).await;
        assert_eq!(now.field("reasons"), reasons, "{code}");
    }
}

#[tokio::test]
async fn what_was_bought_earns_entries_by_product_and_quantity() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let submitted = enter(&campaign, 1, "MANY010001").await;
    settler.settle_due().await;
    let now = campaign.shown(&submitted).await;
    let summary = text_of(&now.field("receipt")["items_summary"]).to_owned();
    let pieces: Vec<u32> = summary
        .split(", ")
        .map(|line| {
            line.split(' ')
                .next()
                .expect("a number")
                .parse()
                .expect("a number")
        })
        .collect();
    assert_eq!(now.field("entries"), pieces[0] + 2 * pieces[1], "{summary}");
    assert!(pieces[0] > 1 && pieces[1] > 1, "{summary}");
    let lookup = campaign.live("POST", "/api/v1/submissions/lookup");
    let lookup = lookup.json(&json!({ "phone": phone(1) })).await;
    assert_eq!(lookup.field("total_entries"), now.field("entries"));
}

#[tokio::test]
async fn receipt_with_too_many_entries_goes_to_a_person() {
    let mut set_up = set_up(receipts_alone).await;
    let all = judged(&set_up, 1, "MANY010001").await;
    let most: u32 = all
        .rsplit(' ')
        .next()
        .expect("entries")
        .parse()
        .expect("a number");
    assert!(most > 1);
    for (number, most, expected) in [(2, most, all.as_str()), (3, most - 1, UNDER_REVIEW)] {
        set_up.0.config.receipt.as_mut().expect("rules").max_entries = most;
        set_up.0.apply().await;
        let code = format!("MANY01000{number}");
        assert_eq!(
            judged(&set_up, number, &code).await,
            expected,
            "at most {most}"
        );
    }
}

#[tokio::test]
async fn a_receipts_time_is_tanzanias_whatever_the_campaigns_zone() {
    // 10:15:30 in Dar es Salaam on 15 June 2050: 07:15:30 UTC.
    let bought = Timestamp::from_millis(2_538_890_130_000);
    let later = Timestamp::from_millis(bought.as_millis() + 1);
    let (first, settler) = set_up(receipts_alone).await;
    for zone in [
        "UTC",
        "Africa/Dar_es_Salaam",
        "Pacific/Auckland",
        "America/Los_Angeles",
    ] {
        for (start, end, expected) in [
            (Some(bought), Some(later), "entered"),
            (Some(later), None, "receipt_outside_window"),
            (None, Some(bought), "receipt_outside_window"),
        ] {
            let in_zone = |config: &mut Campaign| {
                receipts_alone(config);
                config.timezone = zone.parse().expect("a zone");
            };
            let mut campaign = TestCampaign::changed(&first.service, in_zone).await;
            let submitted = enter(&campaign, 1, "GOOD010001").await;
            // Open when the receipt came, but the purchase's time decides.
            campaign.config.window = Window { start, end };
            campaign.apply().await;
            settler.settle_due().await;
            let key = campaign.shown(&submitted).await.field("message_key");
            assert_eq!(key, expected, "{zone} {start:?} {end:?}");
        }
    }
}

#[tokio::test]
async fn a_wrong_time_is_told_and_counts_as_a_wrong_code() {
    let (campaign, settler) = set_up(|campaign| {
        receipts_alone(campaign);
        campaign.wrong_codes.count = 2;
    })
    .await;
    for code in ["GOOD010001", "TIME010001"] {
        let submitted = submit_typed(&campaign, &phone(1), "", code, "10:15").await;
        settler.settle_due().await;
        let expected = declined("receipt_time_mismatch");
        assert_eq!(status(&campaign, &submitted).await, expected);
    }
    // Another phone is not throttled.
    for (number, key) in [(1, "rate_limited"), (2, "receipt_received")] {
        let next = enter(&campaign, number, "GOOD010001").await;
        assert_eq!(next.field("message_key"), key);
    }
}

#[tokio::test]
async fn many_guesses_submitted_at_once_are_no_more_than_the_limit() {
    let (campaign, settler) = set_up(|campaign| {
        receipts_alone(campaign);
        campaign.wrong_codes.count = 2;
    })
    .await;
    let mut guesses = Vec::new();
    for second in 10..16 {
        let time = format!("11:11:{second}");
        guesses.push(submit_typed(&campaign, &phone(1), "", "GOOD010001", &time).await);
    }
    settler.settle_due().await;
    let mut keys = Vec::new();
    for guess in &guesses {
        let key = campaign.shown(guess).await.field("message_key");
        keys.push(text_of(&key).to_owned());
    }
    keys.sort();
    let (waiting, asked) = keys.split_at(4);
    assert_eq!(waiting, ["receipt_received"; 4]);
    assert_eq!(asked, ["receipt_time_mismatch"; 2]);
}

#[tokio::test]
async fn receipt_without_product_is_declined_without_review() {
    let (campaign, settler) = set_up(|campaign| {
        receipts_alone(campaign);
        campaign.receipt.as_mut().expect("rules").on_no_match = OnNoMatch::Decline;
    })
    .await;
    let submitted = enter(&campaign, 1, "GENR010001").await;
    settler.settle_due().await;
    assert_eq!(
        campaign
            .shown(&submitted)
            .await
            .fields("state review_status message_key display_status"),
        "rejected declined receipt_no_qualifying_product needs_attention"
    );
}

#[tokio::test]
async fn code_is_held_until_its_receipt_is_judged() {
    let (campaign, settler) = set_up(code_and_receipt).await;
    let code = campaign.code(1);
    let first = submit_typed(&campaign, &phone(1), &code, "SHOP010001", TIME).await;
    assert_eq!(first.field("message_key"), "receipt_received");
    let check = campaign.live("POST", "/api/v1/codes/check");
    let check = check.json(&json!({ "code": code })).await;
    assert_eq!(
        check.fields("precheck message_key"),
        "already_used code_held"
    );
    let held = submit_typed(&campaign, &phone(2), &code, "GOOD010001", TIME).await;
    assert_eq!(held.field("message_key"), "code_held");

    settler.settle_due().await;
    assert_eq!(
        status(&campaign, &first).await,
        declined("receipt_wrong_store")
    );
    let again = submit_typed(&campaign, &phone(1), &code, "GOOD010002", TIME).await;
    assert_eq!(
        again.fields("message_key replayed"),
        "receipt_received false"
    );
    settler.settle_due().await;
    assert_eq!(status(&campaign, &again).await, ENTERED);
    let used = submit_typed(&campaign, &phone(2), &code, "GOOD010003", TIME).await;
    assert_eq!(used.field("message_key"), "already_used");
}

#[tokio::test]
async fn a_test_receipt_that_is_no_sentinel_is_not_asked_for() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let key = &campaign.test_key;
    let receipt = campaign.typed(key, "GOOD010001", TIME).await;
    let submitted = campaign.with_receipt(key, &phone(1), "", &receipt).await;
    settler.settle_due().await;
    let now = status_with(&campaign, key, &submitted).await;
    assert_eq!(now, declined("receipt_not_found"));
}
