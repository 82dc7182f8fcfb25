//! Several freezes, two operators, interrupted commands: never two commitments.

use common::domain::draw::Draw;

use super::*;

/// Unpublishes a draw, as if the freeze had ended after recording it.
pub(crate) async fn interrupt(stack: &Stack, draw: &Value) {
    stored::remove_from_draw(stack, "published_at").await;
    for file in ["header.json", "commitment.txt"] {
        stored::evidence(stack).delete(&key(draw, file)).await;
    }
}

#[tokio::test]
async fn name_is_frozen_once() {
    let stack = with_entries().await;
    let first = frozen(&stack).await;
    entered(&stack, "0711000004", 100).await;
    let other = stack.arg("other");
    let again = freeze(&stack, "week-03", "--prize Kettle=9");
    let again = again.replace(&stack.arg("week-03"), &other);
    stack.refused(&again, "draw_frozen").await;
    assert!(!stack.path("other").exists());
    let shown = shown(&stack).await;
    let frozen = "commitment header";
    assert_eq!(fields(&shown, frozen), fields(&first, frozen));
}

#[tokio::test]
async fn of_two_draws_frozen_at_once_one_names_the_other() {
    let stack = with_entries().await;
    let [one, two] = ["one", "two"].map(|name| freeze(&stack, name, "--prize Kettle=1 --json"));
    tokio::join!(stack.run(one), stack.run(two));
    let draws = stack.tables().draws.list(&live()).await;
    let draws = draws.expect("it answers");
    let unaware = |draw: &&Draw| draw.header.contains("\"overlapping\":[]");
    assert_eq!(draws.iter().filter(unaware).count(), 1, "{draws:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_operators_at_once_one_freezes() {
    let stack = with_entries().await;
    let outputs = [stack.arg("one"), stack.arg("two")];
    let command = freeze(&stack, "week-03", "--prize Kettle=1 --json");
    let [one, two] = &outputs;
    let with = |output: &str| stack.run(command.replace(&stack.arg("week-03"), output));
    let (one, two) = tokio::join!(with(one), with(two));
    let mut codes = [one.code, two.code];
    codes.sort_unstable();
    assert_eq!(
        codes,
        [ops_core::EXIT_OK, ops_core::EXIT_FAILURE],
        "{}{}",
        one.err,
        two.err
    );
    let loser = if one.code == ops_core::EXIT_OK {
        &two
    } else {
        &one
    };
    let is_told = ["\"draw_frozen\"", "\"changed_meanwhile\"", "\"draw_busy\""]
        .iter()
        .any(|code| loser.err.contains(code));
    assert!(is_told, "{}", loser.err);
    let folders = outputs
        .iter()
        .filter(|path| std::path::Path::new(path).exists())
        .count();
    assert_eq!(folders, 1, "the second one writes no folder");
    let commitments = stored::evidence(&stack)
        .keys()
        .await
        .iter()
        .filter(|key| key.ends_with("commitment.txt"))
        .count();
    assert_eq!(commitments, 1);
    assert_eq!(
        stored::openings(&stack).keys().await.len(),
        1,
        "openings that count for nothing are deleted"
    );
}

#[tokio::test]
async fn interrupted_freeze_is_finished_by_running_it_again() {
    let stack = with_entries().await;
    let draw = frozen(&stack).await;
    let folder = stack.path("week-03");
    let read = || {
        [
            "entries.csv",
            "openings.csv",
            "header.json",
            "commitment.txt",
        ]
        .map(|name| fs::read_to_string(folder.join(name)).expect("a file"))
    };
    let files = read();
    interrupt(&stack, &draw).await;
    fs::remove_dir_all(&folder).expect("a disk");
    stack.refused(RUN, "draw_unpublished").await;
    // Later entries change nothing.
    entered(&stack, "0711000004", 100).await;
    let again = frozen(&stack).await;
    let frozen_parts = "commitment header";
    assert_eq!(fields(&again, frozen_parts), fields(&draw, frozen_parts));
    assert_eq!(read(), files);
    assert_eq!(
        stored::evidence(&stack).keys().await,
        ["commitment.txt", "entries.csv", "header.json"].map(|file| key(&draw, file))
    );
    stack.fine(RUN).await;
}

#[tokio::test]
async fn interrupted_freeze_is_not_finished_with_other_arguments() {
    let stack = with_entries().await;
    let draw = frozen(&stack).await;
    interrupt(&stack, &draw).await;
    fs::remove_dir_all(stack.path("week-03")).expect("a disk");
    let other = stack
        .refused(
            freeze(&stack, "week-03", "--prize Kettle=9"),
            "freeze_differs",
        )
        .await;
    assert_contains!(other.message, "1 x Kettle");
    // Not taken for this draw's folder.
    fs::create_dir(stack.path("week-03")).expect("a disk");
    stack.file("week-03/entries.csv", "of another draw");
    stack
        .refused(freeze(&stack, "week-03", PRIZE), "file_exists")
        .await;
    fs::remove_file(stack.path("week-03/entries.csv")).expect("a disk");
    frozen(&stack).await;
    assert_eq!(files_in(&stack.path("week-03")).len(), 4);
}

#[tokio::test]
async fn second_freeze_of_a_period_names_the_first() {
    let stack = with_entries().await;
    let first = frozen(&stack).await;
    assert_eq!(first["header"]["overlapping"], json!([]));
    let second = frozen_as(&stack, "week-03b", PRIZE).await;
    let named = json!([{ "draw": "week-03", "commitment": first["commitment"] }]);
    assert_eq!(second["header"]["overlapping"], named);
    let show = "draw show --draw week-03b --campaign chai-bora-2026";
    let told = stack.fine(&show).await;
    assert_contains!(told, "overlaps    week-03");
}

#[tokio::test]
async fn late_commitment_is_not_drawn() {
    let stack = with_entries().await;
    let draw = frozen(&stack).await;
    interrupt(&stack, &draw).await;
    stack.clock.advance(NOTICE);
    stack.refused(RUN, "draw_late").await;
    stack
        .refused(freeze(&stack, "week-03", PRIZE), "draw_late")
        .await;
    stack.refused(RUN, "draw_late").await;
}

#[tokio::test]
async fn winners_that_an_interrupted_run_has_recorded_stay() {
    let stack = with_entries().await;
    frozen_as(&stack, "week-03", "--prize Kettle=2").await;
    let first = stack.json(RUN).await;
    stored::remove_from_draw(&stack, "outcome").await;
    stored::delete_contact(&stack, 2).await;
    let again = stack.json(RUN).await;
    assert_eq!(again["winners"], first["winners"]);
}

#[tokio::test]
async fn interrupted_skip_is_shown_and_finished_by_another_run() {
    let stack = with_entries().await;
    frozen_as(&stack, "week-03", "--prize Kettle=2").await;
    stack.json(RUN).await;
    let show = "draw show --campaign chai-bora-2026 --draw week-03";
    assert_eq!(stack.run(&show).await.err, "");
    let skip = "draw skip --winner 1 --reason excluded --inspector Neema --yes --campaign chai-bora-2026 --draw week-03";
    let skipped = stack.json(&skip).await;
    stored::delete_contact(&stack, 3).await;
    let shown = stack.run(&show).await.err;
    assert_contains!(
        shown,
        "`ops draw skip --campaign chai-bora-2026 --draw week-03 --winner 1 --reason KEY"
    );
    let again = stack.json(&skip).await;
    assert_eq!(again["next"][0]["ref"], skipped["next"][0]["ref"]);
    assert_eq!(stack.run(&show).await.err, "");
}
