//! Photos are read by a child process: its results, and its failures.
#![expect(
    clippy::expect_used,
    reason = "a test may fail by it, also in its helpers"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use photo::{Limits, NotDecoded, PhotoReader, Unreadable};
use receipt_photo::{Look, jpeg, png, qr_photo, webp};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

const RECEIPT: &str = "https://verify.tra.go.tz/AB12CD3456_101530";
const ELSEWHERE: &str = "https://example.com/win";

fn limits() -> Limits {
    // Debug builds are slow.
    Limits {
        deadline: Duration::from_secs(60),
        reader_timeout: Duration::from_secs(20),
        ..Limits::default()
    }
}

fn reader(limits: Limits) -> PhotoReader {
    PhotoReader::program(env!("CARGO_BIN_EXE_settle-receipts"), &[], limits)
}

/// A child that runs a script instead.
fn script(script: &str, limits: Limits) -> PhotoReader {
    PhotoReader::program("/bin/sh", &["-c", script], limits)
}

fn at_most_seconds(seconds: u64) -> Limits {
    Limits {
        deadline: Duration::from_secs(seconds),
        ..limits()
    }
}

fn photo(payloads: &[&str]) -> Vec<u8> {
    let look = Look {
        width: 400,
        height: 500,
        module: 4.0,
        ..Look::default()
    };
    jpeg(&qr_photo(payloads, &look, 1).expect("a photo"), 85).expect("a file")
}

/// Writes its process id to a file and hangs.
fn hangs(number: &Path) -> String {
    format!(
        "echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600",
        number.display()
    )
}

/// Waits for the process id in the file.
fn read_pid(number: &Path) -> Option<Pid> {
    let number = fs::read_to_string(number).ok()?;
    Pid::from_raw(number.trim().parse().ok()?)
}

fn place(name: &str) -> PathBuf {
    let place =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    // From an earlier run with the same process id.
    let _ = fs::remove_file(&place);
    let _ = fs::remove_dir(&place);
    place
}

/// True if gone, or a zombie.
fn gone(process: Pid) -> bool {
    test_kill_process(process) == Err(Errno::SRCH)
}

#[tokio::test]
async fn each_format_is_read_whatever_its_name() {
    let look = Look {
        width: 400,
        height: 500,
        module: 4.0,
        ..Look::default()
    };
    let photo = qr_photo(&[RECEIPT], &look, 1).expect("a photo");
    for file in [jpeg(&photo, 85), png(&photo), webp(&photo)] {
        let texts = reader(limits())
            .read(&file.expect("a file"))
            .await
            .expect("read");
        assert_eq!(texts, [RECEIPT]);
    }
}

#[tokio::test]
async fn a_photo_with_a_page_or_an_archive_behind_it_is_read() {
    let file = [&photo(&[RECEIPT])[..], b"<html></html>PK\x05\x06\0\0\0\0"].concat();
    assert_eq!(reader(limits()).read(&file).await.expect("read"), [RECEIPT]);
}

#[tokio::test]
async fn the_accepted_one_of_ten_codes_is_found() {
    let others: Vec<String> = (0..9)
        .map(|number| format!("https://example.com/{number}"))
        .collect();
    let payloads: Vec<&str> = others.iter().map(String::as_str).chain([RECEIPT]).collect();
    let look = Look {
        width: 1_200,
        height: 1_600,
        module: 5.0,
        ..Look::default()
    };
    let file = jpeg(&qr_photo(&payloads, &look, 1).expect("a photo"), 85).expect("a file");
    let texts = reader(limits()).read(&file).await.expect("read");
    assert!(texts.iter().any(|text| text == RECEIPT), "{texts:?}");
    assert!(texts.len() <= 10 && texts.iter().all(|text| payloads.contains(&text.as_str())));
}

#[tokio::test]
async fn a_code_that_is_not_accepted_is_told_all_the_same() {
    assert_eq!(
        reader(limits())
            .read(&photo(&[ELSEWHERE]))
            .await
            .expect("read"),
        [ELSEWHERE]
    );
}

#[tokio::test]
async fn a_text_of_more_than_400_characters_is_left_out() {
    let photo_of = |characters: usize| {
        let look = Look {
            width: 400,
            height: 400,
            module: 4.0,
            ..Look::default()
        };
        jpeg(
            &qr_photo(&["A".repeat(characters).as_str()], &look, 1).expect("a photo"),
            85,
        )
        .expect("a file")
    };
    assert_eq!(
        reader(limits()).read(&photo_of(400)).await.expect("read"),
        ["A".repeat(400)]
    );
    assert!(matches!(
        reader(limits()).read(&photo_of(401)).await,
        Err(Unreadable::NoQrCode)
    ));
}

#[tokio::test]
async fn a_photo_without_a_code_is_said_to_have_none() {
    let file = photo(&[]);
    let error = reader(limits())
        .read(&file)
        .await
        .expect_err("nothing to read");
    assert!(matches!(error, Unreadable::NoQrCode), "{error:?}");
}

