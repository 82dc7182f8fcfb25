//! Variables, help and usage errors.

use common::clock::Clock;
use common::config::Env;
use service_tests::text::parse_json;

use crate::support::{Ended, NOW, Stack, run};

/// Runs a command without variables.
async fn without_stack(command: &str) -> Ended {
    run(command, Env::default(), &Clock::manual(NOW)).await
}

#[tokio::test]
async fn missing_variable_is_named_with_where_it_comes_from() {
    let said = without_stack("campaign list").await.failed();
    assert_eq!(
        said,
        "error: the environment variable CAMPAIGNS_TABLE is not set; set it from the outputs of the deployed \
         stack, or name the file that the local stack wrote (its --ready-file) with --env-file\n"
    );
}

/// Lists the campaigns with the variables of a file alone.
async fn list(stack: &Stack, file: &str) -> Ended {
    let list = format!("campaign list --json --env-file {file}");
    run(list, Env::default(), &stack.clock).await
}

#[tokio::test]
async fn variables_can_come_from_a_file() {
    let stack = Stack::with_chai().await;
    let json = stack.file("ready.json", stack.ready_file().to_string());
    let shell = stack.arg("ready.env");
    stack.write_ready_file(&shell);
    let ours = stack
        .read("ready.env")
        .replace("='", "=")
        .replace("'\n", "\n");
    let ours = stack.file("ours.env", format!("# Ours\n\nUSER=\"asha\"\n{ours}"));
    for file in [&json, &shell, &ours] {
        assert_contains!(list(&stack, file).await.fine().out, "chai-bora-2026");
    }
    for (name, text) in [
        ("wrong.json", "{}"),
        ("wrong.env", "{}"),
        ("wrong.txt", "A='b'"),
    ] {
        let said = list(&stack, &stack.file(name, text)).await.failed();
        assert_contains!(said, "is not an env file");
    }

    let named = |file: &str| {
        [("OPS_ENV_FILE".to_owned(), file.to_owned())]
            .into_iter()
            .collect()
    };
    let listed = run("campaign list", named(&json), &stack.clock)
        .await
        .fine();
    assert_contains!(listed.out, "chai-bora-2026");
    let given = format!("--env-file {json} campaign list");
    run(given, named("nowhere"), &stack.clock).await.fine();
}

#[tokio::test]
async fn name_is_refused_where_nothing_is_recorded() {
    let stack = Stack::with_chai().await;
    for command in [
        "audit list",
        "campaign list",
        "key list --campaign chai-bora-2026",
    ] {
        stack
            .refused(format!("{command} --by juma"), "by_unused")
            .await;
    }
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
        let help = without_stack(&help).await.out;
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_contains!(help, "about a minute for ten million");
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
        assert_eq!(without_stack(args).await.out, "", "{args}");
        let said = without_stack(&format!("{args} --json")).await.misused();
        assert_eq!(parse_json(&said)["error"]["code"], "usage", "{args}");
    }
}

#[tokio::test]
async fn help_is_an_answer() {
    let help = without_stack("code mint --help").await.fine();
    assert_contains!(help.out, "--allow-weak");
}

#[tokio::test]
async fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let completions = without_stack(&format!("completions {shell}")).await.fine();
        assert_contains!(completions.out, "campaign", "draw", "hand-over", "env-file");
    }
}
