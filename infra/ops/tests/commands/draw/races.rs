//! Erasures during a freeze or run, and stopped freezes.

use common::clock::Clock;
use common::domain::draw::FreezeLock;
use local::stack::Options;
use service_tests::interceptor::Interceptor;

use super::erasure::{PHONE, erase, openings};
use super::*;
use crate::support::run as run_with;

/// A stack with holdable calls, and entries of two persons.
pub(super) async fn with_two() -> (Interceptor, Stack, Submission) {
    let hold = Interceptor::default();
    let stack = Stack::start(Options {
        proxy: Some(hold.front()),
        ..Options::default()
    })
    .await;
    let file = stack.file("chai.yaml", CHAI);
    stack.fine(&["campaign", "apply", "--yes", &file]).await;
    entered(&stack, "0711000005", 1).await;
    let person = entered(&stack, PHONE, 1).await;
    (hold, stack, person)
}

pub(super) fn uploads_openings(call: &str, _: &str) -> bool {
    call.starts_with("PUT /draw-openings/")
}

fn records_the_draw(_: &str, body: &str) -> bool {
    body.contains("TransactItems") && body.contains("\"draw#week-03\"")
}

#[tokio::test]
async fn erasure_waits_for_a_freeze_that_is_running() {
    let (hold, stack, person) = with_two().await;
    hold.select(uploads_openings);
    let erasing = async {
        hold.reached().await;
        let refused = stack.refused(&erase()).await;
        hold.release();
        refused
    };
    let (draw, refused) = tokio::join!(frozen(&stack, "week-03", PRIZE), erasing);
    assert_eq!(refused["code"], "draw_busy");
    let message = refused["message"].as_str().expect("text");
    assert!(
        message.contains("a freeze of the draw week-03 of chai-bora-2026, live can be running")
            && message.contains("at 2026-03-01T00:30:00.000Z or later"),
        "{message}"
    );
    assert!(
        openings(&stack, &draw)
            .await
            .contains(&person.reference().to_string()),
        "nothing was erased"
    );
    stack.fine(&erase()).await;
    assert!(
        !openings(&stack, &draw)
            .await
            .contains(&person.reference().to_string())
    );
}

#[tokio::test]
async fn openings_of_a_killed_freeze_go_with_the_next_erasure() {
    let (hold, stack, _) = with_two().await;
    hold.select(records_the_draw);
    let command = freeze(&stack, "week-03", PRIZE);
    let command = args(&command);
    tokio::select! {
        ended = stack.run(&command) => panic!("{}", ended.err),
        () = hold.reached() => hold.stop(),
    }
    assert_eq!(stored::openings(&stack).keys().await.len(), 1);
    assert_eq!(stack.refused(&erase()).await["code"], "draw_busy");
    stack.clock.advance(Duration::from_secs(30 * 60));
    stack.fine(&erase()).await;
    assert_eq!(stored::openings(&stack).keys().await, [""; 0]);
    assert_released(&stack).await;
    frozen(&stack, "week-03", PRIZE).await;
}

#[tokio::test]
async fn clearing_deletes_openings_of_a_killed_freeze() {
    let (hold, stack, _) = with_two().await;
    let accepted = SubmissionStatus::accepted(1, None);
    submitted_in(Environment::Test, &stack, PHONE, accepted, ENTERED).await;
    hold.select(records_the_draw);
    let command = freeze(&stack, "week-03", "--prize Kettle=1 --environment test");
    let command = args(&command);
    tokio::select! {
        ended = stack.run(&command) => panic!("{}", ended.err),
        () = hold.reached() => hold.stop(),
    }
    stack.clock.advance(Duration::from_secs(30 * 60));
    stack
        .fine(&["campaign", "clear-test-data", "chai-bora-2026", "--yes"])
        .await;
    assert_eq!(stored::openings(&stack).keys().await, [""; 0]);
}

