//! The console's link and its token.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use console::Ended;
use service_tests::http::request_to_storage;
use tokio::task::spawn_blocking;

use super::{Served, SignedIn};
use crate::support::Stack;

/// Keeps its arguments, and a copy of the last one's page with its mode.
const OPENER: &str = "#!/bin/sh
printf '%s\\n' \"$@\" > \"$KEPT/arguments\"
cp -p \"$1\" \"$KEPT/page\"
mv \"$KEPT/page\" \"$KEPT/page.html\"
";

/// Starts `ops console` with this opener. `runtime` is `XDG_RUNTIME_DIR`.
fn start(stack: &Stack, runtime: &Path) -> Child {
    let ready = stack.file("ready.json", stack.ready_file().to_string());
    for name in ["xdg-open", "open"] {
        let opener = stack.file(name, OPENER);
        std::fs::set_permissions(opener, PermissionsExt::from_mode(0o755)).expect("a disk");
    }
    let path = format!(
        "{}:{}",
        stack.folder.path().display(),
        std::env::var("PATH").expect("a path")
    );
    Command::new(env!("CARGO_BIN_EXE_ops"))
        .args(["--env-file", &ready, "console"])
        .env("PATH", path)
        .env("KEPT", stack.folder.path())
        .env("XDG_RUNTIME_DIR", runtime)
        .env("TMPDIR", stack.folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

/// The first printed link, and the rest.
async fn printed_link(child: &mut Child) -> (String, BufReader<ChildStdout>) {
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let read = spawn_blocking(move || {
        let mut line = String::new();
        out.read_line(&mut line).expect("text");
        (line, out)
    });
    let (line, out) = read.await.expect("it is read");
    (
        line.split(' ')
            .find(|word| word.starts_with("http://"))
            .expect("a link")
            .to_owned(),
        out,
    )
}

async fn present(link: &str) -> u16 {
    let (page, token) = link.split_once('#').expect("a fragment");
    let session = page.replace("/open", "/session");
    let request = request_to_storage("POST", session).header("sec-fetch-site", "same-origin");
    request.raw(token.to_owned()).await.status.as_u16()
}

/// Waits for a file, and reads it.
async fn appeared(path: &Path) -> String {
    let read = async {
        loop {
            match std::fs::read_to_string(path) {
                Ok(text) => return text,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), read)
        .await
        .expect("in a minute")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn browser_gets_a_private_page_and_no_token() {
    for has_runtime_folder in [true, false] {
        let stack = Stack::with_chai().await;
        let runtime = stack.path(if has_runtime_folder { "." } else { "absent" });
        let mut child = start(&stack, &runtime);
        let (link, _out) = printed_link(&mut child).await;
        let (_, token) = link.split_once('#').expect("a fragment");
        let page = appeared(&stack.path("page.html")).await;
        let arguments = appeared(&stack.path("arguments")).await;
        assert!(
            !arguments.contains(token) && arguments.lines().count() == 1,
            "{arguments}"
        );
        assert_contains!(page, format!("content=\"0; url={link}\""));
        let mode =
            |path: &Path| std::fs::metadata(path).map(|file| file.permissions().mode() & 0o777);
        assert_eq!(mode(&stack.path("page.html")).expect("a file"), 0o600);
        let opened = Path::new(arguments.trim());
        assert_eq!(
            mode(opened.parent().expect("a folder")).expect("a folder"),
            0o700
        );
        assert!(opened.starts_with(stack.folder.path()));

        assert_eq!(present(&link).await, 204);
        assert!(
            !opened.exists() && !opened.parent().expect("a folder").exists(),
            "it is deleted once it is used"
        );
        assert_eq!(present(&link).await, 401);
        let ended = spawn_blocking(move || {
            let mut said = String::new();
            child
                .stderr
                .take()
                .expect("a pipe")
                .read_to_string(&mut said)
                .expect("text");
            (child.wait().expect("it ends").code(), said)
        });
        let (code, said) = ended.await.expect("it is waited for");
        assert_eq!(code, Some(1), "{said}");
        assert_contains!(said, "its link was used twice");
        assert_lacks!(said, token);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctrl_c_after_the_link_ends_it_in_order() {
    let stack = Stack::with_chai().await;
    let mut child = start(&stack, stack.folder.path());
    let (_link, mut out) = printed_link(&mut child).await;
    let told = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(told.expect("it is told").success());
    let ended = spawn_blocking(move || {
        let mut said = String::new();
        out.read_to_string(&mut said).expect("text");
        (child.wait().expect("it ends").code(), said)
    });
    let (code, said) = ended.await.expect("it is waited for");
    assert_eq!(
        (code, said.as_str()),
        (Some(0), "The console ended.\n"),
        "the signal is heard"
    );
    let arguments = appeared(&stack.path("arguments")).await;
    assert!(
        !Path::new(arguments.trim()).exists(),
        "the page of an unused link is deleted"
    );
}

#[tokio::test]
async fn form_that_is_too_long_closes_the_connection() {
    let stack = Stack::with_chai().await;
    let operator = SignedIn::to(&stack).await;
    let reply = operator
        .post_for(413, "/search", &format!("what={}", "A".repeat(100_000)))
        .await;
    assert_eq!(reply.headers["connection"], "close");
}

#[tokio::test]
async fn token_is_good_once_and_only_in_a_body() {
    let stack = Stack::with_chai().await;
    let console = Served::start(&stack).await;
    let trade = |token: String| console.ask_from_page("POST", "/session").raw(token);
    let in_query = console
        .ask_from_page("POST", &format!("/session?{}", console.token))
        .await;
    let with_query = console
        .ask_from_page("POST", "/session?again")
        .raw(console.token.clone())
        .await;
    assert_eq!(
        (in_query.status.as_u16(), with_query.status.as_u16()),
        (401, 401)
    );
    for wrong in [
        String::new(),
        "0".repeat(64),
        console.token.chars().skip(1).collect(),
    ] {
        assert_eq!(
            trade(wrong).await.status,
            401,
            "and a wrong one does not use it up"
        );
    }
    assert_eq!(console.token.len(), 64, "32 bytes");

    let reply = trade(console.token.clone()).await;
    assert_eq!(reply.status, 204);
    let cookie = reply.headers["set-cookie"].to_str().expect("text");
    let port = console.authority.rsplit(':').next().expect("a port");
    let (pair, attributes) = cookie.split_once("; ").expect("attributes");
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Strict");
    let value = pair
        .strip_prefix(&format!("ops_console_{port}="))
        .expect("named with the port");
    assert!(
        value.len() == 64 && value != console.token,
        "32 bytes of its own"
    );

    let again = trade(console.token.clone()).header("cookie", pair).await;
    assert_eq!(again.status, 204, "the same browser may open it again");
    let elsewhere = trade(console.token.clone()).await;
    assert!(
        elsewhere.status == 401 && elsewhere.text.contains("used before"),
        "{}",
        elsewhere.text
    );
    assert_eq!(console.ended().await, Ended::LinkUsedTwice);
}
