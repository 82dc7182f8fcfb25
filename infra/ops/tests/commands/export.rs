//! `ops export`.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::process::Command;

use common::domain::submission::{Submission, SubmissionStatus};
use common::domain::timestamp::Timestamp;
use common::store::audit::VARIABLE as AUDIT_TABLE;
use serde_json::Value;
use service_tests::text::{fields, list_of};

use crate::submission::{submission, waiting, write};
use crate::support::{NOW, Stack, files_in};

const CAMPAIGN: &str = "--campaign chai-bora-2026";

/// Accepted this many hours after the test's start.
fn accepted(hours: i64, prize: Option<&str>) -> Submission {
    let at = Timestamp::from_millis(NOW.as_millis() + hours * 3_600_000);
    let status = SubmissionStatus::accepted(2, prize.map(str::to_owned));
    Submission {
        created_at: at,
        updated_at: at,
        ..submission(status, None)
    }
}

/// A winner, an accepted submission a day later, and a waiting one.
async fn with_three() -> (Stack, [Submission; 3]) {
    let stack = Stack::with_chai().await;
    let winner = accepted(0, Some("A kettle"));
    let region = Some("=HYPERLINK(\"http://bad.example\"), 7".to_owned());
    let winner = Submission { region, ..winner };
    let later = accepted(24, None);
    let open = submission(waiting(), None);
    for submission in [&winner, &later, &open] {
        write(&stack, submission, None).await;
    }
    (stack, [winner, later, open])
}

async fn export(stack: &Stack, what: &str, name: &str, options: &str) -> (Value, String) {
    let output = stack.arg(name);
    let args = format!("export {what} {CAMPAIGN} --output {output} {options}");
    let manifest = stack.json(&args).await;
    (manifest, std::fs::read_to_string(output).expect("a file"))
}

/// Rows by column. Cells with separators stay whole.
fn rows_of(text: &str) -> Vec<HashMap<&str, &str>> {
    let mut lines = text.trim_start_matches('\u{feff}').split_terminator("\r\n");
    let columns: Vec<_> = lines.next().expect("a heading").split(',').collect();
    lines
        .map(|line| columns.iter().copied().zip(line.split(',')).collect())
        .collect()
}

fn references(text: &str) -> BTreeSet<String> {
    rows_of(text)
        .iter()
        .map(|row| row["ref"].to_owned())
        .collect()
}

#[tokio::test]
async fn spreadsheet_gets_masked_phones_and_nothing_to_compute() {
    let (stack, [winner, ..]) = with_three().await;
    let (manifest, text) = export(&stack, "submissions", "all.csv", "").await;
    let mut lines = text.split_terminator("\r\n");
    let heading = lines.next().expect("a heading");
    assert!(
        heading.starts_with("\u{feff}id,ref,campaign,environment,entrant_id,phone,state,"),
        "{heading}"
    );
    let rows: Vec<_> = lines.collect();
    assert_eq!(rows.len(), 3);
    let row = rows
        .iter()
        .find(|row| row.contains(&winner.reference().to_string()))
        .expect("the winner");
    assert!(
        row.starts_with(&format!("{},", winner.submission_id)),
        "{row}"
    );
    assert_contains!(
        row,
        ",2557•••••678,accepted,,entered,instant_win,,2,A kettle,2026-03-01,",
        ",2026-03-01T00:00:00.000Z,2026-03-01 03:00:00,",
        ",\"'=HYPERLINK(\"\"http://bad.example\"\"), 7\","
    );
    assert_lacks!(text, "712345678");
    assert_eq!(fields(&manifest, "rows phones"), "3 masked");
    let columns = list_of(&manifest["columns"]).len();
    assert_eq!(heading.split(',').count(), columns);
}

