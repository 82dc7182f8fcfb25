//! Readable and unreadable photos: each ends in an outcome.

use common::domain::message::MessageKey;
use common::domain::submission::transition::{Findings, Transition};
use common::store::submission_writes::{SettleResult, SubmissionStore};
use receipt_photo::{Look, jpeg, png, qr_photo, webp};
use serde_json::json;
use service_tests::receipts::{id_of, receipts_alone};

use super::{entered, set_up, status, submit_receipt};

const PAYLOAD: &str = "https://verify.tra.go.tz/GOOD010001_101530";

fn photo(payloads: &[&str]) -> image::GrayImage {
    qr_photo(payloads, &Look::default(), 1).expect("a photo")
}

fn hopeless() -> image::GrayImage {
    qr_photo(
        &[PAYLOAD],
        &Look {
            blur: 15.0,
            shake: 40.0,
            ..Look::default()
        },
        1,
    )
    .expect("a photo")
}

#[tokio::test]
async fn photo_is_read_whatever_its_format_and_name() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let files = [
        ("GOOD010001", jpeg as fn(&image::GrayImage, u8) -> _),
        ("GOOD010002", |photo: &image::GrayImage, _| png(photo)),
        ("GOOD010003", |photo: &image::GrayImage, _| webp(photo)),
    ];
    for (number, (code, encode)) in (1..).zip(files) {
        let photo = photo(&[&format!("https://verify.tra.go.tz/{code}_101530")]);
        // Announced as JPEG, whatever they are.
        let receipt = campaign
            .photo(
                &campaign.live_key,
                &encode(&photo, 85).expect("a file"),
                None,
            )
            .await;
        let submitted = submit_receipt(&campaign, number, &receipt).await;
        settler.settle_due().await;
        assert_eq!(status(&campaign, &submitted).await, entered(), "{code}");
    }
}

#[tokio::test]
async fn a_payload_that_came_along_needs_no_reading() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let blank = jpeg(&hopeless(), 50).expect("a file");
    let receipt = campaign
        .photo(&campaign.live_key, &blank, Some(PAYLOAD))
        .await;
    let submitted = submit_receipt(&campaign, 1, &receipt).await;
    settler.settle_due().await;
    assert_eq!(status(&campaign, &submitted).await, entered());
}

#[tokio::test]
async fn unreadable_photo_is_for_a_person_and_no_picture_declined() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let good = jpeg(&photo(&[PAYLOAD]), 85).expect("a file");
    let review = |reason: &str| {
        (
            json!(["pending", "under_review", "receipt_received", 0]),
            json!([reason]),
        )
    };
    let declined = (
        json!(["rejected", "declined", "receipt_unreadable", 0]),
        json!(["receipt_unreadable", "photo_not_decoded"]),
    );
    let elsewhere = jpeg(&photo(&["https://example.com/GOOD010001_101530"]), 85).expect("a file");
    let no_time = jpeg(&photo(&["https://verify.tra.go.tz/GOOD010001"]), 85).expect("a file");
    let two = [
        "https://verify.tra.go.tz/GOOD010001_101530",
        "https://verify.tra.go.tz/GOOD010002_101530",
    ];
    let two = jpeg(&photo(&two), 85).expect("a file");
    let huge_png = [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(),
        &20_000u32.to_be_bytes(),
        &20_000u32.to_be_bytes(),
        b"\x08\0\0\0\0\xc6\x1b\x19\xe5",
    ]
    .concat();
    let huge_webp = b"RIFF\x1e\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff".to_vec();
    let animation = b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0\x0f\0\0\x0f\0\0".to_vec();
    let cases = [
        (
            "hopeless",
            jpeg(&hopeless(), 50).expect("a file"),
            review("no_qr_code"),
        ),
        ("elsewhere", elsewhere, review("no_receipt_in_qr_codes")),
        ("no time", no_time, review("no_time_in_qr_code")),
        ("two receipts", two, review("several_receipts_in_photo")),
        (
            "no picture",
            b"\xff\xd8\xff\xe0 and nothing more".to_vec(),
            declined.clone(),
        ),
        ("no header", good[..20].to_vec(), declined),
        ("truncated", good[..600].to_vec(), review("photo_damaged")),
        ("20,000 x 20,000", huge_png, review("photo_too_large")),
        ("a huge canvas", huge_webp, review("photo_too_large")),
        ("an animation", animation, review("photo_animated")),
    ];
    for (number, (what, file, (expected, reasons))) in (1..).zip(cases) {
        let receipt = campaign.photo(&campaign.live_key, &file, None).await;
        let submitted = submit_receipt(&campaign, number, &receipt).await;
        assert_eq!(
            submitted.field("message_key"),
            "receipt_received",
            "{what}: {}",
            submitted.text
        );
        assert_eq!(settler.settle_due().await, 1, "{what}");
        assert_eq!(status(&campaign, &submitted).await, expected, "{what}");
        let now = campaign.shown(&submitted).await;
        assert_eq!(now.field("reasons"), reasons, "{what}");
    }
}

