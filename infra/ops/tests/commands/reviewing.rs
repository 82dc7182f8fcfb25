//! Reviewing as a screen does: claims, answers, spot checks, and facts beside a submission.

mod item;

use std::collections::BTreeSet;
use std::time::Duration;

use common::aws::photos;
use common::config::Env;
use common::domain::ids::{EntrantId, SubmissionId};
use common::domain::message::MessageKey;
use common::domain::receipt::checks::{Check, CheckResult};
use common::domain::receipt::judgement::Rule;
use common::domain::receipt::photo::photo_digest;
use common::domain::statistics::{Metric, utc_hour};
use common::domain::submission::{
    DeclaredItem, DeclaredPurchase, State, Submission, SubmissionStatus,
};
use common::domain::timestamp::Timestamp;
use common::store::review_locks::{LOCK_LIFETIME, ReviewLocks};
use ops_core::approvals::Decided;
use ops_core::corrections::reopen;
use ops_core::failure::Failure;
use ops_core::review::answer::{ReviewDecision, ReviewResult, write as write_answer};
use ops_core::review::item::ReviewItem;
use ops_core::review::photo::{PhotoCopier, ShownPhoto};
use ops_core::review::queue::{ClaimedSubmission, ReviewQueue};
use ops_core::review::related::Relation;
use ops_core::settle::{Proof, Verdict};
use ops_core::tables::Tables;
use receipt_photo::{Look, jpeg, qr_photo};
use serde_json::json;
use service_tests::text::fields;

use crate::draw::stored::{number, set};
use crate::review::{as_it_is, code, photo, typed, with_receipt};
use crate::submission::{submission, waiting, write};
use crate::support::{self, NOW, Stack, live};

/// A reviewer's screen, with tables as in its own process.
pub(crate) struct Screen {
    tables: Tables,
    claims: ReviewLocks,
    queue: ReviewQueue,
}

impl Screen {
    pub(crate) fn new(stack: &Stack, name: &str) -> Self {
        let tables = tables_of(stack, name);
        let claims = tables.review_locks().expect("all variables");
        let queue = ReviewQueue::new(live(), format!("screen of {name}"));
        Self {
            tables,
            claims,
            queue,
        }
    }

    async fn next(&mut self, now: Timestamp) -> Option<ClaimedSubmission> {
        let Self {
            tables,
            claims,
            queue,
        } = self;
        queue.next(tables, claims, now).await.expect("it answers")
    }

    pub(crate) async fn next_id(&mut self, now: Timestamp) -> Option<SubmissionId> {
        self.next(now)
            .await
            .map(|claimed| claimed.submission.submission_id)
    }

    pub(crate) async fn answer(
        &mut self,
        id: SubmissionId,
        verdict: Verdict,
        at: Timestamp,
    ) -> ReviewResult {
        let submission = stored(&self.tables, id).await;
        let is_spot_check = submission.awaits_spot_check();
        let seen = ClaimedSubmission {
            submission,
            is_spot_check,
        };
        self.queue.answered(id, at);
        self.write(&seen, verdict, at).await.expect("written")
    }

    /// Writes an answer to what the reviewer saw.
    async fn write(
        &self,
        seen: &ClaimedSubmission,
        verdict: Verdict,
        at: Timestamp,
    ) -> Result<ReviewResult, Failure> {
        let Submission {
            submission_id,
            revision,
            ..
        } = seen.submission;
        let answer = ReviewDecision {
            looked_up: None,
            submission_id,
            revision,
            is_spot_check: seen.is_spot_check,
            verdict,
        };
        write_answer(&self.tables, &live(), &answer, at).await
    }

    /// Accepts and rejects in turn.
    async fn decide_all(&mut self) -> Vec<SubmissionId> {
        let mut decided = Vec::new();
        while let Some(id) = self.next_id(NOW).await {
            let verdict = if decided.len() % 2 == 0 {
                let code = id.to_string().replace('-', "").parse().expect("a code");
                Verdict::Accept {
                    entries: None,
                    proof: Proof::Read(code),
                }
            } else {
                Verdict::Reject(MessageKey::ReceiptUnreadable)
            };
            self.answer(id, verdict, NOW).await;
            decided.push(id);
        }
        decided
    }
}

