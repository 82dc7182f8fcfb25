//! Freezes under way: minutes of work, which go on while pages come and go.

use std::sync::Arc;

use common::lock::Mutex;
use ops_core::LastLine;
use ops_core::draws::freeze::{BegunFreeze, FreezePlan, ReadFreeze, begin};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::new_draw::NewDraw;
use crate::prelude::*;

/// A random number in hexadecimal.
pub(super) type Attempt = String;

/// One for each campaign and environment, like the lock of freezes.
#[derive(Clone, Default)]
pub(crate) struct Freezes(Arc<Mutex<HashMap<Scope, Freeze>>>);

pub(super) struct Freeze {
    /// Apart from that of a later freeze with the same name.
    pub(super) attempt: Attempt,
    pub(super) form: NewDraw,
    pub(super) state: FreezeState,
    /// Gets the draw's files, and is removed with them: storage has them.
    folder: TempDir,
}

pub(super) enum FreezeState {
    Working(Work),
    Asking(Box<ReadFreeze>),
    Failed(String),
}

pub(super) struct Work {
    pub(super) doing: &'static str,
    pub(super) line: LastLine,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

pub(super) enum Started {
    /// The freeze has a page.
    UnderWay,
    /// An earlier freeze was interrupted, and is finished now.
    Published,
}

impl Freezes {
    /// Result of `look` at the freeze of a scope, if there is one.
    pub(super) fn look<T>(&self, scope: &Scope, look: impl FnOnce(&Freeze) -> T) -> Option<T> {
        self.0.lock().get(scope).map(look)
    }

    /// Checks, takes the lock, and reads the entries; a form that is sent again begins nothing.
    ///
    /// # Errors
    /// Those of the checks, and of another freeze under way here.
    pub(super) async fn start(
        &self,
        console: &Console,
        form: &NewDraw,
        campaign: Campaign,
        plan: FreezePlan,
        folder: TempDir,
    ) -> Result<Started, Failure> {
        let (tables, scope) = (console.tables()?, plan.scope.clone());
        let (answer, answered) = oneshot::channel();
        {
            let mut all = self.0.lock();
            match all.get(&scope) {
                Some(Freeze {
                    state: FreezeState::Failed(_),
                    ..
                })
                | None => {}
                Some(known) if known.form == *form => return Ok(Started::UnderWay),
                Some(known) => bail!(
                    "draw_busy",
                    "a freeze of the draw {} is under way in this console; answer or stop that one first",
                    known.form.name
                ),
            }
            let freezes = self.clone();
            let attempt: Attempt = hex::encode(random::bytes::<16>());
            let of = (scope.clone(), attempt.clone());
            let clock = console.clock.clone();
            let work = Work::begin("Reading the entries", async move |mut line, stopped| {
                let begun = begin(&tables, &campaign, plan, clock.now()).await;
                let locked = match begun {
                    Ok(BegunFreeze::Locked(locked)) => locked,
                    Ok(BegunFreeze::Recorded(recorded)) => {
                        let published = recorded.publish(&tables, &clock).await;
                        freezes.remove(&of);
                        // Without a receiver, the page was left.
                        let _ = answer.send(published.map(|_| Started::Published));
                        return;
                    }
                    Err(failure) => {
                        freezes.remove(&of);
                        let _ = answer.send(Err(failure));
                        return;
                    }
                };
                let _ = answer.send(Ok(Started::UnderWay));
                let mut out = io::sink();
                let mut terminal = line.terminal(&mut out);
                let read = locked.read(&tables, &clock, &mut terminal, stopped).await;
                match read {
                    Ok(read) => {
                        let unasked = freezes.set(&of, FreezeState::Asking(Box::new(read)));
                        if let Some(FreezeState::Asking(read)) = unasked {
                            read.give_up(&tables).await;
                        }
                    }
                    Err(failure) => {
                        freezes.set(&of, FreezeState::Failed(page_message(&failure)));
                    }
                }
            });
            all.insert(
                scope,
                Freeze {
                    attempt,
                    form: form.clone(),
                    state: FreezeState::Working(work),
                    folder,
                },
            );
        }
        answered.await.unwrap_or(Ok(Started::UnderWay))
    }

