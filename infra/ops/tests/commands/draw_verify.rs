//! `ops draw verify` with others' files: no stack, no credentials.

use std::path::Path;

use common::clock::Clock;
use common::config::Env;
use draw::Digest;
use serde_json::Value;
use tempfile::TempDir;

use crate::sample::Sample;
use crate::support::{Ended, NOW, run};

fn written(sample: &Sample) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    sample.write(folder.path()).expect("a disk");
    folder
}

async fn verify(path: &Path, options: &[&str]) -> Ended {
    let path = path.display().to_string();
    let nothing: Env = std::iter::empty().collect();
    run(
        &[&["draw", "verify", &path], options].concat(),
        nothing,
        &Clock::manual(NOW),
    )
    .await
}

/// The error of an invalid folder or file.
async fn refused(path: &Path, options: &[&str]) -> (String, String) {
    let ended = verify(path, &[options, &["--json"]].concat()).await;
    assert_eq!(
        (ended.code, ended.out.as_str()),
        (ops_core::EXIT_FAILURE, ""),
        "{}",
        ended.err
    );
    let document: Value = serde_json::from_str(&ended.err).expect("JSON");
    let text = |name: &str| document["error"][name].as_str().expect("text").to_owned();
    (text("code"), text("message"))
}

#[tokio::test]
async fn draw_holds_from_its_folder() {
    let sample = Sample::new();
    let folder = written(&sample);
    let ended = verify(folder.path(), &[]).await;
    assert_eq!(ended.code, ops_core::EXIT_OK, "{}", ended.err);
    assert!(
        ended.out.starts_with("HOLDS: chai-bora-2026, week-37: "),
        "{}",
        ended.out
    );
    let first = sample
        .opening(54)
        .references()
        .first()
        .expect("a reference")
        .clone();
    for said in [
        "compare it with the one that was published",
        "657413 was given at 2023-09-15T14:00:03+03:00: your copy of the commitment has to be older",
        "passed over: did not answer three calls",
        &format!("2      {first}  has the prize"),
    ] {
        assert!(ended.out.contains(said), "{said}: {}", ended.out);
    }
    assert!(!ended.out.contains("knows the winners"), "{}", ended.out);
    let ended = verify(folder.path(), &["--json"]).await;
    let json: Value = serde_json::from_str(&ended.out).expect("JSON");
    assert_eq!(
        (&json["holds"], &json["rows"], &json["tiers"][1]["prizes"]),
        (&true.into(), &60.into(), &5.into())
    );
    assert_eq!(json["round_at"], "2023-09-15T14:00:03+03:00");
}

#[tokio::test]
async fn draw_without_a_log_names_lines_of_the_list() {
    let folder = written(&Sample {
        log: None,
        ..Sample::new()
    });
    let ended = verify(folder.path(), &[]).await;
    assert!(
        ended
            .out
            .contains("in the order of these lines of entries.csv: 41, 55, "),
        "{}{}",
        ended.out,
        ended.err
    );
}

#[tokio::test]
async fn copied_commitment_decides_if_it_is_this_draw() {
    let sample = Sample::new();
    let folder = written(&sample);
    let groups = sample
        .read()
        .expect("whole")
        .commitment()
        .in_groups()
        .to_uppercase();
    let ended = verify(folder.path(), &["--commitment", &groups]).await;
    assert!(
        ended.out.contains("it is the one that you copied"),
        "{}{}",
        ended.out,
        ended.err
    );
    let other = Digest::from_parts(&[b"another list"]).to_string();
    let (code, message) = refused(folder.path(), &["--commitment", &other]).await;
    assert_eq!(code, "commitment_differs");
    assert!(message.contains(&other), "{message}");
    let ended = verify(folder.path(), &["--commitment", &groups[5..]]).await;
    assert!(
        ended.code == ops_core::EXIT_USAGE && ended.err.contains("has 60 characters"),
        "{}",
        ended.err
    );
}

/// The library tests all forged draws.
#[tokio::test]
async fn first_difference_is_named() {
    let mut sample = Sample::new();
    sample.openings = sample.openings.replacen("\n5,AAAA", "\n5,AAAB", 1);
    let (code, message) = refused(written(&sample).path(), &[]).await;
    assert_eq!(
        (code.as_str(), message.as_str()),
        (
            "draw_differs",
            "this draw does NOT hold; the first difference: entries.csv, line 6 has another hash than the opening of row 5"
        )
    );
}