/// Tables under a person's credentials and name, such as `asha`, or `asha/juma` for another name.
fn tables_of(stack: &Stack, operator: &str) -> Tables {
    let (identity, name) = operator.split_once('/').unwrap_or((operator, operator));
    let env = stack.env_with(&[("AWS_ACCESS_KEY_ID", identity), ("OPS_BY", name)]);
    support::tables_of(&env)
}

/// A live submission as it is stored.
pub(crate) async fn stored(tables: &Tables, id: SubmissionId) -> Submission {
    let submissions = tables.store.submissions();
    let found = submissions.get(&live(), id).await;
    found.expect("it answers").expect("it is there")
}

async fn reopened(stack: &Stack, operator: &str, id: &str) -> Result<Decided, Failure> {
    let tables = tables_of(stack, operator);
    let decision = tables.audit.decision("a mistake".to_owned(), NOW).await?;
    reopen(&tables, id, decision).await
}

fn later(span: Duration) -> Timestamp {
    NOW.after(span)
}

/// A submission that waits for a person since this long after [`NOW`].
fn since(span: Duration) -> impl FnOnce(Submission) -> Submission {
    move |submission| {
        let settling = submission.settling.as_ref();
        let settling = settling.map(|settling| settling.escalate(later(span)));
        Submission {
            settling,
            ..submission
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_reviewers_at_once_decide_each_of_sixty_receipts_once() {
    let stack = Stack::with_chai().await;
    let mut waiting = BTreeSet::new();
    for _ in 0..60 {
        waiting.insert(with_receipt(&stack, typed(), as_it_is).await.submission_id);
    }
    let [mut asha, mut juma] = ["asha", "juma"].map(|name| Screen::new(&stack, name));
    let (one, other) = tokio::join!(asha.decide_all(), juma.decide_all());
    assert_eq!(one.len() + other.len(), 60);
    assert!(!one.is_empty() && !other.is_empty(), "both had some");
    assert_eq!(
        one.iter().chain(&other).copied().collect::<BTreeSet<_>>(),
        waiting
    );
    let tables = stack.tables();
    for id in waiting {
        let settled = stored(&tables, id).await;
        assert!(settled.status.is_terminal());
        let decision = settled.decision.expect("a decision");
        let by = if one.contains(&id) { "asha" } else { "juma" };
        assert_eq!(decision.by, by);
        let why = decision.why.expect("a reason");
        assert!(why.starts_with("reviewed in the console"), "{why}");
    }
    let mut actions = stack.audit_actions().await;
    actions.retain(|action| action == "submission.settle");
    assert_eq!(actions.len(), 60);
}

#[tokio::test]
async fn a_claim_ends_two_minutes_after_it_was_renewed_last() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, typed(), as_it_is).await.submission_id;
    let [mut asha, mut juma] = ["asha", "juma"].map(|name| Screen::new(&stack, name));
    assert_eq!(asha.next_id(NOW).await, Some(waiting));
    assert_eq!(asha.next_id(NOW).await, None, "it has it already");
    assert_eq!(juma.next_id(NOW).await, None);
    let renewed = later(Duration::from_secs(100));
    let lost = asha.queue.renew(&asha.claims, renewed).await;
    assert_eq!(lost.expect("it answers"), []);
    let end = renewed.after(LOCK_LIFETIME);
    let just_before = renewed.after(LOCK_LIFETIME - Duration::from_millis(1));
    assert_eq!(juma.next_id(just_before).await, None);
    assert_eq!(juma.next_id(end).await, Some(waiting));
    let lost = asha.queue.renew(&asha.claims, end).await;
    assert_eq!(lost.expect("it answers"), [waiting]);
    assert_eq!(asha.next_id(end).await, None);
}

#[tokio::test]
async fn skipped_and_left_submissions_go_to_others_at_once() {
    let stack = Stack::with_chai().await;
    let mut waiting = Vec::new();
    for minutes in [0, 1, 2] {
        let since = since(Duration::from_secs(60 * minutes));
        waiting.push(with_receipt(&stack, typed(), since).await.submission_id);
    }
    let now = later(Duration::from_secs(600));
    let [mut asha, mut juma] = ["asha", "juma"].map(|name| Screen::new(&stack, name));
    for id in &waiting {
        assert_eq!(asha.next_id(now).await, Some(*id));
    }
    assert_eq!(asha.queue.waiting(), (3, Some(NOW)));
    asha.queue
        .skip(&asha.claims, waiting[1], now)
        .await
        .expect("it answers");
    assert_eq!(juma.next_id(now).await, Some(waiting[1]));
    // The first has an answer still to come.
    asha.queue
        .leave(&asha.claims, &waiting[..1])
        .await
        .expect("it answers");
    let soon = now.after(Duration::from_secs(119));
    assert_eq!(
        Screen::new(&stack, "neema").next_id(soon).await,
        Some(waiting[2])
    );
}

#[tokio::test]
async fn a_claim_disturbs_neither_settling_nor_the_revision() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, typed(), as_it_is).await;
    let mut asha = Screen::new(&stack, "asha");
    let seen = asha.next(NOW).await.expect("one waits");
    assert_eq!(seen.submission, waiting);
    let reject = "--reject receipt_unreadable --why seen";
    let settle = format!("submission settle {} {reject}", waiting.submission_id);
    stack.fine(settle).await;
    let verdict = Verdict::Reject(MessageKey::Blocked);
    let late = asha.write(&seen, verdict, NOW).await;
    assert_eq!(late.expect_err("it is settled").code, "submission_moved");
    assert_eq!(asha.next_id(later(LOCK_LIFETIME)).await, None);
}

