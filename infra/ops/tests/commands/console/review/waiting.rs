//! Links to one receipt, and the list of what waits.

use super::*;

const LIST: &str = "/campaigns/chai-bora-2026/live/review/waiting";

fn because(reason: &'static str) -> impl FnOnce(Submission) -> Submission {
    move |submission| Submission {
        reasons: vec![reason.to_owned()],
        ..submission
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn linked_receipt_comes_first_or_says_why_not() {
    let stack = Stack::with_chai().await;
    with_receipt(&stack, typed(), as_it_is).await;
    let linked = with_receipt(&stack, typed(), as_it_is).await;
    let link = format!("{REVIEW}?id={}", linked.submission_id);
    let operator = SignedIn::to(&stack).await;
    let page = operator.page(&link).await;
    let screen = Screen::on(operator, &page);
    let card = screen.send(200, "next", "").await;
    assert_contains!(card, format!("data-id=\"{}\"", linked.submission_id));
    let other = SignedIn::to(&stack).await;
    assert_contains!(other.page(&link).await, "open with asha right now");
    let reject = answer_to(&linked, "verdict=reject&reason=receipt_wrong_store");
    screen.send(204, "answer", &reject).await;
    assert_contains!(
        other.page(&link).await,
        "waits no more: asha rejected it at",
        ", wrong store"
    );
    let unknown = format!("{REVIEW}?id={}", random::submission_id());
    for unknown in [&unknown, &format!("{REVIEW}?id=x")] {
        assert_contains!(
            other.page(unknown).await,
            "There is no submission with this id"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_has_what_waits_by_reason() {
    let stack = Stack::with_chai().await;
    let torn = with_receipt(&stack, photo(None), because("photo_damaged")).await;
    let other = with_receipt(&stack, typed(), because("no_product_matched")).await;
    let operator = SignedIn::to(&stack).await;
    let [torn, other] = [torn, other].map(|one| one.reference().to_string());
    let all = operator.page(LIST).await;
    assert_contains!(all, "2 wait.", "photo damaged (1)", &torn, &other);
    let some = operator.page(&format!("{LIST}?reason=photo_damaged")).await;
    assert_contains!(some, &torn);
    assert_lacks!(some, &other);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn receipts_of_a_basket_are_rejected_together_once() {
    let stack = Stack::with_chai().await;
    let claims = |qty| {
        move |submission: Submission| Submission {
            claimed: Some(DeclaredPurchase {
                items: vec![DeclaredItem {
                    key: "chai".to_owned(),
                    qty,
                }],
                branch: None,
            }),
            ..submission
        }
    };
    let reviewed = with_receipt(&stack, typed(), claims(2)).await;
    // Only the first is on the screen.
    let _screen = Screen::with_first(&stack).await;
    let (one, two) = (
        with_receipt(&stack, typed(), claims(2)).await,
        with_receipt(&stack, typed(), claims(2)).await,
    );
    let other = with_receipt(&stack, typed(), claims(3)).await;
    let operator = SignedIn::to(&stack).await;
    let page = operator
        .page(&format!("{LIST}?same={}", one.submission_id))
        .await;
    assert_eq!(page.matches("type=\"checkbox\"").count(), 3, "{page}");
    assert_lacks!(page, other.reference().to_string());
    let seen = |one: &Submission| format!("{}:{}", one.submission_id, one.revision);
    let all = [&reviewed, &one, &two].map(seen);
    let reason = "reason=receipt_already_used";
    let ticked = all.iter().map(|one| format!("&{one}=yes"));
    let fields = format!(
        "{reason}&all={}{}",
        all.join(","),
        ticked.collect::<String>()
    );
    let asked = operator.post_for(200, LIST, &fields).await.text;
    let message = MessageKey::ReceiptAlreadyUsed.text(Language::Sw);
    assert_contains!(asked, "Reject 3 receipts", message);
    assert_eq!(shown(&stack, &one).await["state"], "pending");
    let chosen = format!("{reason}&chosen={}", all.join(","));
    let said = operator.post_for(200, LIST, &chosen).await.text;
    assert_contains!(
        said,
        "2 rejected as already used",
        "open with asha right now"
    );
    for one in [&one, &two] {
        let after = shown(&stack, one).await;
        assert_eq!(after["message_key"], "receipt_already_used");
    }
    for one in [&reviewed, &other] {
        assert_eq!(shown(&stack, one).await["state"], "pending");
    }
    let mut actions = stack.audit_actions().await;
    actions.retain(|action| action == "submission.settle");
    assert_eq!(actions.len(), 2, "a row each");
    let again = operator.post_for(200, LIST, &chosen).await.text;
    assert_contains!(again, "0 rejected", "asha rejected it at");
    for nothing in [reason.to_owned(), format!("reason=entered&all={}", all[0])] {
        operator.post_for(422, LIST, &nothing).await;
    }
}
