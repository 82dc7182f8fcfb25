//! Variables, help and usage errors.

use common::clock::Clock;
use common::config::Env;
use serde_json::{Value, json};

use crate::support::{NOW, Stack, run};

#[tokio::test]
async fn missing_variable_is_named_with_where_it_comes_from() {
    let ended = run("campaign list", Env::default(), &Clock::manual(NOW)).await;
    assert_eq!((ended.code, ended.out.as_str()), (1, ""));
    assert_eq!(
        ended.err,
        "error: the environment variable CAMPAIGNS_TABLE is not set; set it from the outputs of the deployed \
         stack, or name the file that the local stack wrote (its --ready-file) with --env-file\n"
    );
}

#[tokio::test]
async fn variables_can_come_from_the_ready_file() {
    let stack = Stack::with_chai().await;
    let file = stack.file("ready.json", stack.ready_file().to_string());
    let ended = run(
        &format!("--env-file {file} campaign list --json"),
        Env::default(),
        &stack.clock,
    )
    .await;
    assert!(
        ended.code == 0 && ended.out.contains("chai-bora-2026"),
        "{}",
        ended.err
    );
    for (name, text) in [
        ("wrong.json", "{}"),
        ("wrong.env", "{}"),
        ("wrong.txt", "A='b'"),
    ] {
        let file = stack.file(name, text);
        let ended = run(
            &format!("campaign list --env-file {file}"),
            Env::default(),
            &stack.clock,
        )
        .await;
        assert!(
            ended.code == 1 && ended.err.contains("is not an env file"),
            "{}",
            ended.err
        );
    }
}

#[tokio::test]
async fn env_file_can_be_named_by_the_environment() {
    let stack = Stack::with_chai().await;
    let file = stack.file("ready.json", stack.ready_file().to_string());
    let named = |file: String| [("OPS_ENV_FILE".to_owned(), file)].into_iter().collect();
    let list = "campaign list --json";
    let ended = run(&list, named(file.clone()), &stack.clock).await;
    assert!(
        ended.code == 0 && ended.out.contains("chai-bora-2026"),
        "{}",
        ended.err
    );
    let given = run(
        &format!("--env-file {file} {list}"),
        named("nowhere".to_owned()),
        &stack.clock,
    )
    .await;
    assert_eq!(given.code, 0, "what is given counts: {}", given.err);
}

#[tokio::test]
async fn name_is_refused_where_nothing_is_recorded() {
    let stack = Stack::with_chai().await;
    for command in [
        "audit list",
        "campaign list",
        "key list --campaign chai-bora-2026",
    ] {
        let error = stack.refused(&format!("{command} --by juma")).await;
        assert_eq!(error["code"], "by_unused", "{command:?}");
    }
}

#[tokio::test]
async fn variables_can_come_from_the_ready_file_for_shells() {
    let stack = Stack::with_chai().await;
    let file = stack.arg("ready.env");
    stack.write_ready_file(&file);
    let ended = run(
        &format!("--env-file {file} campaign list --json"),
        Env::default(),
        &stack.clock,
    )
    .await;
    assert!(
        ended.code == 0 && ended.out.contains("chai-bora-2026"),
        "{}",
        ended.err
    );
    let ours = format!(
        "# Ours\n\nUSER=\"asha\"\n{}",
        std::fs::read_to_string(&file)
            .expect("it is there")
            .replace("='", "=")
            .replace("'\n", "\n")
    );
    let file = stack.file("ours.env", ours);
    let ended = run(
        &format!("--env-file {file} campaign list --json"),
        Env::default(),
        &stack.clock,
    )
    .await;
    assert!(
        ended.code == 0 && ended.out.contains("chai-bora-2026"),
        "{}",
        ended.err
    );
}

#[tokio::test]
async fn help_says_which_commands_take_long() {
    for command in [
        "draw freeze",
        "export",
        "numbers verify",
        "submission list",
        "code void",
        "code batches",
    ] {
        let help = format!("{command} --help");
        let help = run(&help, Env::default(), &Clock::manual(NOW)).await.out;
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            help.contains("about a minute for ten million"),
            "{command:?}: {help}"
        );
    }
}

const ID: &str = "6f6a1a55-0000-8000-8000-000000000000";

#[tokio::test]
async fn what_is_not_understood_exits_with_2_also_as_json() {
    for args in [
        "campaign",
        "campaign show 'Not A Slug'",
        "key issue --campaign chai-bora-2026",
        "key issue --campaign a --environment prod",
        "code mint --campaign a --environment test --count 0 --output x",
        "code void --campaign a --environment test",
        &format!("submission settle {ID} --why x"),
        &format!("submission settle {ID} --accept"),
        &format!("submission settle {ID} --reject entered --why x"),
        &format!("submission settle {ID} --accept --entries 0 --why x"),
        &format!("submission settle {ID} --reject invalid --entries 2 --why x"),
        &format!("submission settle {ID} --reject invalid --receipt-code AB12CD --why x"),
        &format!("submission settle {ID} --reject invalid --without-receipt-code --why x"),
        &format!(
            "submission settle {ID} --accept --why x --receipt-code AB12CD --without-receipt-code"
        ),
    ] {
        let ended = run(args, Env::default(), &Clock::manual(NOW)).await;
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{args:?}");
        let ended = run(
            &format!("{args} --json"),
            Env::default(),
            &Clock::manual(NOW),
        )
        .await;
        let document: Value = serde_json::from_str(&ended.err).expect("one JSON document");
        assert_eq!(
            (ended.code, &document["error"]["code"]),
            (2, &json!("usage")),
            "{args:?}"
        );
    }
}

#[tokio::test]
async fn help_is_an_answer() {
    let ended = run("code mint --help", Env::default(), &Clock::manual(NOW)).await;
    assert!(
        ended.code == 0 && ended.out.contains("--allow-weak"),
        "{}{}",
        ended.out,
        ended.err
    );
}

#[tokio::test]
async fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let ended = run(
            &format!("completions {shell}"),
            Env::default(),
            &Clock::manual(NOW),
        )
        .await;
        assert!(ended.code == 0, "{}", ended.err);
        for name in ["campaign", "draw", "hand-over", "env-file"] {
            assert!(ended.out.contains(name), "{shell} does not complete {name}");
        }
    }
}
