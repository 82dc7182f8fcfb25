//! The review screens that are open: what each has claimed, which answers it can still take back, and the photos that it
//! shows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use common::domain::ids::{Reference, SubmissionId};
use common::domain::scope::Scope;
use common::domain::submission::Submission;
use common::domain::timestamp::Timestamp;
use common::random;
use ops_core::failure::Failure;
use ops_core::review::Reviewer;
use ops_core::review::answer::{ReviewResult, write};
use ops_core::review::held::{ReviewDecision, UndoableDecisions};
use ops_core::review::item::ReviewItem;
use ops_core::review::photo::ShownPhoto;
use ops_core::review::queue::ReviewQueue;
use ops_core::settle::Verdict;
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use crate::failure::page_message;
use crate::state::Console;

/// A screen that sent nothing for this long is closed; its claims have expired.
const SCREEN_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// The code of a failure because the submission is not the revision that was shown.
const MOVED: &str = "submission_moved";
/// How often to write the answers that can no longer be taken back.
const WRITE_INTERVAL: Duration = Duration::from_millis(250);

/// A notice to a reviewer about an answer that was written, or could not be.
#[derive(Serialize)]
pub(super) struct Notice {
    id: SubmissionId,
    text: String,
    /// Whether it was not written.
    is_failure: bool,
    /// Whether the submission leaves the page: it changed since it was shown.
    is_gone: bool,
}

/// One open screen.
pub(super) struct Screen {
    pub(super) scope: Scope,
    pub(super) holder: String,
    pub(super) queue: tokio::sync::Mutex<ReviewQueue>,
    shown: Mutex<Shown>,
}

struct Shown {
    held: UndoableDecisions,
    /// Taken out of `held`, and not written yet.
    writing: Vec<SubmissionId>,
    items: HashMap<SubmissionId, Item>,
    notices: Vec<Notice>,
    used_at: Timestamp,
    /// The page was closed; others get its notices.
    has_left: bool,
}

/// A submission as the page shows it.
struct Item {
    reference: Reference,
    revision: u32,
    is_second_look: bool,
    photo: Option<Vec<u8>>,
}

impl Screen {
    fn shown(&self) -> MutexGuard<'_, Shown> {
        // Nothing panics while it is held.
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what the page shows, for its answer. Takes the photo's copy out.
    pub(super) fn keep(&self, item: &mut ReviewItem) {
        let ReviewItem { submission, is_second_look, photo, .. } = item;
        let photo = match photo {
            Some(ShownPhoto::Copy(copy)) => Some(std::mem::take(copy)),
            Some(ShownPhoto::Nothing(_)) | None => None,
        };
        let Submission { submission_id, revision, .. } = &*submission;
        let kept = Item {
            reference: submission_id.reference(),
            revision: *revision,
            is_second_look: *is_second_look,
            photo,
        };
        self.shown().items.insert(*submission_id, kept);
    }

    /// The answer to a submission that the page shows.
    pub(super) fn answer_to(
        &self,
        submission_id: SubmissionId,
        verdict: Verdict,
    ) -> Result<ReviewDecision, Failure> {
        let shown = self.shown();
        let item = shown.items.get(&submission_id).ok_or_else(|| {
            Failure::new(
                "not_shown",
                "this page does not show the submission any more; reload it to continue",
            )
        })?;
        let Item { revision, is_second_look, .. } = *item;
        Ok(ReviewDecision { submission_id, revision, is_second_look, verdict })
    }

    pub(super) fn hold(&self, answer: ReviewDecision, now: Timestamp) {
        self.shown().held.hold(answer, now);
    }

    pub(super) fn take_back(&self, id: SubmissionId) -> bool {
        self.shown().held.take_back(id).is_some()
    }

    /// The submissions with an answer that is not written yet.
    pub(super) fn answered(&self) -> Vec<SubmissionId> {
        let shown = self.shown();
        shown.held.ids().into_iter().chain(shown.writing.iter().copied()).collect()
    }

    pub(super) fn photo(&self, id: SubmissionId) -> Option<Vec<u8>> {
        self.shown().items.get(&id)?.photo.clone()
    }

    pub(super) fn forget(&self, id: SubmissionId) {
        self.shown().items.remove(&id);
    }

    /// Forgets what has no answer, and leaves later notices to other screens.
    pub(super) fn leave(&self) {
        let answered = self.answered();
        let mut shown = self.shown();
        shown.items.retain(|id, _| answered.contains(id));
        shown.has_left = true;
    }

    fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut self.shown().notices)
    }
}

/// All open screens.
#[derive(Default)]
pub(crate) struct Screens {
    open: Mutex<HashMap<String, Arc<Screen>>>,
    /// Held while answers are written, so that the end of the console waits for them.
    writing: Arc<tokio::sync::Mutex<()>>,
}

impl Screens {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Screen>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The notices of a screen, and those of closed screens of the same scope.
    pub(super) fn notices(&self, screen: &Screen) -> Vec<Notice> {
        let all = self.all();
        let closed = all.values().filter(|one| one.scope == screen.scope && one.shown().has_left);
        let mut notices: Vec<_> = closed.flat_map(|one| one.take_notices()).collect();
        notices.extend(screen.take_notices());
        notices
    }

    /// Opens a screen, and returns its name.
    pub(super) fn open(&self, scope: Scope, now: Timestamp) -> String {
        let name = hex::encode(random::bytes::<16>());
        let queue = tokio::sync::Mutex::new(ReviewQueue::new(scope.clone(), name.clone()));
        let shown = Shown {
            held: UndoableDecisions::default(),
            writing: Vec::new(),
            items: HashMap::new(),
            notices: Vec::new(),
            used_at: now,
            has_left: false,
        };
        let screen = Screen { scope, holder: name.clone(), queue, shown: Mutex::new(shown) };
        self.all().insert(name.clone(), Arc::new(screen));
        name
    }