    /// Records and publishes what was asked about; sent again, it does nothing.
    ///
    /// # Errors
    /// When another attempt was begun meanwhile.
    pub(super) fn commit(
        &self,
        console: &Console,
        scope: &Scope,
        attempt: &str,
    ) -> Result<(), Failure> {
        let tables = console.tables()?;
        let mut all = self.0.lock();
        let Some(freeze) = all.get_mut(scope) else {
            return Ok(());
        };
        freeze.check(attempt)?;
        // Replaced below.
        let idle = FreezeState::Failed(String::new());
        let read = match std::mem::replace(&mut freeze.state, idle) {
            FreezeState::Asking(read) => read,
            other @ (FreezeState::Working(_) | FreezeState::Failed(_)) => {
                freeze.state = other;
                return Ok(());
            }
        };
        let (freezes, clock) = (self.clone(), console.clock.clone());
        let of = (scope.clone(), freeze.attempt.clone());
        let doing = "Writing the entries and their commitment to storage";
        let work = Work::begin(doing, async move |_, stopped| {
            match read.commit(&tables, &clock, stopped).boxed().await {
                Ok(_) => freezes.remove(&of),
                Err(failure) => {
                    freezes.set(&of, FreezeState::Failed(page_message(&failure)));
                }
            }
        });
        freeze.state = FreezeState::Working(work);
        Ok(())
    }

    /// Stops the freeze, and releases its lock.
    ///
    /// # Errors
    /// When another attempt was begun meanwhile.
    pub(super) async fn give_up(
        &self,
        console: &Console,
        scope: &Scope,
        attempt: &str,
    ) -> Result<(), Failure> {
        let removed = {
            let mut all = self.0.lock();
            all.get(scope)
                .map(|freeze| freeze.check(attempt))
                .transpose()?;
            all.remove(scope)
        };
        let Some(Freeze { state, folder, .. }) = removed else {
            return Ok(());
        };
        match state {
            FreezeState::Working(Work { stop, task, .. }) => {
                // If it has ended, nothing is left to stop.
                let _ = stop.send(());
                let _ = task.await;
            }
            FreezeState::Asking(read) => read.give_up(&console.tables()?).await,
            FreezeState::Failed(_) => {}
        }
        drop(folder);
        Ok(())
    }

    /// The end of the console.
    pub(crate) async fn give_up_all(&self, console: &Console) {
        let under_way =
            |(scope, freeze): (&Scope, &Freeze)| (scope.clone(), freeze.attempt.clone());
        let all: Vec<_> = self.0.lock().iter().map(under_way).collect();
        for (scope, attempt) in all {
            // A lock that stays expires.
            let _ = self.give_up(console, &scope, &attempt).await;
        }
    }

    /// Returns the state of a freeze that was given up meanwhile.
    fn set(&self, (scope, attempt): &(Scope, Attempt), state: FreezeState) -> Option<FreezeState> {
        match self.0.lock().get_mut(scope) {
            Some(freeze) if freeze.attempt == *attempt => {
                freeze.state = state;
                None
            }
            Some(_) | None => Some(state),
        }
    }

    fn remove(&self, (scope, attempt): &(Scope, Attempt)) {
        let mut all = self.0.lock();
        if all
            .get(scope)
            .is_some_and(|freeze| freeze.attempt == *attempt)
        {
            all.remove(scope);
        }
    }
}

impl Freeze {
    fn check(&self, attempt: &str) -> Result<(), Failure> {
        if self.attempt == attempt {
            return Ok(());
        }
        bail!(
            "freeze_changed",
            "nothing was done: this freeze of {} was stopped, and another one began; look at it before you answer",
            self.form.name
        )
    }
}

impl Work {
    fn begin<F: Future<Output = ()> + Send + 'static>(
        doing: &'static str,
        work: impl FnOnce(LastLine, Stopped) -> F,
    ) -> Self {
        let (stop, stopped) = oneshot::channel();
        let line = LastLine::default();
        let stopped = async move {
            // Dropped with the freeze's record.
            let _ = stopped.await;
        };
        Self {
            doing,
            task: tokio::spawn(work(line.clone(), stopped.boxed())),
            line,
            stop,
        }
    }
}

type Stopped = futures_util::future::BoxFuture<'static, ()>;
