//! The program: started, used, stopped, and started again.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod erased_number;

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use common::clock::Clock;
use common::config::Env;
use futures_util::FutureExt;
use serde_json::Value;

/// A running program, and its output until it serves.
struct Running {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    printed: String,
}

impl Running {
    fn start(arguments: &str) -> Self {
        Self::start_until("\nServing ", arguments)
    }

    fn start_until(line: &str, arguments: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_local"))
            .args(["--port", "0"])
            .args(arguments.split_whitespace())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut printed = String::new();
        while !printed.contains(line) {
            let read = stdout.read_line(&mut printed).unwrap();
            assert!(read > 0, "the program ended early: {printed}");
        }
        Self {
            child,
            stdout,
            printed,
        }
    }

    fn base_url(&self) -> &str {
        let serving = self.printed.split("\nServing ").nth(1).unwrap();
        serving.split(' ').next().unwrap()
    }

    /// The word after `word`.
    fn after(&self, word: &str) -> &str {
        let rest = self.printed.split_once(word);
        let (_, rest) = rest.unwrap_or_else(|| panic!("no {word} in {}", self.printed));
        rest.split_whitespace().next().unwrap()
    }

    fn submit(&self, key: &str, attempt: &str, phone: &str, code: &str) -> String {
        let body = format!(r#"{{"phone":"{phone}","code":"{code}","consent":true}}"#);
        self.send(
            "POST /api/v1/submissions",
            key,
            &format!("Idempotency-Key: {attempt}\r\n"),
            &body,
        )
    }

    /// Sends a request such as `GET /docs`.
    fn send(&self, request: &str, key: &str, headers: &str, body: &str) -> String {
        let address = self.base_url().trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "{request} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n{headers}\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    }

    /// Sends SIGINT; returns exit status, later output, and log.
    fn interrupt(mut self) -> (ExitStatus, String, String) {
        let sent = Command::new("kill")
            .args(["-INT", &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
        let mut printed = String::new();
        self.stdout.read_to_string(&mut printed).unwrap();
        let mut log = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut log).unwrap();
        (self.child.wait().unwrap(), printed, log)
    }
}

#[test]
fn printed_keys_and_codes_enter_a_consumer() {
    let running = Running::start("--show demo");
    let [key, code] = ["live key", "live codes"].map(|name| running.after(name).to_owned());
    let reply = running.submit(&key, "attempt-0000000001", "0712345678", &code);
    assert_contains(&reply, &["HTTP/1.1 200 ", r#""message_key":"entered""#]);
    let again = running.submit(&key, "attempt-0000000001", "0712345678", &code);
    assert_contains(&again, &["idempotent-replayed: true"]);
    let wrong = running.submit(&key, "attempt-0000000002", "0712345678", "AAAA-BBBB-CCCC");
    assert_contains(&wrong, &[r#""message_key":"invalid""#]);
    let reference = format!("Reference  {}/docs\n", running.base_url());
    assert_contains(&running.printed, &[&reference]);
    let (status, printed, log) = running.interrupt();
    assert!(status.success());
    assert_eq!(printed, "Stopping.\n");
    assert_eq!(log.lines().count(), 3, "one line for each request: {log}");
    let bare = code.replace('-', "");
    let secrets = [
        "712345678",
        "AAAA",
        &code,
        &bare,
        &key,
        "attempt-0000000001",
    ];
    assert_lacks(&log, &secrets);
}

#[test]
fn log_names_method_and_path_without_what_could_be_a_code() {
    let running = Running::start("--no-demo");
    for request in [
        "GET /docs/nothing?code=AAAA-BBBB-CCCC",
        "DELETE /api/v1/campaign",
        "GET /api/v1/submissions/0754918263",
        "PUT /api/v1/codes/AB12CD3401/0754918263",
    ] {
        running.send(request, "svc_test_KeyOfTheSampleEvents", "", "");
    }
    let (_, _, log) = running.interrupt();
    let named = [
        " 404 GET /docs/nothing ",
        " 405 DELETE /api/v1/campaign ",
        " GET /api/v1/submissions/{id} ",
        " 404 PUT /api/v1/codes/…/… ",
    ];
    assert_contains(&log, &named);
    assert_lacks(&log, &["AAAA", "AB12", "0754918263"]);
}

#[test]
fn ready_file_waits_for_the_demo_entries() {
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready.json");
    let ready_path = ready.to_str().unwrap();
    let running = Running::start_until(
        "Adding ",
        &format!("--demo-entries --ready-file {ready_path}"),
    );
    assert!(!ready.exists());
    assert!(!running.printed.contains("Serving"), "{}", running.printed);
    let (status, printed, _) = running.interrupt();
    assert!(status.success());
    assert!(printed.ends_with("Stopping.\n"), "{printed}");
    assert!(!ready.exists());
}

#[test]
fn the_first_screen_is_short_and_leads_to_everything_else() {
    let running = Running::start("");
    let screen = &running.printed;
    assert!(screen.lines().count() <= 25, "{screen}");
    let places = ["/api/v1\n", "/docs\n", "/try\n"];
    let places = places.map(|path| format!("{}{path}", running.base_url()));
    let options = ["Test key svc_test_", "--show demo", "--ready-file"];
    assert_contains(screen, &places.each_ref().map(String::as_str));
    assert_contains(screen, &options);
    // A pipe gets no colours.
    assert_lacks(screen, &["svc_live_", "\u{1b}"]);
    assert!(running.interrupt().0.success());
}

#[test]
fn data_kept_in_a_folder_is_there_again_with_the_same_keys() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let data = kept.to_str().unwrap();
    let first = Running::start(&format!("--data {data} --show demo"));
    let [key, code] = ["live key", "live codes"].map(|name| first.after(name).to_owned());
    let entered = first.submit(&key, "attempt-0000000001", "0712345678", &code);
    let other = first.after(&code);
    let other = other.trim_matches(',').to_owned();
    assert!(first.interrupt().0.success());
    for path in [kept.clone(), kept.join("secrets.json")] {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} is for its owner alone", path.display());
    }

    let second = Running::start(&format!("--data {data} --show demo"));
    assert_eq!(second.after("live key"), key);
    let again = second.submit(&key, "attempt-0000000001", "0712345678", &code);
    let body = |reply: &str| reply.split("\r\n\r\n").nth(1).unwrap().to_owned();
    assert_eq!(body(&again), body(&entered));
    assert_contains(&again, &["idempotent-replayed: true"]);
    // Codes minted before are good.
    let later = second.submit(&key, "attempt-0000000002", "0712345679", &other);
    assert_contains(&later, &[r#""message_key":"entered""#]);
    assert!(second.interrupt().0.success());
}

#[track_caller]
fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[track_caller]
fn assert_lacks(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(!text.contains(part), "{part} is in {text}");
    }
}

/// What the program says when it does not start.
fn refused(arguments: &str) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_local"));
    let output = program.args(arguments.split(' ')).output().unwrap();
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_data_folder_is_for_one_stack_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let first = Running::start(&format!("--no-demo --data {data}"));
    let message = refused(&format!("--port 0 --data {data}"));
    assert_contains(&message, &["is in use by another local stack"]);
    assert!(first.interrupt().0.success());
    let third = Running::start(&format!("--no-demo --data {data}"));
    assert!(third.interrupt().0.success(), "the folder is free again");
}

#[test]
fn a_request_that_never_ends_does_not_keep_it_running() {
    let running = Running::start("--no-demo");
    let address = running.base_url().trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST / HTTP/1.1\r\nHost: {address}\r\nContent-Length: 100\r\n\r\nx"
    )
    .unwrap();
    let (status, printed, _) = running.interrupt();
    assert!(status.success());
    assert_eq!(printed, "Stopping.\n");
}

#[test]
fn the_ready_file_says_all_that_a_program_needs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ready.json");
    let ready = path.to_str().unwrap();
    let running = Running::start(&format!("--no-demo --stage staging --ready-file {ready}"));
    // Written before the line was printed.
    let ready: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(ready["base_url"], running.base_url());
    for variable in
        "AWS_REGION AWS_ACCESS_KEY_ID AWS_ENDPOINT_URL_DYNAMODB SUBMISSIONS_TABLE DOCS_URL"
            .split(' ')
    {
        assert!(ready["env"][variable].is_string(), "{variable}");
    }
    assert_eq!(ready["env"]["STAGE"], "staging");
    assert!(!running.printed.contains("svc_"), "no demo, no keys");
    assert_eq!(ready["campaigns"], Value::Array(Vec::new()));
    assert!(running.interrupt().0.success());
}

#[test]
fn ready_files_hold_the_demos_keys_and_codes() {
    let folder = tempfile::tempdir().unwrap();
    let [json, dotenv] = ["ready.json", "ready.env"].map(|name| folder.path().join(name));
    let [json_path, dotenv_path] = [&json, &dotenv].map(|path| path.to_str().unwrap());
    let files = format!("--ready-file {json_path} --ready-file {dotenv_path}");
    let running = Running::start(&format!("{files} --show demo"));
    let ready: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let campaign = &ready["campaigns"][0];
    assert_eq!(campaign["slug"], "chai-bora-2026");
    assert_eq!(campaign["test"]["key"], running.after("test key"));
    assert_eq!(campaign["live"]["key"], running.after("live key"));
    assert_eq!(campaign["live"]["codes"][0], running.after("live codes"));

    let script =
        r#". "$0"; printf '%s ' "$BASE_URL" "$CHAI_BORA_2026_TEST_KEY" "$SUBMISSIONS_TABLE""#;
    let sourced = Command::new("sh")
        .args(["-c", script, dotenv_path])
        .output()
        .unwrap();
    let expected = [
        &ready["base_url"],
        &campaign["test"]["key"],
        &ready["env"]["SUBMISSIONS_TABLE"],
    ];
    let expected = expected
        .map(|value| format!("{} ", value.as_str().unwrap()))
        .concat();
    assert_eq!(String::from_utf8_lossy(&sourced.stdout), expected);
    assert!(running.interrupt().0.success());
}

#[test]
fn sweeps_with_a_speedup_do_not_fill_the_terminal() {
    let mut running = Running::start("--speedup 600 --show demo");
    let (_, campaign) = running.printed.split_once("(bahati-2026)").unwrap();
    let (_, key) = campaign.split_once("live key").unwrap();
    let key = key.split_whitespace().next().unwrap();
    let submitted = running.submit(key, "attempt-0000000001", "0712345678", "DEAD-0001");
    assert!(submitted.contains(r#""state":"unknown""#), "{submitted}");
    let mut log = BufReader::new(running.child.stderr.take().unwrap());
    let mut text = String::new();
    // Many sweeps run until the sixth step.
    while text.matches("settle-partners").count() < 6 {
        let read = log.read_line(&mut text).unwrap();
        assert!(read > 0, "the log ended early: {text}");
    }
    assert!(!text.contains("sweep-unsettled"), "{text}");
    running.child.kill().unwrap();
    running.child.wait().unwrap();
}

#[test]
fn what_keeps_it_from_starting_is_said_with_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let message = refused(&format!("--port {port}"));
    assert_contains(
        &message,
        &[&format!("cannot listen on port {port}"), "--port"],
    );
    for (option, value) in [
        ("--tax-authority-url", "foo"),
        ("--tax-authority-url", "https://verify.tra.go.tz/page"),
        ("--partner-url", "foo"),
        ("--partner-url", "ftp://127.0.0.1/redeem"),
    ] {
        let message = refused(&format!("--port 0 {option} {value}"));
        assert_contains(&message, &[option, "such as http"]);
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let message = refused(&format!("--port 0 --data {path}"));
    assert_contains(&message, &["cannot keep data in", "--data"]);
}