/// Stores a file as the submission's photo.
pub(crate) async fn upload(stack: &Stack, submission: &Submission, file: Vec<u8>) {
    let key = photos::object_key(&submission.scope, submission.receipt_id.expect("a receipt"));
    let put = stack.aws().s3().put_object().key(key).body(file.into());
    let bucket = stack.env.required(photos::VARIABLE).expect("a bucket");
    put.bucket(bucket).send().await.expect("it is taken");
}

pub(crate) fn with_photo_reader(stack: &Stack) -> Env {
    stack.env_with(&[("PHOTO_READER", env!("CARGO_BIN_EXE_ops"))])
}

/// A photo with a place in its EXIF block, and something appended.
pub(crate) fn photo_with_gps() -> Vec<u8> {
    let look = Look {
        width: 300,
        height: 400,
        ..Look::default()
    };
    let photo = qr_photo(&[], &look, 1).expect("a photo");
    let plain = jpeg(&photo, 85).expect("a file");
    // A TIFF header, and a directory whose only entry, 0x8825, leads to the place.
    let mut exif =
        b"Exif\0\0II*\0\x08\0\0\0\x01\0\x25\x88\x04\0\x01\0\0\0\x1a\0\0\0\0\0\0\0".to_vec();
    exif.extend(b"GPS 6.8160 S 39.2803 E");
    let length = u16::try_from(exif.len() + 2).expect("short").to_be_bytes();
    [
        &plain[..2],
        b"\xff\xe1",
        &length,
        &exif,
        &plain[2..],
        b"behind the picture",
    ]
    .concat()
}

/// A receipt that this person accepted, picked for a spot check.
async fn picked(stack: &Stack, by: &str) -> Submission {
    let verified = json!({ "state": "accepted", "review_status": "verified", "message_key": "entered", "entries": 1, "instant_win": null });
    let status: SubmissionStatus = serde_json::from_value(verified).expect("a standing");
    let tables = tables_of(stack, by);
    let decision = tables.audit.decision("seen".to_owned(), NOW).await;
    let decision = decision.expect("an identity");
    let picked = loop {
        let submission = submission(status.clone(), None);
        let submission = Submission {
            decision: Some(decision.clone()),
            ..submission
        };
        if submission.awaits_spot_check() {
            break submission;
        }
    };
    write(stack, &picked, None).await;
    picked
}