#[tokio::test]
async fn forged_signature_is_named_if_all_else_follows() {
    let sample = Sample::forged();
    let (code, message) = refused(written(&sample).path(), &[]).await;
    assert_eq!(code, "signature_differs");
    assert!(
        message.contains("has a signature that is not of this chain and round"),
        "{message}"
    );
}

#[tokio::test]
async fn certificate_alone_is_not_verified() {
    let page = tempfile::NamedTempFile::new().expect("a file");
    for html in [Sample::new().certificate(true), Sample::new().sheet()] {
        std::fs::write(page.path(), html).expect("a disk");
        let (code, message) = refused(page.path(), &[]).await;
        assert!(
            code == "folder_needed" && message.contains("verifies itself in a browser"),
            "{message}"
        );
    }
}

fn options(own: &[String; 6]) -> Vec<&str> {
    own.iter().map(String::as_str).collect()
}

#[tokio::test]
async fn another_chain_needs_its_constants_and_quicknet_takes_none() {
    let own = |key: &str, genesis: &str| {
        [
            "--chain-key",
            key,
            "--chain-genesis",
            genesis,
            "--chain-period",
            "1",
        ]
        .map(str::to_owned)
    };
    let sample = Sample::new();
    let quicknet = own(&draw::beacon::Chain::quicknet().public_key(), "1692803367");
    assert_eq!(
        refused(written(&sample).path(), &options(&quicknet))
            .await
            .0,
        "chain_known"
    );

    let genesis = "2026-01-01T00:00:00Z".parse().expect("a time");
    let chain = draw::beacon::SimulatedChain::new(&[1; 32], genesis, std::num::NonZeroU32::MIN);
    let mut simulated = Sample::on_chain(chain.chain().hash(), |round| chain.sign(round));
    // Its log has quicknet's times.
    simulated.log = None;
    let folder = written(&simulated);
    let (code, message) = refused(folder.path(), &[]).await;
    assert!(
        code == "chain_unknown" && message.contains("knows the winners in advance"),
        "{message}"
    );
    let key = chain.chain().public_key();
    let ended = verify(folder.path(), &options(&own(&key, "1767225600"))).await;
    assert_eq!(ended.code, ops_core::EXIT_OK, "{}", ended.err);
    assert!(
        ended
            .out
            .contains("the holder of its key knows the winners in advance"),
        "{}",
        ended.out
    );
    let (code, message) = refused(folder.path(), &options(&own(&key, "1600000000"))).await;
    assert!(
        code == "draw_differs" && message.contains("was given at 2020-"),
        "{message}"
    );
    let quicknets = own(&draw::beacon::Chain::quicknet().public_key(), "1767225600");
    assert_eq!(
        refused(folder.path(), &options(&quicknets)).await.0,
        "signature_differs"
    );
    assert_eq!(
        refused(folder.path(), &options(&own("52db", "1767225600")))
            .await
            .0,
        "chain_key_invalid"
    );
    let alone = verify(folder.path(), &["--chain-key", &key]).await;
    assert_eq!(alone.code, ops_core::EXIT_USAGE, "{}", alone.err);
}

#[tokio::test]
async fn file_that_is_missing_is_named() {
    let folder = written(&Sample::new());
    std::fs::remove_file(folder.path().join("result.json")).expect("a disk");
    let (code, message) = refused(folder.path(), &[]).await;
    assert!(
        code == "draw_without_result" && message.contains("`ops draw run --output`"),
        "{message}"
    );
    let folder = written(&Sample::new());
    std::fs::remove_file(folder.path().join("commitment.txt")).expect("a disk");
    let (code, message) = refused(folder.path(), &[]).await;
    assert!(
        code == "file_failed" && message.contains("commitment.txt"),
        "{message}"
    );
    let (code, message) = refused(&folder.path().join("nothing"), &[]).await;
    assert!(
        code == "file_failed" && message.contains("nothing"),
        "{message}"
    );
}
