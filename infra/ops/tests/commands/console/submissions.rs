//! The list of submissions, and what is done on a submission's page.

use std::time::Duration;

use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};
use common::domain::ids::SubmissionId;
use common::domain::message::MessageKey;
use common::domain::statistics::{ALL_DAYS, Amount, Counter, Metric};
use common::domain::submission::{CodeRefusal, Submission, SubmissionStatus};
use common::random;
use common::store::submissions::key;
use service_tests::text::fields;

use super::keys::mark_in;
use super::pages::download;
use super::{SignedIn, hidden};
use crate::draw::stored::{number as number_of, text};
use crate::submission::{accepted, holding, submission, waiting, write};
use crate::support::{NOW, Stack, live};

const LIST: &str = "/campaigns/chai-bora-2026/live/submissions";

async fn rejected(stack: &Stack, more: impl Fn(Submission) -> Submission) -> Submission {
    let status = SubmissionStatus::rejected(MessageKey::AlreadyUsed);
    let rejected = more(submission(status, None));
    write(stack, &rejected, None).await;
    rejected
}

async fn waits(stack: &Stack) -> Submission {
    let waits = submission(waiting(), None);
    write(stack, &waits, None).await;
    waits
}

/// Reads the table for a filter, and returns the page it leads to.
async fn read(operator: &SignedIn, fields: &str) -> String {
    operator.followed(&format!("{LIST}/read"), fields).await
}

#[tokio::test]
async fn unsettled_ones_are_listed_at_once_and_others_after_a_button() {
    let stack = Stack::with_chai().await;
    let (settled, open) = (accepted(&stack, 2).await, waits(&stack).await);
    many_counted(&stack).await;
    let operator = SignedIn::to(&stack).await;
    for filter in [
        "waiting=person",
        "state=pending",
        "state=pending&waiting=person&day=2026-03-01",
    ] {
        let page = operator.page(&format!("{LIST}?{filter}")).await;
        assert_contains!(
            page,
            open.reference().to_string(),
            "1 submission, newest first."
        );
        assert_lacks!(page, settled.reference().to_string(), "Read the table");
    }
    for filter in ["", "?state=accepted", "?day=2026-03-01&region=Mwanza"] {
        let page = operator.page(&format!("{LIST}{filter}")).await;
        assert_contains!(page, "Read the table", "of all campaigns, about 2 seconds");
        assert_lacks!(page, settled.reference().to_string());
    }
    let page = read(&operator, "state=accepted").await;
    assert_contains!(page, settled.reference().to_string(), "+2557•••••678");
    assert_lacks!(page, open.reference().to_string(), "345678");
    for wrong in ["state=lost", "day=yesterday", "reason=none"] {
        let status = operator.status("GET", &format!("{LIST}?{wrong}")).await;
        assert_eq!(status, 422, "{wrong}");
    }
    operator
        .post_for(404, "/campaigns/other/live/submissions/read", "")
        .await;
}

/// So many that a read of all of them is asked for.
async fn many_counted(stack: &Stack) {
    let counter = Counter {
        metric: Metric::Days,
        scope: live(),
        day: ALL_DAYS.to_owned(),
        hour: String::new(),
        dimension: "2026-02-01".to_owned(),
    };
    let amount = Amount {
        records: 200_000,
        entries: 0,
    };
    let statistics = stack.tables().statistics;
    let written = statistics.correct(&counter, Amount::default(), amount);
    assert!(written.await.expect("it answers"));
}

#[tokio::test]
async fn few_submissions_are_listed_without_a_question() {
    let stack = Stack::with_chai().await;
    let settled = accepted(&stack, 2).await;
    let operator = SignedIn::to(&stack).await;
    let page = operator.page(LIST).await;
    assert_contains!(page, settled.reference().to_string(), "newest first.");
    assert_lacks!(page, "Read the table");
}

#[tokio::test]
async fn each_filter_keeps_what_it_names() {
    let stack = Stack::with_chai().await;
    let wanted = rejected(&stack, |one| Submission {
        batch: Some("kettles".to_owned()),
        region: Some("Dodoma".to_owned()),
        day: "2026-02-27".to_owned(),
        ..one
    })
    .await;
    let other = accepted(&stack, 1).await;
    let operator = SignedIn::to(&stack).await;
    for filter in [
        "state=rejected",
        "reason=already_used",
        "day=2026-02-27",
        "batch=kettles",
        "region=Dodoma",
        "state=rejected&reason=already_used&day=2026-02-27&batch=kettles&region=Dodoma",
    ] {
        let page = read(&operator, filter).await;
        assert_contains!(page, wanted.reference().to_string());
        assert_lacks!(page, other.reference().to_string());
    }
    let none = read(&operator, "state=rejected&region=Mwanza").await;
    assert_contains!(none, "There are no such submissions.");
}

