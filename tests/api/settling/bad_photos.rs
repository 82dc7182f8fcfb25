//! Readable and unreadable photos: each ends in an outcome.

use common::domain::message::MessageKey;
use common::domain::submission::transition::{Findings, Transition};
use common::store::submission_writes::SettleResult;
use receipt_photo::{Look, jpeg, png, qr_photo, webp};
use serde_json::json;
use service_tests::campaign::TestCampaign;
use service_tests::http::Reply;
use service_tests::receipts::{Settler, id_of, receipts_alone};

use super::{ENTERED, UNDER_REVIEW, declined, photo_of, set_up, status, submit_receipt};

const PAYLOAD: &str = "https://verify.tra.go.tz/GOOD010001_101530";

fn hopeless() -> Vec<u8> {
    let look = Look {
        blur: 15.0,
        shake: 40.0,
        ..Look::default()
    };
    let photo = qr_photo(&[PAYLOAD], &look, 1).expect("a photo");
    jpeg(&photo, 50).expect("a file")
}

/// Uploads a photo, announced as JPEG, and settles its submission.
async fn settled(
    (campaign, settler): &(TestCampaign, Settler),
    number: u32,
    photo: &[u8],
    payload: Option<&str>,
) -> Reply {
    let receipt = campaign.photo(&campaign.live_key, photo, payload).await;
    let submitted = submit_receipt(campaign, number, &receipt).await;
    assert_eq!(submitted.field("message_key"), "receipt_received");
    assert_eq!(settler.settle_due().await, 1);
    submitted
}

#[tokio::test]
async fn photo_is_read_whatever_its_format_and_content() {
    let set_up = set_up(receipts_alone).await;
    let photo = |code: &str| {
        let payload = format!("https://verify.tra.go.tz/{code}_101530");
        qr_photo(&[&payload], &Look::default(), 1).expect("a photo")
    };
    let polyglot = [&photo_of(&[PAYLOAD]), &b"PK\x03\x04<html><script>"[..]].concat();
    let ten_codes = photo_of(&["https://verify.tra.go.tz/GOOD010004_101530"; 10]);
    let files = [
        png(&photo("GOOD010002")).expect("a file"),
        webp(&photo("GOOD010003")).expect("a file"),
        polyglot,
        ten_codes,
    ];
    for (number, file) in (1..).zip(files) {
        let submitted = settled(&set_up, number, &file, None).await;
        assert_eq!(status(&set_up.0, &submitted).await, ENTERED, "{number}");
    }
}

#[tokio::test]
async fn a_payload_that_came_along_needs_no_reading() {
    let set_up = set_up(receipts_alone).await;
    let submitted = settled(&set_up, 1, &hopeless(), Some(PAYLOAD)).await;
    assert_eq!(status(&set_up.0, &submitted).await, ENTERED);
}

#[tokio::test]
async fn unreadable_photo_is_for_a_person_and_no_picture_declined() {
    let set_up = set_up(receipts_alone).await;
    let good = photo_of(&[PAYLOAD]);
    let two = [PAYLOAD, "https://verify.tra.go.tz/GOOD010002_101530"];
    let huge_png = [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(),
        &20_000u32.to_be_bytes(),
        &20_000u32.to_be_bytes(),
        b"\x08\0\0\0\0\xc6\x1b\x19\xe5",
    ]
    .concat();
    let huge_webp = b"RIFF\x1e\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff";
    let animation = b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0\x0f\0\0\x0f\0\0";
    let elsewhere = photo_of(&["https://example.com/GOOD010001_101530"]);
    let no_time = photo_of(&["https://verify.tra.go.tz/GOOD010001"]);
    let cases: [(&[u8], &str); 8] = [
        (&hopeless(), "no_qr_code"),
        (&elsewhere, "no_receipt_in_qr_codes"),
        (&no_time, "no_time_in_qr_code"),
        (&photo_of(&two), "several_receipts_in_photo"),
        (&good[..600], "photo_damaged"),
        (&huge_png, "photo_too_large"),
        (huge_webp, "photo_too_large"),
        (animation, "photo_animated"),
    ];
    for (number, (file, reason)) in (1..).zip(cases) {
        let submitted = settled(&set_up, number, file, None).await;
        let now = status(&set_up.0, &submitted).await;
        assert_eq!(now, UNDER_REVIEW, "{reason}");
        let now = set_up.0.shown(&submitted).await;
        assert_eq!(now.field("reasons"), json!([reason]));
    }
    let nothing = b"\xff\xd8\xff\xe0 and nothing more".as_slice();
    for (number, file) in [(11, nothing), (12, &good[..20])] {
        let submitted = settled(&set_up, number, file, None).await;
        let now = status(&set_up.0, &submitted).await;
        assert_eq!(now, declined("receipt_unreadable"), "{number}");
        let reasons = set_up.0.shown(&submitted).await.field("reasons");
        let expected = json!(["receipt_unreadable", "photo_not_decoded"]);
        assert_eq!(reasons, expected, "{number}");
    }
}

#[tokio::test]
async fn photo_sent_before_names_the_submission_that_sent_it() {
    let set_up = set_up(receipts_alone).await;
    let (campaign, file) = (&set_up.0, hopeless());
    let mut kept = Vec::new();
    for number in 1..=2 {
        let submitted = settled(&set_up, number, &file, None).await;
        kept.push(campaign.record(&id_of(&submitted)).await);
    }
    let reasons = kept.iter().map(|kept| kept.reasons[0].as_str());
    assert_eq!(
        reasons.collect::<Vec<_>>(),
        ["no_qr_code", "photo_seen_before"]
    );
    let settling = kept[1].settling.clone().expect("it is open");
    assert_eq!(
        settling.anomaly.expect("a surprise").summary,
        format!("submission {} sent the same photo", kept[0].reference())
    );
    // Once an operator rejects both, the file is new.
    let reject = Transition::reject(MessageKey::ReceiptUnreadable);
    for before in &kept {
        let after = before.apply(&reject, Findings::default(), campaign.service.clock.now());
        let after = after.expect("it is open");
        let written = campaign.service.tables.store.settle(before, &after, None);
        assert_eq!(written.await.expect("it answers"), SettleResult::Committed);
    }
    let third = settled(&set_up, 3, &file, None).await;
    let reasons = campaign.shown(&third).await.field("reasons");
    assert_eq!(reasons, json!(["no_qr_code"]));
}