    /// A screen that is still open.
    pub(super) fn find(&self, name: &str, now: Timestamp) -> Result<Arc<Screen>, Failure> {
        let found = self.all().get(name).cloned();
        let screen = found.ok_or_else(|| {
            Failure::new("screen_closed", "this page was left alone for too long; reload it to continue")
        })?;
        let mut shown = screen.shown();
        (shown.used_at, shown.has_left) = (now, false);
        drop(shown);
        Ok(screen)
    }

    fn forget(&self, now: Timestamp) {
        let is_open = |screen: &Screen| {
            let is_answered = !screen.answered().is_empty();
            is_answered || now.since(screen.shown().used_at) < SCREEN_TIMEOUT
        };
        self.all().retain(|_, screen| is_open(screen));
    }
}

/// Writes answers once they cannot be taken back any more, for as long as the console runs.
pub(crate) async fn write_when_due(console: &Console) {
    loop {
        tokio::time::sleep(WRITE_INTERVAL).await;
        let now = console.now();
        write_answers(console, UndoableDecisions::due, now).await;
        console.screens().forget(now);
    }
}

/// Writes the answers that are left when the console ends.
///
/// # Errors
/// Names the submissions whose answers were not written, and why.
pub(crate) async fn write_all(console: &Console) -> Result<(), Failure> {
    write_answers(console, |held, _| held.all(), console.now()).await;
    let screens: Vec<_> = console.screens().all().values().cloned().collect();
    let notices = screens.iter().flat_map(|screen| screen.take_notices());
    let failed: Vec<_> = notices.filter(|notice| notice.is_failure).map(|notice| notice.text).collect();
    if failed.is_empty() {
        return Ok(());
    }
    let message = format!(
        "the console ended, and {} of your answers were not written: {} Run ops console again to decide them",
        failed.len(),
        failed.join(" ")
    );
    Err(Failure::new("answers_not_written", message))
}

type Which = fn(&mut UndoableDecisions, Timestamp) -> Vec<ReviewDecision>;

async fn write_answers(console: &Console, which: Which, now: Timestamp) {
    let turn = Arc::clone(&console.screens().writing).lock_owned().await;
    if console.screens().all().values().all(|screen| screen.answered().is_empty()) {
        return;
    }
    let console = console.clone();
    // As for a page, the futures of `ops_core` stay on one thread.
    let writing = move || {
        Handle::current().block_on(write_on_this_thread(&console, which, now));
        drop(turn);
    };
    // It ends early only by a panic, which a test would show.
    let _ = spawn_blocking(writing).await;
}

async fn write_on_this_thread(console: &Console, which: Which, now: Timestamp) {
    let screens: Vec<_> = console.screens().all().values().cloned().collect();
    for screen in screens {
        let answers = {
            let mut shown = screen.shown();
            let answers = which(&mut shown.held, now);
            shown.writing.extend(answers.iter().map(|answer| answer.submission_id));
            answers
        };
        for answer in answers {
            let written = write_one(console, &screen, &answer, now).await;
            settled(console, &screen, answer.submission_id, written, now).await;
        }
    }
}

/// Tells the reviewer, and forgets a submission that does not come back to the page.
async fn settled(
    console: &Console,
    screen: &Screen,
    id: SubmissionId,
    written: Result<ReviewResult, Failure>,
    now: Timestamp,
) {
    let is_gone = written.as_ref().is_ok() || written.as_ref().is_err_and(|failure| failure.code == MOVED);
    let still_waits = matches!(written, Ok(ReviewResult::Proposed { .. }));
    let (text, is_failure) = match written {
        Ok(ReviewResult::Settled(_)) => (None, false),
        Ok(ReviewResult::Proposed { at_stake, .. }) => {
            (Some(format!("accepted by you; {at_stake}, so it waits for a second person.")), false)
        }
        Ok(ReviewResult::SecondLook(submission)) => {
            let agrees = submission.second_look.is_some_and(|look| look.agrees);
            let said = if agrees { "agrees with" } else { "differs from" };
            (Some(format!("your second look {said} the decision.")), false)
        }
        Err(failure) => (Some(page_message(&failure)), true),
    };
    if is_gone {
        release(console, screen, id, is_failure || still_waits, now).await;
    }
    let mut shown = screen.shown();
    let reference = shown.items.get(&id).map_or_else(|| id.to_string(), |item| item.reference.to_string());
    let text = text.map(|text| format!("{reference}: {text}"));
    shown.writing.retain(|one| *one != id);
    shown.notices.extend(text.map(|text| Notice { id, text, is_failure, is_gone }));
    if is_gone {
        shown.items.remove(&id);
    }
}

/// Others get a submission that changed or waits for a second person; the claim of one that is settled expires.
async fn release(console: &Console, screen: &Screen, id: SubmissionId, waits: bool, now: Timestamp) {
    let mut queue = screen.queue.lock().await;
    let claims = console.tables().and_then(|tables| Ok(tables.review_claims(console.env())?));
    match claims {
        // If it cannot be released, the claim ends within two minutes.
        Ok(claims) if waits => drop(queue.skip(&claims, id, now).await),
        Ok(_) | Err(_) => queue.answered(id, now),
    }
}

async fn write_one(
    console: &Console,
    screen: &Screen,
    answer: &ReviewDecision,
    now: Timestamp,
) -> Result<ReviewResult, Failure> {
    let tables = console.tables()?;
    let reviewer = Reviewer::from_audit(&tables).await?;
    Box::pin(write(&tables, &screen.scope, answer, &reviewer, now)).await
}