/// Copies a submission, each a second newer than the one before; returns the newest's reference. Copies have no phone, which is
/// encrypted for one id.
async fn copies(stack: &Stack, of: &Submission, count: i64) -> String {
    let (client, mut newest) = (stack.aws().dynamodb(), String::new());
    let key = |id: SubmissionId| key(&of.scope, id.reference());
    let get = client.get_item().table_name("submissions");
    let found = get.key("id", text(&key(of.submission_id))).send().await;
    let mut item = found.expect("it answers").item.expect("it is there");
    item.remove("phone");
    let mut puts = Vec::new();
    for number in 1..=count {
        let id = random::submission_id();
        let created_at = NOW.as_millis() + number * 1_000;
        let mut copy = item.clone();
        copy.insert("id".to_owned(), text(&key(id)));
        copy.insert("submission_id".to_owned(), text(&id.to_string()));
        copy.insert("created_at".to_owned(), number_of(created_at));
        let put = PutRequest::builder().set_item(Some(copy)).build();
        let put = put.expect("it has an item");
        puts.push(WriteRequest::builder().put_request(put).build());
        newest = id.reference().to_string();
    }
    for part in puts.chunks(25) {
        let write = client.batch_write_item();
        let write = write.request_items("submissions", part.to_vec());
        write.send().await.expect("they are written");
    }
    newest
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_rows_are_paged_and_downloaded() {
    let stack = Stack::with_chai().await;
    let first = accepted(&stack, 1).await;
    let newest = copies(&stack, &first, 9_999).await;
    let operator = SignedIn::to(&stack).await;
    let page = read(&operator, "state=accepted&day=2026-03-01").await;
    let all = "10,000 submissions, newest first.";
    assert_contains!(page, all, newest, "1 to 50 of 10,000");
    let link = page.split("\" rel=\"next\"").next().expect("a link");
    let link = link.rsplit("href=\"").next().expect("a link");
    let second = operator.page(&link.replace("&amp;", "&")).await;
    assert_contains!(second, "51 to 100 of 10,000", "rel=\"prev\"");
    assert_lacks!(second, newest);
    let file = download(&operator, &format!("{LIST}/export"), "state=accepted").await;
    assert_eq!(file.matches(",chai-bora-2026,live,").count(), 10_000);
}

#[tokio::test]
async fn a_long_list_is_read_in_steps_and_goes_on() {
    let stack = Stack::with_chai().await;
    let first = waits(&stack).await;
    let newest = copies(&stack, &first, 2_100).await;
    let operator = SignedIn::to(&stack).await;
    let page = operator.page(&format!("{LIST}?waiting=person")).await;
    assert_contains!(
        page,
        "2,000 submissions found so far, in the first 2,000 records.",
        "Go on"
    );
    let more = format!("waiting=person&list={}", hidden(&page, "list"));
    let page = operator.followed(&format!("{LIST}/more"), &more).await;
    assert_contains!(page, "2,101 submissions, newest first.", newest);
    assert_lacks!(page, "Go on");
}

#[tokio::test]
async fn a_list_that_is_not_kept_any_more_is_said_to_be_gone() {
    let stack = Stack::with_chai().await;
    let operator = SignedIn::to(&stack).await;
    let page = operator
        .page(&format!("{LIST}?state=accepted&cursor=0123456789abcdef.50"))
        .await;
    assert_contains!(page, "That list is not kept any more");
}

#[tokio::test]
async fn whole_phones_are_exported_only_after_a_row() {
    let stack = crate::roles::guarded_stack().await;
    rejected(&stack, |one| one).await;
    accepted(&stack, 1).await;
    let operator = SignedIn::with_role(&stack, "operator").await;
    let path = format!("{LIST}/export");
    let rows = stack.audit_rows().await.len();
    let masked = download(&operator, &path, "state=rejected").await;
    assert_contains!(
        masked,
        "content-type: text/csv",
        "id,ref,campaign",
        "2557•••••678",
        "already_used"
    );
    assert_lacks!(masked, "345678", "entered");
    assert_eq!(stack.audit_rows().await.len(), rows);
    let whole = download(&operator, &path, "state=rejected&phones=whole").await;
    assert_contains!(whole, "255712345678");
    let row = stack.last_audit_row().await;
    assert_eq!(
        fields(&row, "action details"),
        r#"export {"content":"submissions","filter":{"state":"rejected"},"phones":"whole"}"#
    );
}

fn page_of(submission: &Submission) -> String {
    format!("/submissions/{}", submission.submission_id)
}

#[tokio::test]
async fn a_refused_code_is_told_with_its_holder() {
    let stack = Stack::with_chai().await;
    stack.mint("9 --prize 'A kettle'").await;
    let holder = Submission {
        batch: Some("batch-1".to_owned()),
        ..submission(SubmissionStatus::accepted(2, None), None)
    };
    let holder = holding(&stack, 0, holder).await;
    let refused = rejected(&stack, |one| Submission {
        created_at: NOW.after(Duration::from_secs(12 * 60)),
        code_refusal: Some(CodeRefusal {
            holder: holder.submission_id,
            batch: Some("batch-1".to_owned()),
        }),
        ..one
    })
    .await;
    let operator = SignedIn::to(&stack).await;
    let page = operator.page(&page_of(&refused)).await;
    assert_contains!(
        page,
        "+2557•••••678 sent it on 1 Mar 2026 03:12, with a code of batch batch-1 (A kettle).",
        "It was refused: already used.",
        format!("({}), 12 minutes earlier.", holder.reference()),
        page_of(&holder),
        "Other submissions of the phone"
    );
    assert_lacks!(page, "345678");
}

#[tokio::test]
async fn revoked_and_reopened_on_the_page_as_it_was_shown() {
    let stack = Stack::with_chai().await;
    stack.mint(9).await;
    let entered = submission(SubmissionStatus::accepted(2, None), None);
    let entered = holding(&stack, 0, entered).await;
    let operator = SignedIn::to(&stack).await;
    let path = page_of(&entered);
    let revoke = format!("{path}/revoke");
    let without = operator.post_for(422, &revoke, "revision=0&why=").await;
    assert_contains!(without.text, "The reason must be 1 to 500");
    let done = operator
        .post_for(200, &revoke, "revision=0&why=mistake")
        .await;
    assert_contains!(
        done.text,
        "revoked: 2 entries taken back",
        "It was accepted, and revoked since."
    );
    let row = stack.last_audit_row().await;
    assert_eq!(fields(&row, "action why"), "submission.revoke mistake");

    let rows = stack.audit_rows().await.len();
    let again = operator
        .post_for(422, &revoke, "revision=0&why=mistake")
        .await;
    assert_contains!(
        again.text,
        "It changed after this page was made, so nothing was done."
    );
    let own = operator
        .post_for(200, &format!("{path}/reopen"), "revision=1&why=mistake")
        .await;
    assert_contains!(
        own.text,
        "waits for an operator",
        "Review this one",
        "/review?id="
    );
    assert_eq!(stack.audit_rows().await.len(), rows + 1);
}

#[tokio::test]
async fn a_prize_is_revoked_by_two_people_on_their_pages() {
    let stack = Stack::with_chai().await;
    let won = SubmissionStatus::accepted(1, Some("A kettle".to_owned()));
    let won = submission(won, None);
    write(&stack, &won, None).await;
    let asha = SignedIn::named(&stack, "asha").await;
    let juma = SignedIn::named(&stack, "juma").await;
    let neema = SignedIn::named(&stack, "neema").await;
    let revoke = format!("{}/revoke", page_of(&won));
    let asked = asha
        .post_for(200, &revoke, "revision=0&why=a+forged+code")
        .await;
    assert_contains!(
        asked.text,
        "Nothing has changed yet",
        "You asked for it, and it can decide"
    );
    assert_lacks!(asked.text, "Approve: revoke");
    let own = asha
        .post_for(422, &revoke, "revision=1&why=once+more")
        .await;
    assert_contains!(own.text, "Asha asked for it at");
    let page = juma.page(&page_of(&won)).await;
    assert_contains!(page, "Approve: revoke", "asha asked on", "a forged code");

    let agree = "revision=1&why=I+saw+it";
    let (first, second) = tokio::join!(juma.post(&revoke, agree), neema.post(&revoke, agree));
    let mut statuses = [first.status.as_u16(), second.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 422], "{} {}", first.text, second.text);
    let refused = if first.status == 422 { first } else { second };
    assert_contains!(
        refused.text,
        "It changed after this page was made, so nothing was done."
    );
    let shown = stack.shown(won.submission_id).await;
    assert_eq!(fields(&shown, "state decision.by"), "rejected asha");
}