#[tokio::test]
async fn photo_sent_before_names_the_submission_that_sent_it() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let file = jpeg(&hopeless(), 50).expect("a file");
    let mut submitted = Vec::new();
    for number in 1..=2 {
        let receipt = campaign.photo(&campaign.live_key, &file, None).await;
        submitted.push(submit_receipt(&campaign, number, &receipt).await);
        settler.settle_due().await;
    }
    let mut kept = Vec::new();
    for submitted in &submitted {
        let id = id_of(submitted).parse().expect("an id");
        let store = SubmissionStore::from_env(&campaign.service.env, &campaign.service.dynamodb())
            .expect("the tables");
        let scope = campaign.live_scope();
        kept.push(
            store
                .submissions()
                .get(&scope, id)
                .await
                .expect("the table")
                .expect("it is there"),
        );
    }
    assert_eq!(
        kept.iter()
            .map(|kept| kept.reasons[0].as_str())
            .collect::<Vec<_>>(),
        ["no_qr_code", "photo_seen_before"]
    );
    let anomaly = kept[1]
        .settling
        .as_ref()
        .and_then(|settling| settling.anomaly.as_ref())
        .expect("a surprise");
    assert_eq!(
        anomaly.summary,
        format!("submission {} sent the same photo", kept[0].reference())
    );
    // Once an operator rejects both, the file is new.
    let store = SubmissionStore::from_env(&campaign.service.env, &campaign.service.dynamodb())
        .expect("the tables");
    for before in &kept {
        let (transition, now) = (
            Transition::reject(MessageKey::ReceiptUnreadable),
            campaign.service.clock.now(),
        );
        let after = before
            .apply(&transition, Findings::default(), now)
            .expect("it is open");
        assert_eq!(
            store
                .settle(before, &after, None)
                .await
                .expect("it answers"),
            SettleResult::Committed
        );
    }
    let receipt = campaign.photo(&campaign.live_key, &file, None).await;
    let third = submit_receipt(&campaign, 3, &receipt).await;
    settler.settle_due().await;
    let now = campaign.shown(&third).await;
    assert_eq!(now.field("reasons"), json!(["no_qr_code"]));
}

#[tokio::test]
async fn ten_codes_of_one_receipt_are_one() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let polyglot = [
        jpeg(&photo(&[PAYLOAD]), 85).expect("a file"),
        b"PK\x03\x04<html><script>".to_vec(),
    ]
    .concat();
    let ten = jpeg(
        &photo(&["https://verify.tra.go.tz/GOOD010002_101530"; 10]),
        85,
    )
    .expect("a file");
    for (number, file) in [(1, polyglot), (2, ten)] {
        let receipt = campaign.photo(&campaign.live_key, &file, None).await;
        let submitted = submit_receipt(&campaign, number, &receipt).await;
        settler.settle_due().await;
        assert_eq!(status(&campaign, &submitted).await, entered(), "{number}");
    }
}
