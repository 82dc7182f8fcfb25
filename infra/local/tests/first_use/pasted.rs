//! Pastes every printed block and the README's own, each in one go, into an interactive shell.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use common::clock::Clock;
use local::demo::{self, Demo};
use local::first_screen::FirstScreen;
use local::stack::{Options, Stack};

use super::repository;

/// Shells without the user's startup files.
const BASH: &[&str] = &["bash", "--noprofile", "--norc", "-i"];
const ZSH: &[&str] = &["zsh", "-f", "-i"];

/// Messages of a shell or tool that cannot run a block.
const COMPLAINTS: [&str; 7] =
    ["command not found", "not found:", "parse error", "syntax error", "curl: (", "quote>", "error:"];

fn is_installed(program: &str) -> bool {
    let asked = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}

/// Pastes a text into a shell and returns the output.
fn paste(shell: &[&str], folder: &Path, text: &str) -> String {
    // Runs in its own session, since an interactive shell would take over the terminal of the test run.
    let mut child = Command::new("setsid")
        .arg("--wait")
        .args(shell)
        .current_dir(folder)
        .env("HISTFILE", "/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut stdin = child.stdin.take().expect("piped");
    let text = format!("{text}\nexit\n");
    let writing = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    writing.join().expect("no panic").expect("the shell reads everything");
    let (printed, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    for complaint in COMPLAINTS {
        assert!(!printed.contains(complaint) && !said.contains(complaint), "{shell:?}: {said}\n{printed}");
    }
    printed.into_owned()
}

/// The values of a string field, in printed order.
fn values<'a>(printed: &'a str, field: &str) -> Vec<&'a str> {
    let name = format!("\"{field}\":\"");
    printed.split(name.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

async fn start() -> (Stack, Vec<Demo>) {
    let program = env!("CARGO_BIN_EXE_local").into();
    let options = Options { photo_reader: Some(program), ..Options::default() };
    let stack = Stack::start(options).await.expect("it starts");
    let env = stack.env().clone().into_iter().collect();
    let demos = demo::load(&env, None, &stack.partner_url(), &Clock::system()).await.expect("demos");
    (stack, demos)
}

/// The pasted blocks and their results: the message keys in order, without repeats.
const EXPECTED: [(&str, &[&str]); 9] = [
    (
        "chai-bora-2026",
        &["entered", "already_used", "invalid", "entered", "entered", "daily_limit", "code_held"],
    ),
    ("duka-kuu-2026", &["receipt_received", "entered", "receipt_received", "entered"]),
    ("duka-kuu-2026", &["receipt_received", "entered", "receipt_received", "entered"]),
    ("risiti-na-namba-2026", &["receipt_received", "receipt_wrong_store", "receipt_received", "entered"]),
    ("risiti-na-namba-2026", &["receipt_received", "receipt_wrong_store", "receipt_received", "entered"]),
    ("bahati-2026", &["entered", "checking"]),
    ("bahati-2026", &["entered", "instant_win", "already_used", "checking"]),
    ("soda-rush-2026", &["instant_win"]),
    ("mango-2025", &["campaign_ended"]),
];

async fn every_printed_block_works(shell: &'static [&'static str]) {
    let (stack, demos) = start().await;
    let printed = demo::describe(&demos, stack.base_url(), "production");
    let blocks = printed.split("\n\n").filter(|block| block.starts_with("  echo '== "));
    let blocks: Vec<String> = blocks.map(str::to_owned).collect();
    assert_eq!(blocks.len(), EXPECTED.len(), "{printed}");
    let pasting = tokio::task::spawn_blocking(move || {
        // Inside the repository, so that the printed `cargo run` works.
        let folder = tempfile::tempdir_in(repository()).expect("a folder");
        for (block, (slug, expected)) in blocks.iter().zip(EXPECTED) {
            assert!(!block.lines().any(|line| line.trim_start().starts_with('#')), "{block}");
            let printed = paste(shell, folder.path(), block);
            assert_eq!(values(&printed, "message_key"), expected, "{slug} in {shell:?}: {printed}");
        }
    });
    pasting.await.expect("every block works");
    stack.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_printed_block_works_in_bash() {
    every_printed_block_works(BASH).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_printed_block_works_in_zsh() {
    if is_installed("zsh") {
        every_printed_block_works(ZSH).await;
    }
}

/// Pastes the first screen's command twice.
async fn the_first_screens_entry_works(shell: &'static [&'static str]) {
    let (stack, demos) = start().await;
    let screen = FirstScreen {
        base_url: stack.base_url(),
        stage: "production",
        data: None,
        ready_file: None,
        demos: &demos,
        lists_demos: false,
        has_colour: false,
    };
    let screen = screen.to_string();
    let command = screen.lines().find(|line| line.starts_with("curl ")).expect("a command");
    let text = format!("{command}\n{command}");
    let pasting = tokio::task::spawn_blocking(move || paste(shell, &repository(), &text));
    let printed = pasting.await.expect("it works");
    assert_eq!(values(&printed, "message_key"), ["entered", "entered"], "{printed}");
    assert!(printed.contains("idempotent-replayed: true"), "{printed}");
    stack.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_screens_entry_works_in_bash() {
    the_first_screens_entry_works(BASH).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_screens_entry_works_in_zsh() {
    if is_installed("zsh") {
        the_first_screens_entry_works(ZSH).await;
    }
}

/// Pastes the commands from the README and the local stack's README in one terminal.
async fn the_readmes_first_entries_work(shell: &'static [&'static str]) {
    let (stack, _) = start().await;
    let pages = ["README.md", "infra/local/README.md"]
        .map(|page| std::fs::read_to_string(repository().join(page)).expect("a page"))
        .concat();
    let blocks: Vec<&str> =
        pages.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    for block in &blocks {
        assert!(!block.contains('#'), "zsh would not read this as a comment: {block}");
    }
    let calls = blocks.into_iter().filter(|block| block.contains("curl"));
    let text = calls.collect::<String>().replace("http://127.0.0.1:8080", stack.base_url());
    let pasting = tokio::task::spawn_blocking(move || {
        let folder = tempfile::tempdir_in(repository()).expect("a folder");
        paste(shell, folder.path(), &text)
    });
    let printed = pasting.await.expect("it works");
    assert_eq!(values(&printed, "message_key"), ["entered", "receipt_received", "entered"], "{printed}");
    assert_eq!(values(&printed, "state").last(), Some(&"accepted"), "{printed}");
    stack.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_readmes_first_entries_work_in_bash() {
    the_readmes_first_entries_work(BASH).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_readmes_first_entries_work_in_zsh() {
    if is_installed("zsh") {
        the_readmes_first_entries_work(ZSH).await;
    }
}