#[tokio::test]
async fn request_is_listed_until_it_is_declined_or_withdrawn() {
    let stack = Stack::with_chai().await;
    let won = SubmissionStatus::accepted(1, Some("A kettle".to_owned()));
    let won = submission(won, None);
    write(&stack, &won, None).await;
    let asha = SignedIn::named(&stack, "asha").await;
    let juma = SignedIn::named(&stack, "juma").await;
    let (path, reference) = (page_of(&won), won.reference().to_string());
    let decline = format!("{path}/decline");
    let overview = "/campaigns/chai-bora-2026/live";
    let waiting = format!("{LIST}?waiting=person");
    let pages = async || {
        [
            juma.page("/").await,
            juma.page(overview).await,
            juma.page(&waiting).await,
        ]
    };
    for (revision, operator, verb, row) in [
        (0, &juma, "Decline", "submission.decline"),
        (2, &asha, "Withdraw", "submission.withdraw"),
    ] {
        let revoke = format!("revision={revision}&why=a+forged+code");
        asha.post_for(200, &format!("{path}/revoke"), &revoke).await;
        let [campaigns, overview, list] = pages().await;
        assert_contains!(campaigns, "1 request");
        assert_contains!(overview, "asha asked on", "a forged code", &path);
        assert_contains!(list, &reference, "asha asked to revoke");
        assert_contains!(operator.page(&path).await, &format!("{verb} it"));
        let fields = format!("revision={}&why=it+is+genuine", revision + 1);
        let done = operator.post_for(200, &decline, &fields);
        assert_contains!(done.await.text, "The request is gone", "Revoke it");
        let logged = stack.last_audit_row().await;
        assert_eq!(logged["action"], row);
        assert_eq!(logged["why"], "it is genuine");
        let [campaigns, overview, list] = pages().await;
        assert_lacks!(campaigns, "1 request");
        assert_lacks!(overview, "Waits for a second person");
        assert_lacks!(list, &reference);
    }
    let nothing = juma.post_for(422, &decline, "revision=4&why=late");
    assert_contains!(nothing.await.text, "waits for a second person");
}

