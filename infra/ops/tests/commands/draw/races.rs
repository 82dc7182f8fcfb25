//! Erasures during a freeze or run, and stopped freezes.

use std::process::{Command, Stdio};

use common::clock::Clock;
use common::domain::draw::FreezeLock;
use service_tests::interceptor::Interceptor;

use super::erasure::{ERASE, PHONE, openings};
use super::*;
use crate::support::ctrl_c;

/// A stack with holdable calls, and entries of two persons.
pub(crate) async fn with_two() -> (Interceptor, Stack, Submission) {
    let (hold, stack) = Stack::held().await;
    stack.apply(CHAI).await;
    entered(&stack, "0711000005", 1).await;
    let person = entered(&stack, PHONE, 1).await;
    (hold, stack, person)
}

pub(super) fn uploads_openings(call: &str, _: &str) -> bool {
    call.starts_with("PUT /draw-openings/")
}

/// A freeze that is killed before it records the draw.
async fn killed_freeze(hold: &Interceptor, stack: &Stack, more: &str) {
    hold.select(|_, body| body.contains("TransactItems") && body.contains("\"draw#week-03\""));
    tokio::select! {
        ended = stack.run(freeze(stack, "week-03", more)) => panic!("{}", ended.err),
        () = hold.reached() => hold.stop(),
    }
}

#[tokio::test]
async fn erasure_waits_for_a_freeze_that_is_running() {
    let (hold, stack, person) = with_two().await;
    hold.select(uploads_openings);
    let erasing = async {
        hold.reached().await;
        let refused = stack.refused(ERASE, "draw_busy").await;
        hold.release();
        refused
    };
    let (draw, refused) = tokio::join!(frozen(&stack), erasing);
    assert_contains!(
        refused.message,
        "a freeze of the draw week-03 of chai-bora-2026, live can be running",
        "at 2026-03-01T00:30:00.000Z or later"
    );
    let reference = person.reference().to_string();
    assert_contains!(openings(&stack, &draw).await, reference);
    stack.fine(ERASE).await;
    assert_lacks!(openings(&stack, &draw).await, reference);
}

#[tokio::test]
async fn openings_of_a_killed_freeze_go_with_the_next_erasure() {
    let (hold, stack, _) = with_two().await;
    killed_freeze(&hold, &stack, PRIZE).await;
    assert_eq!(stored::openings(&stack).keys().await.len(), 1);
    stack.refused(ERASE, "draw_busy").await;
    stack.clock.advance(Duration::from_secs(30 * 60));
    stack.fine(ERASE).await;
    assert_eq!(stored::openings(&stack).keys().await, [""; 0]);
    assert_released(&stack).await;
    frozen(&stack).await;
}

#[tokio::test]
async fn clearing_deletes_openings_of_a_killed_freeze() {
    let (hold, stack, _) = with_two().await;
    let accepted = SubmissionStatus::accepted(1, None);
    submitted_in(Environment::Test, &stack, PHONE, accepted, ENTERED).await;
    killed_freeze(&hold, &stack, "--prize Kettle=1 --environment test").await;
    stack.clock.advance(Duration::from_secs(30 * 60));
    stack
        .fine("campaign clear-test-data chai-bora-2026 --yes")
        .await;
    assert_eq!(stored::openings(&stack).keys().await, [""; 0]);
}

#[tokio::test]
async fn freeze_that_an_erasure_gave_up_leaves_nothing() {
    let (hold, stack, _) = with_two().await;
    hold.select(uploads_openings);
    let (tables, scope) = (stack.tables(), live());
    let erasing = async {
        hold.reached().await;
        let lock = tables.draws.freeze_lock(&scope).await.expect("it answers");
        let stopped = FreezeLock {
            id: "of an erasure".to_owned(),
            ..lock.clone().expect("a lock")
        };
        let changed = tables
            .draws
            .change_freeze_lock(&scope, lock.as_ref(), &stopped);
        assert!(changed.await.expect("it answers"));
        hold.release();
    };
    let command = freeze(&stack, "week-03", PRIZE);
    tokio::join!(stack.refused(&command, "changed_meanwhile"), erasing);
    assert_eq!(stored::openings(&stack).keys().await, [""; 0]);
    assert!(!stack.path("week-03").exists());
    stack.fine(&command).await;
}

#[tokio::test]
async fn draw_frozen_during_an_erasure_forgets_the_person() {
    let (hold, stack, person) = with_two().await;
    hold.select(|_, body| body.contains("TransactItems") && body.contains("\"submissions\""));
    let freezing = async {
        hold.reached().await;
        let draw = frozen(&stack).await;
        let before = openings(&stack, &draw).await;
        hold.release();
        (draw, before)
    };
    let (_, (draw, before)) = tokio::join!(stack.fine(ERASE), freezing);
    let reference = person.reference().to_string();
    assert_contains!(before, reference);
    assert_lacks!(openings(&stack, &draw).await, reference);
}

#[tokio::test]
async fn erasure_by_a_slow_clock_after_the_round_is_refused() {
    let (hold, stack, _) = with_two().await;
    frozen_as(&stack, "week-03", "--prize Kettle=2").await;
    hold.select(|_, body| body.contains("TransactItems") && body.contains("contact#week-03"));
    let erasing = async {
        hold.reached().await;
        stack.refused(ERASE, "draw_not_run").await;
        let erased = stack.run_at(&Clock::manual(NOW), ERASE).await;
        assert_contains!(erased.err, "is there, and its winners are not drawn");
        hold.release();
    };
    let (drawn, ()) = tokio::join!(stack.json(RUN), erasing);
    assert_eq!(drawn["winners"][0]["state"]["is"], "drawn");
}

#[cfg(unix)]
#[tokio::test]
async fn ctrl_c_during_a_freeze_leaves_no_file_and_no_openings() {
    let (hold, stack, _) = with_two().await;
    hold.select(uploads_openings);
    let ready = stack.file("ready.json", stack.ready_file().to_string());
    // The program uses the system's clock.
    let at = Clock::system().now().after(NOTICE);
    let own = freeze_at(
        &stack,
        "week-03",
        at,
        &format!("{PRIZE} --env-file {ready}"),
    );
    let freezing = Command::new(env!("CARGO_BIN_EXE_ops"))
        .args(own.split(' '))
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let in_time = tokio::time::timeout(Duration::from_secs(60), hold.reached()).await;
    hold.stop();
    assert!(in_time.is_ok());
    let ended = ctrl_c(freezing).await;
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert_contains!(said, "the freeze was stopped");
    assert_eq!(files_in(stack.folder.path()), ["chai.yaml", "ready.json"]);
    assert_eq!(stored::openings(&stack).keys().await, [""; 0]);
    assert_released(&stack).await;
}

/// No freeze is left for an erasure to wait for.
pub(super) async fn assert_released(stack: &Stack) {
    let (tables, scope) = (stack.tables(), live());
    let lock = tables.draws.freeze_lock(&scope).await.expect("it answers");
    let lock = lock.expect("a freeze began");
    assert_eq!((lock.expires_at, lock.commitment), (None, None));
}

#[tokio::test]
async fn freeze_goes_on_from_one_that_was_killed() {
    let (hold, stack, _) = with_two().await;
    killed_freeze(&hold, &stack, PRIZE).await;
    let draw = frozen_as(&stack, "other", PRIZE).await;
    let left = [key(&draw, "openings.csv")];
    assert_eq!(stored::openings(&stack).keys().await, left);
}