#[tokio::test]
async fn freeze_that_an_erasure_gave_up_leaves_nothing() {
    let (hold, stack, _) = with_two().await;
    hold.select(uploads_openings);
    let (tables, scope) = (stack.tables().await, chai(Environment::Live));
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
    let command = args(&command);
    let (refused, ()) = tokio::join!(stack.refused(&command), erasing);
    assert_eq!(refused["code"], "changed_meanwhile");
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
        let draw = frozen(&stack, "week-03", PRIZE).await;
        let before = openings(&stack, &draw).await;
        hold.release();
        (draw, before)
    };
    let erasing = erase();
    let (_, (draw, before)) = tokio::join!(stack.fine(&erasing), freezing);
    let reference = person.reference().to_string();
    assert!(
        before.contains(&reference),
        "the freeze has read the person"
    );
    assert!(!openings(&stack, &draw).await.contains(&reference));
}

#[tokio::test]
async fn erasure_by_a_slow_clock_after_the_round_is_refused() {
    let (hold, stack, _) = with_two().await;
    frozen(&stack, "week-03", "--prize Kettle=2").await;
    hold.select(|_, body| body.contains("TransactItems") && body.contains("contact#week-03"));
    let erasing = async {
        hold.reached().await;
        assert_eq!(stack.refused(&erase()).await["code"], "draw_not_run");
        let erased = run_with(&erase(), stack.env.clone(), &Clock::manual(NOW)).await;
        assert!(
            erased
                .err
                .contains("is there, and its winners are not drawn"),
            "{}",
            erased.err
        );
        hold.release();
    };
    let command = run("week-03", &[]);
    let (drawn, ()) = tokio::join!(stack.json(&command), erasing);
    assert_eq!(drawn["winners"][0]["state"]["is"], "drawn");
}

#[cfg(unix)]
#[tokio::test]
async fn ctrl_c_during_a_freeze_leaves_no_file_and_no_openings() {
    let (hold, stack, _) = with_two().await;
    hold.select(uploads_openings);
    let ready = stack.file("ready.json", stack.ready_file().to_string());
    // The program uses the system's clock.
    let (at, output) = (
        Clock::system().now().after(NOTICE).to_string(),
        stack.arg("week-03"),
    );
    let own = format!(
        "draw freeze --draw week-03 --at {at} --output {output} --yes {PERIOD} {PRIZE} --env-file {ready}"
    );
    let freezing = std::process::Command::new(env!("CARGO_BIN_EXE_ops"))
        .args(in_campaign(&own))
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let in_time = tokio::time::timeout(Duration::from_secs(60), hold.reached()).await;
    let stop = std::process::Command::new("kill")
        .args(["-INT", &freezing.id().to_string()])
        .status();
    hold.stop();
    assert!(in_time.is_ok() && stop.expect("it can be told").success());
    let ended = tokio::task::spawn_blocking(|| freezing.wait_with_output())
        .await
        .expect("it is waited for");
    let ended = ended.expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("the freeze was stopped"), "{said}");
    assert_eq!(files_in(stack.folder.path()), ["chai.yaml", "ready.json"]);
    assert_eq!(stored::openings(&stack).keys().await, [""; 0]);
    assert_released(&stack).await;
}

/// No freeze is left for an erasure to wait for.
pub(super) async fn assert_released(stack: &Stack) {
    let (tables, scope) = (stack.tables().await, chai(Environment::Live));
    let lock = tables.draws.freeze_lock(&scope).await.expect("it answers");
    let lock = lock.expect("a freeze began");
    assert_eq!((lock.expires_at, lock.commitment), (None, None));
}

#[tokio::test]
async fn freeze_goes_on_from_one_that_was_killed() {
    let (hold, stack, _) = with_two().await;
    hold.select(records_the_draw);
    let command = freeze(&stack, "week-03", PRIZE);
    let command = args(&command);
    tokio::select! {
        ended = stack.run(&command) => panic!("{}", ended.err),
        () = hold.reached() => hold.stop(),
    }
    let draw = frozen(&stack, "other", PRIZE).await;
    let left = [key(&draw, "openings.csv")];
    assert_eq!(stored::openings(&stack).keys().await, left);
}