#[tokio::test]
async fn a_phone_is_blocked_and_unblocked_on_a_submission() {
    let stack = crate::roles::guarded_stack().await;
    let entered = accepted(&stack, 1).await;
    let operator = SignedIn::with_role(&stack, "operator").await;
    let path = page_of(&entered);
    let block = format!("{}&why=sells+codes", mark_in(&operator.page(&path).await));
    let blocked = operator
        .post_for(200, &format!("{path}/block"), &block)
        .await;
    assert_contains!(
        blocked.text,
        "+2557•••••678 is blocked in chai-bora-2026",
        "Unblock the phone"
    );
    let row = stack.last_audit_row().await;
    assert_eq!(fields(&row, "action why"), "phone.block sells codes");
    let list = "phone list --campaign chai-bora-2026 --environment live";
    assert_contains!(stack.fine(list).await, "sells codes");
    let again = format!("{}&why=again", mark_in(&blocked.text));
    let again = operator
        .post_for(200, &format!("{path}/block"), &again)
        .await;
    assert_contains!(again.text, "was blocked already");
    let free = format!("{}&why=mistake", mark_in(&again.text));
    let free = operator
        .post_for(200, &format!("{path}/unblock"), &free)
        .await;
    assert_contains!(free.text, "is unblocked", "Block the phone");
    let reloaded = operator
        .post_for(422, &format!("{path}/block"), &block)
        .await;
    assert_contains!(reloaded.text, "sent before", "Block the phone");
}

#[tokio::test]
async fn a_viewer_reads_why_the_buttons_are_missing() {
    let stack = crate::roles::guarded_stack().await;
    let entered = accepted(&stack, 1).await;
    let viewer = SignedIn::with_role(&stack, "viewer").await;
    let page = viewer.page(&page_of(&entered)).await;
    assert_contains!(
        page,
        "Revoking it takes the role <b>reviewer</b>, which you do not have.",
        "Blocking its phone takes the role <b>operator</b>"
    );
    assert_lacks!(page, "<summary>Revoke it");
    let list = viewer.page(&format!("{LIST}?state=pending")).await;
    assert_contains!(list, "An export takes the role <b>operator</b>");
    assert_lacks!(list, "<button>Download</button>");
    let page = read(&viewer, "").await;
    assert_contains!(page, entered.reference().to_string(), "hidden");
    viewer
        .post_for(
            403,
            &format!("{}/revoke", page_of(&entered)),
            "revision=0&why=seen",
        )
        .await;
}

#[tokio::test]
async fn a_reviewer_revokes_and_reads_why_reopening_is_missing() {
    let stack = crate::roles::guarded_stack().await;
    let entered = accepted(&stack, 1).await;
    let reviewer = SignedIn::with_role(&stack, "reviewer").await;
    let path = page_of(&entered);
    let revoked = reviewer
        .post_for(200, &format!("{path}/revoke"), "revision=0&why=mistake")
        .await;
    assert_contains!(
        revoked.text,
        "revoked: 1 entry taken back",
        "Reopening it takes the role <b>operator</b>"
    );
    let denied = reviewer
        .post_for(403, &format!("{path}/block"), "why=sells")
        .await;
    assert_contains!(denied.text, "you lack the permission");
}
