//! Every answer of the tax authority, by the simulated portal's codes.

use common::domain::campaign::Window;
use common::domain::timestamp::Timestamp;
use serde_json::json;
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::receipts::{TIME, code_and_receipt, receipts_alone, rules};
use service_tests::text::text_of;

use super::{entered, set_up, status, submit_receipt, submit_typed};

#[tokio::test]
async fn a_receipt_is_received_first_and_judged_then() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let submitted = submit_typed(&campaign, &phone(1), "", "GOOD010001", TIME).await;
    assert_eq!(
        submitted.fields(["state", "message_key", "display_status"]),
        json!(["pending", "receipt_received", "checking"])
    );
    assert_eq!(
        submitted.fields(["terminal", "poll_after_seconds"]),
        json!([false, 2])
    );
    assert_eq!(settler.settle_due().await, 1);
    let settled = campaign.shown(&submitted).await;
    assert_eq!(
        settled.redacted(),
        json!([200, {
            "id": "[uuid]", "ref": "[ref]", "campaign": "[slug]", "livemode": true,
            "state": "accepted", "review_status": "verified", "display_status": "entered",
            "message_key": "entered", "message": settled.field("message"), "reasons": [],
            "entries": 1, "instant_win": null, "terminal": true, "poll_after_seconds": null, "replayed": false,
            "receipt": {
                "date": "[date]", "branch": "kko", "items_summary": "1 x CHAI BORA 250", "tra_verified": true,
            },
            "consent": { "version": null, "language": "en" }, "upstream": null, "created_at": "[time]", "updated_at": "[time]",
        }])
    );
    assert_eq!(settled.field("receipt")["date"], "2050-06-15");
    assert_eq!(
        settler.settle_due().await,
        0,
        "what is settled is not due any more"
    );
}

#[tokio::test]
async fn every_answer_that_settles_has_its_outcome() {
    let (campaign, settler) = set_up(|campaign| {
        receipts_alone(campaign);
        campaign.window.start = Some(common::domain::timestamp::Timestamp::from_millis(
            2_535_000_000_000,
        ));
    })
    .await;
    let cases = [
        ("GOOD020001", entered(), json!([])),
        ("OLDP010001", entered(), json!([])),
        (
            "VOID010001",
            json!(["rejected", "declined", "receipt_not_found", 0]),
            json!(["receipt_not_found", "receipt_cancelled"]),
        ),
        (
            "TRAI010001",
            json!(["rejected", "declined", "receipt_not_found", 0]),
            json!(["receipt_not_found", "receipt_from_training"]),
        ),
        (
            "OLDD010001",
            json!(["rejected", "declined", "receipt_outside_window", 0]),
            json!(["receipt_outside_window"]),
        ),
        (
            "SHOP010001",
            json!(["rejected", "declined", "receipt_wrong_store", 0]),
            json!(["receipt_wrong_store", "trader_unknown"]),
        ),
        (
            "SERI010001",
            json!(["rejected", "declined", "receipt_wrong_store", 0]),
            json!(["receipt_wrong_store", "fiscal_device_unknown"]),
        ),
        (
            "FUTR010001",
            json!(["pending", "under_review", "receipt_received", 0]),
            json!(["receipt_from_the_future"]),
        ),
        (
            "GENR010001",
            json!(["pending", "under_review", "receipt_received", 0]),
            json!(["no_product_matched"]),
        ),
        (
            "NOIT010001",
            json!(["pending", "under_review", "receipt_received", 0]),
            json!(["no_product_matched"]),
        ),
        (
            "INDX010001",
            json!(["unknown", null, "checking", 0]),
            json!(["referer_refused"]),
        ),
    ];
    for (number, (code, expected, reasons)) in (1..).zip(cases) {
        let submitted = submit_typed(&campaign, &phone(number), "", code, TIME).await;
        settler.settle_due().await;
        assert_eq!(status(&campaign, &submitted).await, expected, "{code}");
        let now = campaign.shown(&submitted).await;
        assert_eq!(now.field("reasons"), reasons, "{code}");
    }
}

#[tokio::test]
async fn what_was_bought_earns_entries_by_product_and_quantity() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let submitted = submit_typed(&campaign, &phone(1), "", "MANY010001", TIME).await;
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
    assert_eq!(
        now.field("entries"),
        json!(pieces[0] + 2 * pieces[1]),
        "{summary}"
    );
    assert!(pieces[0] > 1 && pieces[1] > 1, "{summary}");
    let lookup = campaign
        .live("POST", "/api/v1/submissions/lookup")
        .json(&json!({ "phone": phone(1) }))
        .send()
        .await;
    assert_eq!(lookup.field("total_entries"), now.field("entries"));
}

