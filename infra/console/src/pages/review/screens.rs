//! The review screens that are open: what each has claimed, which answers it can still take back, and the photos that it
//! shows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use common::domain::hex::hex;
use common::domain::ids::SubmissionId;
use common::domain::scope::Scope;
use common::domain::timestamp::Timestamp;
use common::random;
use ops_core::failure::Failure;
use ops_core::review::Reviewer;
use ops_core::review::answer::{Written, write};
use ops_core::review::held::{Answer, HeldAnswers};
use ops_core::review::queue::ReviewQueue;
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use crate::failure::sentence;
use crate::state::Console;

/// A screen that said nothing for so long is closed; its claims have ended.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(10 * 60);
/// How often answers are written whose time to be taken back is over.
const WRITE_INTERVAL: Duration = Duration::from_millis(250);

/// What a reviewer has to know of an answer that was written, or could not be.
#[derive(Serialize)]
pub(super) struct Notice {
    id: SubmissionId,
    text: String,
    /// It was not written, so the reviewer decides again.
    is_failure: bool,
}

/// One open screen.
pub(super) struct Screen {
    pub(super) scope: Scope,
    pub(super) holder: String,
    pub(super) queue: tokio::sync::Mutex<ReviewQueue>,
    shown: Mutex<Shown>,
}

struct Shown {
    held: HeldAnswers,
    photos: HashMap<SubmissionId, Vec<u8>>,
    notices: Vec<Notice>,
    used_at: Timestamp,
}

impl Screen {
    fn shown(&self) -> MutexGuard<'_, Shown> {
        // Nothing panics while it is held.
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn hold(&self, answer: Answer, now: Timestamp) {
        self.shown().held.hold(answer, now);
    }

    pub(super) fn take_back(&self, id: SubmissionId) -> bool {
        self.shown().held.take_back(id).is_some()
    }

    pub(super) fn answered(&self) -> Vec<SubmissionId> {
        self.shown().held.ids()
    }

    pub(super) fn keep_photo(&self, id: SubmissionId, photo: Vec<u8>) {
        self.shown().photos.insert(id, photo);
    }

    pub(super) fn photo(&self, id: SubmissionId) -> Option<Vec<u8>> {
        self.shown().photos.get(&id).cloned()
    }

    pub(super) fn forget_photo(&self, id: SubmissionId) {
        self.shown().photos.remove(&id);
    }

    pub(super) fn notices(&self) -> Vec<Notice> {
        std::mem::take(&mut self.shown().notices)
    }
}

/// All open screens.
#[derive(Default)]
pub(crate) struct Screens(Mutex<HashMap<String, Arc<Screen>>>);

impl Screens {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Screen>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a screen, and returns its name.
    pub(super) fn open(&self, scope: Scope, now: Timestamp) -> String {
        let name = hex(&random::bytes::<16>());
        let queue = tokio::sync::Mutex::new(ReviewQueue::new(scope.clone(), name.clone()));
        let shown =
            Shown { held: HeldAnswers::default(), photos: HashMap::new(), notices: Vec::new(), used_at: now };
        let screen = Screen { scope, holder: name.clone(), queue, shown: Mutex::new(shown) };
        self.all().insert(name.clone(), Arc::new(screen));
        name
    }

    /// A screen that is still open.
    pub(super) fn find(&self, name: &str, now: Timestamp) -> Result<Arc<Screen>, Failure> {
        let found = self.all().get(name).cloned();
        let screen = found.ok_or_else(|| {
            Failure::new("screen_closed", "this page was left alone for too long; reload it to go on")
        })?;
        screen.shown().used_at = now;
        Ok(screen)
    }

    fn forget(&self, now: Timestamp) {
        let is_open = |screen: &Screen| {
            let shown = screen.shown();
            now.since(shown.used_at) < FORGOTTEN_AFTER || !shown.held.ids().is_empty()
        };
        self.all().retain(|_, screen| is_open(screen));
    }
}

/// Writes answers once they cannot be taken back any more, for as long as the console runs.
pub(crate) async fn write_when_due(console: &Console) {
    loop {
        tokio::time::sleep(WRITE_INTERVAL).await;
        let now = console.now();
        write_answers(console, HeldAnswers::due, now).await;
        console.screens().forget(now);
    }
}

/// Writes the answers that are left when the console ends.
pub(crate) async fn write_all(console: &Console) {
    write_answers(console, |held, _| held.all(), console.now()).await;
}

type Which = fn(&mut HeldAnswers, Timestamp) -> Vec<Answer>;

async fn write_answers(console: &Console, which: Which, now: Timestamp) {
    if console.screens().all().values().all(|screen| screen.answered().is_empty()) {
        return;
    }
    let console = console.clone();
    // As for a page, the futures of `ops_core` stay on one thread.
    let writing = move || Handle::current().block_on(write_on_this_thread(&console, which, now));
    // It ends early only by a panic, which a test would show.
    let _ = spawn_blocking(writing).await;
}

async fn write_on_this_thread(console: &Console, which: Which, now: Timestamp) {
    let screens: Vec<_> = console.screens().all().values().cloned().collect();
    for screen in screens {
        let answers = which(&mut screen.shown().held, now);
        for answer in answers {
            let id = answer.submission_id;
            let notice = match write_one(console, &screen, &answer, now).await {
                Ok(Written::Settled(_)) => None,
                Ok(Written::SecondLook(submission)) => {
                    let agrees = submission.second_look.is_some_and(|look| look.agrees);
                    let said = if agrees { "agrees with" } else { "differs from" };
                    let text = format!("Your second look at {} {said} the decision.", submission.reference);
                    Some(Notice { id, text, is_failure: false })
                }
                Err(failure) => Some(Notice { id, text: sentence(&failure.message), is_failure: true }),
            };
            if notice.as_ref().is_none_or(|notice| !notice.is_failure) {
                screen.queue.lock().await.answered(id, now);
                screen.forget_photo(id);
            }
            screen.shown().notices.extend(notice);
        }
    }
}

async fn write_one(
    console: &Console,
    screen: &Screen,
    answer: &Answer,
    now: Timestamp,
) -> Result<Written, Failure> {
    let tables = console.tables()?;
    let reviewer = Reviewer::of(&tables).await?;
    Box::pin(write(&tables, &screen.scope, answer, &reviewer, now)).await
}
