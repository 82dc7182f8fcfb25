//! `ops draw verify` with others' files: no stack, no credentials.

use std::path::Path;

use common::clock::Clock;
use common::config::Env;
use draw::Digest;
use serde_json::json;
use tempfile::TempDir;

use crate::sample::Sample;
use crate::support::{Ended, NOW, run};

fn written(sample: &Sample) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    sample.write(folder.path()).expect("a disk");
    folder
}

async fn verify(path: &Path, options: &str) -> Ended {
    let command = format!("draw verify {} {options}", path.display());
    run(command, Env::default(), &Clock::manual(NOW)).await
}

/// The message about a folder or file that does not hold.
async fn refused(path: &Path, options: &str, code: &str) -> String {
    let ended = verify(path, &format!("{options} --json")).await;
    ended.refused(code).message
}

#[tokio::test]
async fn draw_holds_from_its_folder() {
    let sample = Sample::new();
    let folder = written(&sample);
    let ended = verify(folder.path(), "").await.fine();
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
    assert_contains!(
        ended.out,
        "compare it with the one that was published",
        "657413 was given at 2023-09-15T14:00:03+03:00: your copy of the commitment has to be older",
        "passed over: did not answer three calls",
        format!("2      {first}  has the prize")
    );
    assert_lacks!(ended.out, "knows the winners");
    let json = verify(folder.path(), "--json").await.json();
    assert_eq!(json["holds"], true);
    assert_eq!(json["rows"], 60);
    assert_eq!(json["tiers"][1]["prizes"], 5);
    assert_eq!(json["round_at"], "2023-09-15T14:00:03+03:00");
}

#[tokio::test]
async fn draw_without_a_log_names_lines_of_the_list() {
    let folder = written(&Sample {
        log: None,
        ..Sample::new()
    });
    let ended = verify(folder.path(), "").await;
    assert_contains!(
        ended.out,
        "in the order of these lines of entries.csv: 41, 55, "
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
    let ended = verify(folder.path(), &format!("--commitment '{groups}'")).await;
    assert_contains!(ended.out, "it is the one that you copied");
    let other = Digest::from_parts(&[b"another list"]).to_string();
    let options = format!("--commitment {other}");
    let message = refused(folder.path(), &options, "commitment_differs").await;
    assert_contains!(message, other);
    let options = format!("--commitment '{}'", &groups[5..]);
    let said = verify(folder.path(), &options).await.misused();
    assert_contains!(said, "has 60 characters");
}

/// The library tests all forged draws.
#[tokio::test]
async fn first_difference_is_named() {
    let mut sample = Sample::new();
    sample.openings = sample.openings.replacen("\n5,AAAA", "\n5,AAAB", 1);
    let message = refused(written(&sample).path(), "", "draw_differs").await;
    let first = "entries.csv, line 6 has another hash than the opening of row 5";
    assert_eq!(
        message,
        format!("this draw does NOT hold; the first difference: {first}")
    );
}

#[tokio::test]
async fn forged_signature_is_named_if_all_else_follows() {
    let sample = Sample::forged();
    let message = refused(written(&sample).path(), "", "signature_differs").await;
    assert_contains!(
        message,
        "has a signature that is not of this chain and round"
    );
}

#[tokio::test]
async fn certificate_alone_is_not_verified() {
    let page = tempfile::NamedTempFile::new().expect("a file");
    for html in [Sample::new().certificate(true), Sample::new().sheet()] {
        std::fs::write(page.path(), html).expect("a disk");
        let message = refused(page.path(), "", "folder_needed").await;
        assert_contains!(message, "verifies itself in a browser");
    }
}

#[tokio::test]
async fn another_chain_needs_its_constants() {
    let genesis = "2026-01-01T00:00:00Z".parse().expect("a time");
    let chain = draw::beacon::SimulatedChain::new(&[1; 32], genesis, std::num::NonZeroU32::MIN);
    let hash = chain.chain().hash();
    let mut simulated = Sample::on_chain(hash, |round| chain.sign(round));
    // Its log has quicknet's times.
    simulated.log = None;
    let folder = written(&simulated);
    let message = refused(folder.path(), "", "chain_unknown").await;
    assert_contains!(message, "knows the winners in advance", "BEACON_CHAIN");
    let verify = async |key: &str, genesis: i64, options: &str| {
        let info = json!({ "hash": hash, "public_key": key, "genesis_time": genesis, "period": 1 });
        let env = [("BEACON_CHAIN".to_owned(), info.to_string())].into_iter();
        let command = format!("draw verify {} {options}", folder.path().display());
        run(command, env.collect(), &Clock::manual(NOW)).await
    };
    let (key, genesis) = (chain.chain().public_key(), 1_767_225_600);
    let ended = verify(&key, genesis, "").await.fine();
    assert_contains!(
        ended.out,
        "the holder of its key knows the winners in advance"
    );
    let early = verify(&key, 1_600_000_000, "--json").await;
    assert_contains!(early.refused("draw_differs").message, "was given at 2020-");
    let quicknets = draw::beacon::Chain::quicknet().public_key();
    let ended = verify(&quicknets, genesis, "--json").await;
    ended.refused("signature_differs");
    verify("52db", genesis, "--json")
        .await
        .refused("not_configured");
}

#[tokio::test]
async fn file_that_is_missing_is_named() {
    let folder = written(&Sample::new());
    std::fs::remove_file(folder.path().join("result.json")).expect("a disk");
    let message = refused(folder.path(), "", "draw_without_result").await;
    assert_contains!(message, "`ops draw run --output`");
    let folder = written(&Sample::new());
    std::fs::remove_file(folder.path().join("commitment.txt")).expect("a disk");
    let message = refused(folder.path(), "", "file_failed").await;
    assert_contains!(message, "commitment.txt");
    let message = refused(&folder.path().join("nothing"), "", "file_failed").await;
    assert_contains!(message, "nothing");
}
