//! Links to one receipt, and the list of what waits.

use service_tests::interceptor::Interceptor;

use super::*;
use crate::console::Served;

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

fn claims(qty: u32) -> impl FnOnce(Submission) -> Submission {
    move |submission| Submission {
        claimed: Some(DeclaredPurchase {
            items: vec![DeclaredItem {
                key: "chai".to_owned(),
                qty,
            }],
            branch: None,
        }),
        ..submission
    }
}

fn seen(one: &Submission) -> String {
    format!("{}:{}", one.submission_id, one.revision)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn receipts_of_a_basket_are_rejected_together_once() {
    let stack = Stack::with_chai().await;
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
    assert_eq!(stack.shown(one.submission_id).await["state"], "pending");
    let chosen = format!("{reason}&chosen={}", all.join(","));
    let said = operator.post_for(200, LIST, &chosen).await.text;
    assert_contains!(
        said,
        "2 rejected as already used",
        "open with asha right now"
    );
    for one in [&one, &two] {
        let after = stack.shown(one.submission_id).await;
        assert_eq!(after["message_key"], "receipt_already_used");
    }
    for one in [&reviewed, &other] {
        assert_eq!(stack.shown(one.submission_id).await["state"], "pending");
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn named_receipts_are_compared_with_any_page() {
    let stack = Stack::with_chai().await;
    let first = with_receipt(&stack, typed(), claims(2)).await;
    let later = NOW.after(Duration::from_secs(1));
    let waits_since = |submission| Submission {
        settling: Some(PendingSettlement::due_at(NOW, None).escalate(later)),
        ..claims(2)(submission)
    };
    with_receipt(&stack, typed(), waits_since).await;
    let operator = SignedIn::to(&stack).await;
    let second_page = operator.page(&format!("{LIST}?from=1")).await;
    assert_contains!(second_page, "&amp;from=1\"");
    let same = format!("{LIST}?same={}", first.submission_id);
    let one_other = operator.page(&format!("{same}&from=1")).await;
    assert_contains!(one_other, "numbers 2 to 501 of those waiting: 2.");
    let beyond = operator.page(&format!("{same}&from=2")).await;
    assert_contains!(beyond, first.reference().to_string(), ": 1.");
    let unknown = random::submission_id();
    let none = operator.page(&format!("{LIST}?same={unknown}")).await;
    assert_contains!(none, "It does not wait any more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redeemed_codes_are_left_by_a_rejection_of_many() {
    let stack = Stack::with_chai().await;
    let redeemed = maybe_redeemed(&stack).await;
    let other = with_receipt(&stack, typed(), as_it_is).await;
    let operator = SignedIn::to(&stack).await;
    let all = [&redeemed, &other].map(seen).join(",");
    let chosen = format!("reason=receipt_already_used&chosen={all}");
    let said = operator.post_for(200, LIST, &chosen).await.text;
    assert_contains!(
        said,
        "1 rejected as already used",
        redeemed.reference().to_string(),
        "may have redeemed the code"
    );
    assert_eq!(
        stack.shown(redeemed.submission_id).await["state"],
        "unknown"
    );
    assert_eq!(stack.shown(other.submission_id).await["state"], "rejected");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failure_between_rejections_hides_none_of_them() {
    let stack = Stack::with_chai().await;
    let first = with_receipt(&stack, typed(), as_it_is).await;
    let second = with_receipt(&stack, typed(), as_it_is).await;
    let hold = Interceptor::default();
    let variables = ["AWS_ENDPOINT_URL_DYNAMODB"];
    let env = hold.in_front_of_all(&variables, &stack.env).await;
    let console = Served::start_with(&stack, env).await;
    let operator = console.sign_in().await;
    hold.select(|_, body| body.contains("review_locks#") && !body.contains("UpdateExpression"));
    let all = [&first, &second].map(seen).join(",");
    let chosen = format!("reason=receipt_already_used&chosen={all}");
    let denying = async {
        // The first one is written, and its lock is not released yet.
        hold.reached().await;
        hold.deny(true);
        hold.release();
    };
    let (reply, ()) = tokio::join!(operator.post_for(200, LIST, &chosen), denying);
    assert_contains!(
        reply.text,
        "1 rejected as already used",
        "Not rejected",
        second.reference().to_string()
    );
    assert_eq!(stack.shown(first.submission_id).await["state"], "rejected");
    assert_eq!(stack.shown(second.submission_id).await["state"], "pending");
}