#[tokio::test]
async fn spot_check_of_another_person_agrees_or_differs() {
    let stack = Stack::with_chai().await;
    let (first, second) = (picked(&stack, "asha").await, picked(&stack, "asha").await);
    let [mut asha, mut juma] = ["asha", "juma"].map(|name| Screen::new(&stack, name));
    assert_eq!(asha.next_id(NOW).await, None, "her own decisions");
    let mut offered = BTreeSet::new();
    for verdict in [
        Verdict::Accept {
            entries: None,
            proof: Proof::Record,
        },
        Verdict::Reject(MessageKey::ReceiptNotFound),
    ] {
        let agrees = matches!(verdict, Verdict::Accept { .. });
        let claimed = juma.next(NOW).await.expect("one waits");
        assert!(claimed.is_spot_check);
        let id = claimed.submission.submission_id;
        offered.insert(id);
        let written = juma.answer(id, verdict, NOW).await;
        let ReviewResult::SpotCheck(after) = written else {
            panic!("it is settled")
        };
        let look = after.spot_check.clone().expect("a spot check");
        assert_eq!((look.by.as_str(), look.agrees), ("juma", agrees));
        assert_eq!(after.status.state(), State::Accepted, "it changes nothing");
        let dimension = if agrees {
            "agreed#operator"
        } else {
            "differed#operator"
        };
        let counters = common::domain::statistics::of_submission(&after);
        let mut reviews = counters
            .iter()
            .filter(|(counter, _)| counter.metric == Metric::Reviews);
        let is_counted = reviews
            .any(|(counter, _)| counter.dimension == dimension && counter.hour == utc_hour(NOW));
        assert!(is_counted, "{counters:?}");
    }
    let picked = [first, second].map(|picked| picked.submission_id);
    assert_eq!(offered, BTreeSet::from(picked));
    assert_eq!(juma.next_id(NOW).await, None);
    let mut neema = Screen::new(&stack, "neema");
    let later = neema.next_id(later(Duration::from_secs(600))).await;
    assert_eq!(later, None, "once is enough");
}

#[tokio::test]
async fn an_answer_counts_only_for_what_the_reviewer_saw() {
    let stack = Stack::with_chai().await;
    let picked = picked(&stack, "asha").await;
    let mut juma = Screen::new(&stack, "juma");
    let seen = juma.next(NOW).await.expect("one waits");
    assert!(seen.is_spot_check);
    let id = picked.submission_id.to_string();
    let tables = stack.tables();
    let before = stored(&tables, picked.submission_id).await;
    let changed = Submission {
        status: waiting(),
        decision: None,
        settling: Some(
            common::domain::settling::PendingSettlement::due_at(NOW, None).escalate(NOW),
        ),
        ..before.changed(NOW)
    };
    let is_changed = tables.store.annotate(&before, &changed).await;
    assert!(is_changed.expect("it answers"));
    // Given for comparison, it would decide.
    let verdict = Verdict::Reject(MessageKey::ReceiptNotFound);
    let late = juma.write(&seen, verdict, NOW).await;
    let late = late.expect_err("it waits for a decision");
    assert_eq!(late.code, "submission_moved");
    assert_ne!(stack.shown(id).await["state"], "rejected");
}

#[tokio::test]
async fn unreadable_record_does_not_block_the_queue() {
    let stack = Stack::with_chai().await;
    let damaged = with_receipt(&stack, typed(), as_it_is).await;
    set(&stack, &damaged, "record_version", number(99)).await;
    let since = since(Duration::from_secs(60));
    let readable = with_receipt(&stack, typed(), since).await.submission_id;
    let now = later(Duration::from_secs(600));
    assert_eq!(
        Screen::new(&stack, "asha").next_id(now).await,
        Some(readable)
    );
}

#[tokio::test]
async fn a_decision_is_reopened_by_a_second_person() {
    let stack = Stack::with_chai().await;
    let mut asha = Screen::new(&stack, "asha");
    for verdict in [
        Verdict::Reject(MessageKey::ReceiptUnreadable),
        Verdict::Accept {
            entries: Some(1),
            proof: Proof::Read(code()),
        },
    ] {
        let id = with_receipt(&stack, typed(), as_it_is).await.submission_id;
        asha.answer(id, verdict, NOW).await;
        let id = id.to_string();
        for same in ["neema/ASHA", "asha/juma"] {
            let own = reopened(&stack, same, &id).await.expect_err(same);
            assert_eq!(own.code, "second_person_needed", "{same}");
        }
        let step = reopened(&stack, "juma", &id).await.expect("a step");
        if matches!(step, Decided::Done(ref after) if after.is_revoked()) {
            let step = reopened(&stack, "juma", &id).await;
            step.expect("it is reopened");
        }
        assert_eq!(stack.shown(id).await["review_status"], "under_review");
    }
}