#[tokio::test]
async fn receipt_with_too_many_entries_goes_to_a_person() {
    let (mut campaign, settler) = set_up(receipts_alone).await;
    let submitted = submit_typed(&campaign, &phone(1), "", "MANY010001", TIME).await;
    settler.settle_due().await;
    let entries = status(&campaign, &submitted).await[3]
        .as_u64()
        .expect("a number");
    assert!(entries > 1);
    let most = u32::try_from(entries).expect("few");
    for (number, most, expected) in [
        (2, most, json!(["accepted", "verified", "entered", entries])),
        (
            3,
            most - 1,
            json!(["pending", "under_review", "receipt_received", 0]),
        ),
    ] {
        campaign.config.receipt.as_mut().expect("rules").max_entries = most;
        campaign.apply().await;
        let code = format!("MANY01000{number}");
        let submitted = submit_typed(&campaign, &phone(number), "", &code, TIME).await;
        settler.settle_due().await;
        assert_eq!(
            status(&campaign, &submitted).await,
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
            let mut config = plain();
            receipts_alone(&mut config);
            config.timezone = zone.parse().expect("a zone");
            let mut campaign = TestCampaign::on(&first.service, config).await;
            let submitted = submit_typed(&campaign, &phone(1), "", "GOOD010001", TIME).await;
            // Open when the receipt came, but the purchase's time decides.
            campaign.config.window = Window { start, end };
            campaign.apply().await;
            settler.settle_due().await;
            assert_eq!(
                status(&campaign, &submitted).await[2],
                expected,
                "{zone} {start:?} {end:?}"
            );
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
        assert_eq!(
            status(&campaign, &submitted).await,
            json!(["rejected", "declined", "receipt_time_mismatch", 0])
        );
    }
    let third = submit_typed(&campaign, &phone(1), "", "GOOD010001", TIME).await;
    assert_eq!(third.field("message_key"), "rate_limited");
    let receipt = campaign.typed(&campaign.live_key, "GOOD010001", TIME).await;
    let other = submit_receipt(&campaign, 2, &receipt).await;
    assert_eq!(
        other.field("message_key"),
        "receipt_received",
        "another phone is not throttled"
    );
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
        guesses.push(
            submit_typed(
                &campaign,
                &phone(1),
                "",
                "GOOD010001",
                &format!("11:11:{second}"),
            )
            .await,
        );
    }
    settler.settle_due().await;
    let mut keys = Vec::new();
    for guess in &guesses {
        keys.push(text_of(&status(&campaign, guess).await[2]).to_owned());
    }
    let asked = keys
        .iter()
        .filter(|key| *key == "receipt_time_mismatch")
        .count();
    let waiting = keys.iter().filter(|key| *key == "receipt_received").count();
    assert_eq!((asked, waiting), (2, 4), "{keys:?}");
}

#[tokio::test]
async fn receipt_without_product_is_declined_without_review() {
    let (campaign, settler) = set_up(|campaign| {
        receipts_alone(campaign);
        let on_no_match = common::domain::receipt::rules::OnNoMatch::Decline;
        campaign.receipt = Some(common::domain::receipt::rules::ReceiptRules {
            on_no_match,
            ..rules()
        });
    })
    .await;
    let submitted = submit_typed(&campaign, &phone(1), "", "GENR010001", TIME).await;
    settler.settle_due().await;
    let expected = json!(["rejected", "declined", "receipt_no_qualifying_product", 0]);
    assert_eq!(status(&campaign, &submitted).await, expected);
    let shown = campaign.shown(&submitted).await;
    assert_eq!(shown.field("display_status"), "needs_attention");
}

#[tokio::test]
async fn code_is_held_until_its_receipt_is_judged() {
    let (campaign, settler) = set_up(code_and_receipt).await;
    let code = campaign.code(1);
    let first = submit_typed(&campaign, &phone(1), &code, "SHOP010001", TIME).await;
    assert_eq!(first.field("message_key"), "receipt_received");
    let check = campaign
        .live("POST", "/api/v1/codes/check")
        .json(&json!({ "code": code }))
        .send()
        .await;
    assert_eq!(
        check.fields(["precheck", "message_key"]),
        json!(["already_used", "code_held"])
    );
    let held = submit_typed(&campaign, &phone(2), &code, "GOOD010001", TIME).await;
    assert_eq!(held.field("message_key"), "code_held");

    settler.settle_due().await;
    assert_eq!(
        status(&campaign, &first).await,
        json!(["rejected", "declined", "receipt_wrong_store", 0])
    );
    let again = submit_typed(&campaign, &phone(1), &code, "GOOD010002", TIME).await;
    assert_eq!(
        again.fields(["message_key", "replayed"]),
        json!(["receipt_received", false])
    );
    settler.settle_due().await;
    assert_eq!(status(&campaign, &again).await, entered());
    let used = submit_typed(&campaign, &phone(2), &code, "GOOD010003", TIME).await;
    assert_eq!(used.field("message_key"), "already_used");
}

#[tokio::test]
async fn a_test_receipt_that_is_no_sentinel_is_not_asked_for() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let key = &campaign.test_key;
    let receipt = campaign.typed(key, "GOOD010001", TIME).await;
    let submitted = campaign
        .with_receipt(key, &phone(1), "", &receipt)
        .send()
        .await;
    settler.settle_due().await;
    let expected = json!(["rejected", "declined", "receipt_not_found", 0]);
    assert_eq!(
        super::standing_with(&campaign, key, &submitted).await,
        expected
    );
}
