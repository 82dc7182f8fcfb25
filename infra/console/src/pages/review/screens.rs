//! Open review screens, with their claims and photos.

use std::sync::Arc;

use common::domain::receipt::payload::VerificationCode;
use common::lock::Mutex;
use ops_core::review::queue::ReviewQueue;

use crate::prelude::*;

/// Silence after which a screen is closed and its claims have expired.
const SCREEN_TIMEOUT: Duration = Duration::from_secs(10 * 60);

pub(super) struct Screen {
    pub(super) scope: Scope,
    pub(super) name: String,
    /// The reviewer and this screen, for locks.
    pub(super) holder: String,
    pub(super) queue: tokio::sync::Mutex<ReviewQueue>,
    shown: Mutex<Shown>,
}

struct Shown {
    /// Copies as JPEG files.
    photos: HashMap<SubmissionId, Vec<u8>>,
    /// The tax authority's last answer about a typed code.
    looked_up: HashMap<SubmissionId, (VerificationCode, &'static str)>,
    used_at: Timestamp,
}

impl Screen {
    /// Moves the photo's copy out of the page, which requests it separately.
    pub(super) fn keep_photo(&self, item: &mut ReviewItem) {
        if let Some(ShownPhoto::Copy(copy)) = &mut item.photo {
            self.shown
                .lock()
                .photos
                .insert(item.submission.submission_id, std::mem::take(copy));
        }
    }

    pub(super) fn photo(&self, id: SubmissionId) -> Option<Vec<u8>> {
        self.shown.lock().photos.get(&id).cloned()
    }

    pub(super) fn keep_look_up(
        &self,
        id: SubmissionId,
        code: VerificationCode,
        answer: &'static str,
    ) {
        self.shown.lock().looked_up.insert(id, (code, answer));
    }

    /// The answer about this code, if it was asked about here.
    pub(super) fn looked_up(
        &self,
        id: SubmissionId,
        code: &VerificationCode,
    ) -> Option<&'static str> {
        let shown = self.shown.lock();
        let (asked, answer) = shown.looked_up.get(&id)?;
        (asked == code).then_some(*answer)
    }

    pub(super) fn forget_photo(&self, id: SubmissionId) {
        self.shown.lock().photos.remove(&id);
    }

    pub(super) fn forget_photos(&self) {
        self.shown.lock().photos.clear();
    }
}

#[derive(Default)]
pub(crate) struct Screens(Mutex<HashMap<String, Arc<Screen>>>);

impl Screens {
    /// Forgets closed ones.
    pub(super) fn open(&self, scope: Scope, by: &str, now: Timestamp) -> Arc<Screen> {
        let name = hex::encode(random::bytes::<16>());
        let holder = format!("{by} {name}");
        let queue = tokio::sync::Mutex::new(ReviewQueue::new(scope.clone(), holder.clone()));
        let shown = Mutex::new(Shown {
            photos: HashMap::new(),
            looked_up: HashMap::new(),
            used_at: now,
        });
        let screen = Arc::new(Screen {
            scope,
            name: name.clone(),
            holder,
            queue,
            shown,
        });
        let mut all = self.0.lock();
        all.retain(|_, screen| now.since(screen.shown.lock().used_at) < SCREEN_TIMEOUT);
        all.insert(name, Arc::clone(&screen));
        screen
    }

    pub(super) fn find(&self, name: &str, now: Timestamp) -> Result<Arc<Screen>, Failure> {
        let found = self.0.lock().get(name).cloned();
        let screen = found.ok_or_else(|| {
            failure!(
                "screen_closed",
                "this page was left alone for too long; reload it to continue"
            )
        })?;
        screen.shown.lock().used_at = now;
        Ok(screen)
    }
}