#[tokio::test]
async fn manifest_says_what_the_private_file_holds() {
    let (stack, _) = with_three().await;
    let (manifest, _) = export(&stack, "winners", "winners.csv", "--phones").await;
    assert_eq!(
        files_in(stack.folder.path()),
        ["chai.yaml", "winners.csv", "winners.csv.manifest.json"]
    );
    let written = std::fs::read(stack.path("winners.csv.manifest.json")).expect("a manifest");
    assert_eq!(
        serde_json::from_slice::<Value>(&written).expect("JSON"),
        manifest
    );
    let sum = Command::new("sha256sum")
        .arg(stack.path("winners.csv"))
        .output()
        .expect("sha256sum");
    let sum = String::from_utf8(sum.stdout).expect("text");
    assert_eq!(sum.split(' ').next(), manifest["sha256"].as_str());
    let length = std::fs::metadata(stack.path("winners.csv"))
        .expect("a file")
        .len();
    assert_eq!(
        fields(&manifest, "bytes rows filter.from filter.to filter.states"),
        format!("{length} 1 null null []")
    );
    #[cfg(unix)]
    for name in ["winners.csv", "winners.csv.manifest.json"] {
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &std::fs::metadata(stack.path(name))
                .expect("a file")
                .permissions(),
        );
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn submissions_are_picked_by_time_and_state() {
    let (stack, [winner, later, open]) = with_three().await;
    let [winner, later, open] =
        [winner, later, open].map(|submission| submission.reference().to_string());
    // The campaign's day begins at 21:00 UTC.
    for (number, (options, expected)) in [
        ("", vec![&winner, &later, &open]),
        ("--to 2026-03-01", vec![&winner, &open]),
        ("--from 2026-03-02", vec![&later]),
        (
            "--from 2026-03-01T00:00:00Z --to 2026-03-02T00:00:00Z",
            vec![&winner, &open],
        ),
        ("--from 2026-03-01T00:00:00.001Z", vec![&later]),
        ("--state pending", vec![&open]),
        ("--state accepted,rejected --from 2026-03-02", vec![&later]),
        ("--state rejected --state unknown", vec![]),
        ("--environment test", vec![]),
    ]
    .into_iter()
    .enumerate()
    {
        let (_, text) = export(&stack, "submissions", &format!("{number}.csv"), options).await;
        assert_eq!(
            references(&text),
            expected.into_iter().cloned().collect(),
            "{options:?}"
        );
    }
    let (_, text) = export(&stack, "winners", "winners.csv", "--phones").await;
    let rows = rows_of(&text);
    assert_eq!(rows.len(), 1);
    let row = ["ref", "phone", "instant_win", "entries"].map(|name| rows[0][name]);
    assert_eq!(row, [winner.as_str(), "255712345678", "A kettle", "2"]);
}

#[tokio::test]
async fn entrants_come_with_their_counts_and_their_latest_submission() {
    let (stack, [_, later, _]) = with_three().await;
    stack
        .fine(format!(
            "phone block {CAMPAIGN} --why 'Sells codes' 0787654321"
        ))
        .await;
    let (_, text) = export(&stack, "entrants", "entrants.csv", "").await;
    let rows = rows_of(&text);
    assert_eq!(rows.len(), 2);
    let (entered, blocked): (Vec<_>, Vec<_>) =
        rows.iter().partition(|row| row["blocked_since"].is_empty());
    let entered = ["submissions", "entries", "latest_ref", "phone"].map(|name| entered[0][name]);
    let latest = later.reference().to_string();
    assert_eq!(entered, ["3", "4", &latest, "2557•••••678"]);
    assert_eq!(
        ["phone", "submissions"].map(|name| blocked[0][name]),
        ["", "0"]
    );
    // A blocked phone has no submission in that time.
    for (options, count) in [("--to 2026-03-01", 1), ("--from 2026-03-03", 0)] {
        let (_, text) = export(&stack, "entrants", &format!("{count}.csv"), options).await;
        assert_eq!(rows_of(&text).len(), count, "{options}");
    }
}

#[tokio::test]
async fn an_existing_file_is_never_written_over() {
    let (stack, _) = with_three().await;
    let output = stack.file("taken.csv", "precious");
    let args = format!("export submissions {CAMPAIGN} --output {output}");
    stack.refused(&args, "file_exists").await;
    assert_eq!(stack.read("taken.csv"), "precious");

    let output = stack.arg("free.csv");
    let args = format!("export submissions {CAMPAIGN} --output {output}");
    let manifest = "free.csv.manifest.json";
    stack.file(manifest, "precious");
    stack.refused(&args, "file_exists").await;
    assert_eq!(stack.read(manifest), "precious");
    std::fs::remove_file(stack.path(manifest)).expect("it is there");
    stack.fine(&args).await;
    let again = stack.refused(&args, "file_exists").await.message;
    assert_eq!(
        again,
        format!("{output} exists already; choose another --output")
    );
}

#[tokio::test]
async fn what_cannot_be_exported_is_said_before_anything_is_read() {
    let stack = Stack::with_chai().await;
    for (options, code) in [
        ("--campaign nobody --output a.csv", "campaign_unknown"),
        (
            "--campaign chai-bora-2026 --output a.xlsx",
            "format_unknown",
        ),
        (
            "--campaign chai-bora-2026 --output a.csv --from 2026-03-02 --to 2026-03-01",
            "period_empty",
        ),
        (
            "--campaign chai-bora-2026 --output /nowhere/a.csv",
            "file_failed",
        ),
    ] {
        stack
            .refused(format!("export submissions {options}"), code)
            .await;
    }
    let stray = "export entrants --campaign chai-bora-2026 --output a.csv --state accepted";
    stack.refused(stray, "option_unused").await;
}

/// Runs the program with a limit on file sizes.
fn with_room_for(kibibytes: u32, ready: &Path, args: &str) -> std::process::Output {
    let limited = format!("trap '' XFSZ; ulimit -f {kibibytes}; exec \"$@\"");
    Command::new("bash")
        .args([
            "-c",
            &limited,
            "bash",
            env!("CARGO_BIN_EXE_ops"),
            "--env-file",
        ])
        .arg(ready)
        .args(args.split(' '))
        .output()
        .expect("bash")
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn full_disk_leaves_nothing_and_the_export_starts_over() {
    let stack = Stack::with_chai().await;
    for hours in 0..200 {
        write(&stack, &accepted(hours, None), None).await;
    }
    let ready = stack.path("ready.json");
    stack.write_ready_file(&ready.display().to_string());
    let output = stack.arg("all.csv");
    let args = format!("export submissions {CAMPAIGN} --output {output}");
    let full = with_room_for(40, &ready, &args);
    let said = String::from_utf8(full.stderr).expect("text");
    assert_eq!(full.status.code(), Some(1), "{said}");
    assert_contains!(said, "there is no room for", "run the same command again");
    assert!(!stack.path("all.csv").exists() && !stack.path("all.csv.manifest.json").exists());
    assert_eq!(files_in(stack.folder.path()), ["chai.yaml", "ready.json"]);
    let manifest = stack.json(&args).await;
    assert_eq!(manifest["rows"], 200);
    let text = std::fs::read_to_string(&output).expect("a file");
    assert_eq!(references(&text).len(), 200);
    assert_eq!(
        files_in(stack.folder.path()),
        [
            "all.csv",
            "all.csv.manifest.json",
            "chai.yaml",
            "ready.json"
        ]
    );
}

#[tokio::test]
async fn whole_phones_are_exported_only_with_a_row_in_the_audit_log() {
    let (stack, _) = with_three().await;
    let rows = async || {
        let mut rows = stack.audit_rows().await;
        rows.retain(|row| row["action"] == "export");
        rows
    };
    export(&stack, "submissions", "masked.csv", "").await;
    assert_eq!(rows().await, [Value::Null; 0], "a masked phone is no look");
    let (_, text) = export(&stack, "submissions", "whole.csv", "--phones").await;
    assert_contains!(text, ",255712345678,");
    let written = rows().await;
    assert_eq!(written.len(), 1, "{written:?}");
    assert_eq!(
        fields(&written[0], "campaign environment details"),
        r#"chai-bora-2026 live {"content":"submissions","phones":"whole"}"#
    );

    let output = stack.arg("unrecorded.csv");
    let args = format!("export submissions --phones --output {output} {CAMPAIGN}");
    let elsewhere = [(AUDIT_TABLE, "nowhere")];
    stack.run_with(&elsewhere, args).await.failed();
    assert!(
        !Path::new(&output).exists(),
        "what cannot be recorded is not exported"
    );
}