#[tokio::test]
async fn what_is_no_photo_is_refused_for_good() {
    for (file, fault) in [
        (&b""[..], NotDecoded::NotAnImage),
        (b"not an image", NotDecoded::NotAnImage),
        (b"\xff\xd8\xff\xe0", NotDecoded::NoHeader),
        (&vec![0; 5 * 1024 * 1024 + 1], NotDecoded::TooManyBytes),
    ] {
        let error = reader(limits()).read(file).await.expect_err("no photo");
        assert!(matches!(error, Unreadable::NotDecoded(told) if told == fault));
    }
}

#[tokio::test]
async fn a_child_that_hangs_is_killed() {
    let number = place("hanging");
    let error = script(&hangs(&number), at_most_seconds(2))
        .read(b"")
        .await
        .expect_err("too slow");
    assert!(matches!(error, Unreadable::TooSlow), "{error:?}");
    assert!(gone(read_pid(&number).expect("it has started")));
}

#[tokio::test]
async fn a_child_that_nobody_listens_to_any_more_is_killed() {
    let number = place("abandoned");
    let reader = script(&hangs(&number), limits());
    let started = async {
        while read_pid(&number).is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        outcome = reader.read(b"") => panic!("it cannot end: {outcome:?}"),
        () = started => {}
    }
    assert!(gone(read_pid(&number).expect("it has started")));
}

#[tokio::test]
async fn a_child_that_does_not_take_its_photo_is_killed() {
    // More than a pipe buffers.
    let photo = vec![0; 1 << 20];
    let error = script("exec sleep 600", at_most_seconds(2))
        .read(&photo)
        .await
        .expect_err("too slow");
    assert!(matches!(error, Unreadable::TooSlow), "{error:?}");
}

#[tokio::test]
async fn a_child_is_heard_before_it_takes_its_photo() {
    // Output and input are larger than a pipe buffers: the script blocks until the parent reads,
    // and reads nothing itself.
    let talks = r#"n=0; while [ $n -lt 1200 ]; do echo '{"found":"again"}'; n=$((n+1)); done; echo '"finished"'; exec sleep 600"#;
    assert_eq!(
        script(talks, limits())
            .read(&vec![0; 1 << 20])
            .await
            .expect("told"),
        ["again"]
    );
}

#[tokio::test]
async fn what_was_found_before_the_deadline_counts() {
    let slow = script(
        r#"echo '{"found":"early"}'; exec sleep 600"#,
        at_most_seconds(2),
    );
    assert_eq!(slow.read(b"").await.expect("found"), ["early"]);
}

#[tokio::test]
async fn a_child_that_crashes_takes_nothing_with_it() {
    let error = PhotoReader::program("/bin/false", &[], limits())
        .read(&photo(&[]))
        .await
        .expect_err("crashed");
    assert!(matches!(error, Unreadable::Crashed), "{error:?}");
    let crashes = script(r#"echo '{"found":"before"}'; kill -SEGV $$"#, limits());
    assert_eq!(crashes.read(b"").await.expect("found"), ["before"]);
}

#[tokio::test]
async fn a_child_that_talks_nonsense_is_not_listened_to() {
    for nonsense in ["exec yes", r#"exec yes '{"found":"again"}'"#, "cat"] {
        let outcome = script(nonsense, limits()).read(b"\"nonsense\"\n").await;
        assert!(
            matches!(&outcome, Err(Unreadable::Crashed))
                || matches!(&outcome, Ok(texts) if texts == &["again"]),
            "{nonsense}: {outcome:?}"
        );
    }
}

#[tokio::test]
async fn a_child_has_only_so_much_memory() {
    let large = jpeg(
        &qr_photo(&[RECEIPT], &Look::default(), 1).expect("a photo"),
        85,
    )
    .expect("a file");
    // Less than one byte per pixel.
    let little = Limits {
        memory_bytes: 1024 * 1024,
        ..limits()
    };
    let error = reader(little).read(&large).await.expect_err("too little");
    assert!(matches!(error, Unreadable::Crashed), "{error:?}");
}

#[tokio::test]
async fn a_child_knows_nothing_of_its_parents_environment() {
    // Set by Cargo for tests.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let tells = r#"echo "{\"found\":\"$CARGO_MANIFEST_DIR|$PWD\"}""#;
    let texts = script(tells, limits()).read(b"").await.expect("told");
    assert!(texts.iter().all(|text| text.starts_with('|')), "{texts:?}");
}

#[tokio::test]
async fn a_child_that_cannot_be_started_is_no_fault_of_the_photo() {
    let error = PhotoReader::program("/nowhere", &[], limits())
        .read(b"")
        .await
        .expect_err("not started");
    assert!(matches!(error, Unreadable::Io(_)), "{error:?}");
}

#[tokio::test]
async fn no_more_children_run_at_once_than_allowed() {
    let room = place("room");
    let alone = format!(
        "if mkdir {0}; then echo '{{\"found\":\"alone\"}}'; sleep 0.05; rmdir {0}; else echo '{{\"found\":\"crowded\"}}'; fi; echo '\"finished\"'",
        room.display()
    );
    let reader = script(
        &alone,
        Limits {
            at_once: 1,
            ..limits()
        },
    );
    let (a, b, c) = tokio::join!(reader.read(b""), reader.read(b""), reader.read(b""));
    for outcome in [a, b, c] {
        assert_eq!(outcome.expect("told"), ["alone"]);
    }
}
