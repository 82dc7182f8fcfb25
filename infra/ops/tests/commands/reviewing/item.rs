//! The item under review: its photo, checks, and related submissions.

use super::*;

async fn shown(stack: &Stack, submission: &Submission) -> ReviewItem {
    let tables = support::tables_of(&with_photo_reader(stack));
    let copier = PhotoCopier::new(&tables).expect("all variables");
    let claimed = ClaimedSubmission {
        submission: submission.clone(),
        is_spot_check: false,
    };
    ReviewItem::load(&tables, &copier, claimed, NOW)
        .await
        .expect("it answers")
}

#[tokio::test]
async fn photo_is_shown_as_a_recorded_copy_without_its_place() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, photo(None), as_it_is).await;
    let file = photo_with_gps();
    let holds = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    assert!(holds(&file, b"Exif") && holds(&file, b"GPS"));
    upload(&stack, &waiting, file).await;
    let item = shown(&stack, &waiting).await;
    let Some(ShownPhoto::Copy(copy)) = item.photo else {
        panic!("{:?}", item.photo)
    };
    assert!(copy.starts_with(b"\xff\xd8\xff"));
    for part in [&b"Exif"[..], b"eXIf", b"GPS", b"39.2803", b"behind"] {
        assert!(!holds(&copy, part), "{part:?}");
    }
    let row = fields(&stack.last_audit_row().await, "action subject");
    assert_eq!(row, format!("submission.show {}", waiting.submission_id));
}

#[tokio::test]
async fn what_is_no_photo_is_not_shown() {
    let stack = Stack::with_chai().await;
    for (file, why) in [
        (
            Some(&b"<script>alert(1)</script>"[..]),
            "The file is not a photo.",
        ),
        (Some(b"\xff\xd8\xff\xe0"), "The file is not a photo."),
        (
            Some(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\0\0\0\x02\0\x08\0\0\0\0"),
            "The photo cannot be shown: it is damaged, too large or an animation.",
        ),
        (
            None,
            "The photo is not there: it was deleted, or never arrived.",
        ),
    ] {
        let waiting = with_receipt(&stack, photo(None), as_it_is).await;
        if let Some(file) = file {
            upload(&stack, &waiting, file.to_vec()).await;
        }
        assert_eq!(
            shown(&stack, &waiting).await.photo,
            Some(ShownPhoto::Nothing(why))
        );
    }
}

#[tokio::test]
async fn checks_of_the_service_are_told_after_reopening_too() {
    let stack = Stack::with_chai().await;
    let judged = |submission: Submission| Submission {
        reasons: vec!["no_product_matched".to_owned()],
        ..submission
    };
    let waiting = with_receipt(&stack, typed(), judged).await;
    let reopened = Submission {
        reasons: vec!["reopened".to_owned()],
        ..waiting.changed(NOW)
    };
    for submission in [waiting, reopened] {
        let checks = shown(&stack, &submission).await.checks;
        // There is no photo that was read.
        assert!(checks.iter().all(|(check, _)| *check != Check::Photo));
        assert_eq!(checks.first(), Some(&(Check::Code, CheckResult::Passed)));
        let product = Check::Rule(Rule::Product);
        assert!(checks.contains(&(product, CheckResult::Failed("no_product_matched"))));
    }
}

#[tokio::test]
async fn related_submissions_share_phone_receipt_file_or_basket() {
    let stack = Stack::with_chai().await;
    let tables = stack.tables();
    let claimed = DeclaredPurchase {
        items: vec![DeclaredItem {
            key: "chai".to_owned(),
            qty: 2,
        }],
        branch: None,
    };
    let claims = |submission: Submission| Submission {
        claimed: Some(claimed.clone()),
        ..submission
    };
    let of_another_phone = |submission: Submission| Submission {
        entrant_id: EntrantId::from_record("0123456789abcdef0123456789abcdef"),
        ..submission
    };
    let file = photo_with_gps();
    let first = with_receipt(&stack, photo(None), of_another_phone).await;
    let digest = photo_digest(&file);
    let nobody = tables
        .store
        .receipts()
        .claim_photo(&first.scope, &digest, first.submission_id, None, NOW)
        .await;
    assert_eq!(nobody.expect("it answers"), None);
    let accepted = with_receipt(&stack, typed(), of_another_phone).await;
    let id = accepted.submission_id.to_string();
    let code = code();
    let accept = format!(
        "submission settle {id} --accept --receipt-code {} --why seen",
        code.as_str()
    );
    stack.fine(&accept).await;
    let stranger = with_receipt(&stack, typed(), of_another_phone).await;
    let same_basket = with_receipt(&stack, typed(), claims).await;
    let qr = format!("https://verify.tra.go.tz/{}_101530", code.as_str());
    let looked_at = with_receipt(&stack, photo(Some(&qr)), claims).await;
    upload(&stack, &looked_at, file).await;
    let others = shown(&stack, &looked_at).await.related;
    let common = |of: &Submission| {
        let found = others
            .iter()
            .find(|other| other.submission.submission_id == of.submission_id);
        found.map(|other| other.relations.clone())
    };
    assert_eq!(common(&first), Some(vec![Relation::File]));
    assert_eq!(common(&accepted), Some(vec![Relation::Receipt]));
    assert_eq!(
        common(&same_basket),
        Some(vec![Relation::Phone, Relation::Basket])
    );
    assert_eq!([common(&stranger), common(&looked_at)], [None, None]);
}

#[tokio::test]
async fn a_code_that_an_operator_typed_is_no_record() {
    let stack = Stack::with_chai().await;
    let settled = with_receipt(&stack, photo(None), as_it_is).await;
    let id = settled.submission_id.to_string();
    let settle = async |code| {
        let accept = format!("--accept --receipt-code {code} --why read");
        let settle = format!("submission settle {id} {accept}");
        stack.fine(&settle).await
    };
    settle("MISREAD01").await;
    let tables = stack.tables();
    let get = || stored(&tables, settled.submission_id);
    let item = shown(&stack, &get().await).await;
    assert_eq!(
        (item.record(), item.code()),
        (None, None),
        "a second reviewer would see that it was accepted"
    );
    for _ in 0..2 {
        reopened(&stack, "juma", &id).await.expect("a step");
    }
    settle("READ0001").await;
    let purchase = get().await.purchase.expect("a purchase");
    assert_eq!(purchase.as_str(), "READ0001");
}
