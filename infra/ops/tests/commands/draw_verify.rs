//! `ops draw verify`, with files as others get them: no stack, no credentials.

use std::path::Path;

use common::clock::Clock;
use common::config::Env;
use draw::Digest;
use serde_json::Value;
use tempfile::TempDir;

use crate::sample_draw::Sample;
use crate::support::{Ended, NOW, run};

fn written(sample: &Sample) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    sample.write(folder.path()).expect("a disk");
    folder
}

async fn verify(path: &Path, options: &[&str]) -> Ended {
    let path = path.display().to_string();
    let nothing: Env = std::iter::empty().collect();
    run(&[&["draw", "verify", &path], options].concat(), nothing, &Clock::manual(NOW)).await
}

/// The error of a folder or file that does not hold.
async fn refused(path: &Path, options: &[&str]) -> (String, String) {
    let ended = verify(path, &[options, &["--json"]].concat()).await;
    assert_eq!((ended.code, ended.out.as_str()), (ops_core::EXIT_FAILURE, ""), "{}", ended.err);
    let document: Value = serde_json::from_str(&ended.err).expect("JSON");
    let text = |name: &str| document["error"][name].as_str().expect("text").to_owned();
    (text("code"), text("message"))
}

#[tokio::test]
async fn a_draw_holds_from_its_files_and_from_its_certificate() {
    let sample = Sample::new();
    let folder = written(&sample);
    let page = folder.path().join("certificate.html");
    std::fs::write(&page, sample.certificate(false)).expect("a disk");
    for path in [folder.path(), &page] {
        let ended = verify(path, &[]).await;
        assert_eq!(ended.code, ops_core::EXIT_OK, "{}", ended.err);
        assert!(ended.out.starts_with("HOLDS: chai-bora-2026, week-37: "), "{}", ended.out);
        assert!(ended.out.contains("compare it with the one that was published"), "{}", ended.out);
    }
    // Alone, with the list of entries in it.
    let page = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(page.path(), sample.certificate(true)).expect("a disk");
    let ended = verify(page.path(), &["--json"]).await;
    let json: Value = serde_json::from_str(&ended.out).expect("JSON");
    assert_eq!(
        (&json["holds"], &json["rows"], &json["tiers"][1]["prizes"]),
        (&true.into(), &60.into(), &5.into())
    );
}

#[tokio::test]
async fn the_commitment_that_was_copied_decides_whether_it_is_this_draw() {
    let sample = Sample::new();
    let folder = written(&sample);
    let groups = sample.read().expect("whole").commitment().in_groups().to_uppercase();
    let ended = verify(folder.path(), &["--commitment", &groups]).await;
    assert!(ended.out.contains("it is the one that you copied"), "{}{}", ended.out, ended.err);
    let other = Digest::from_parts(&[b"another list"]).to_string();
    let (code, message) = refused(folder.path(), &["--commitment", &other]).await;
    assert_eq!(code, "commitment_differs");
    assert!(message.contains(&other), "{message}");
    let ended = verify(folder.path(), &["--commitment", &groups[5..]]).await;
    assert!(ended.code == ops_core::EXIT_USAGE && ended.err.contains("has 60 characters"), "{}", ended.err);
}

/// Changes the files of a draw.
type Tampering = fn(&mut Sample);

fn lines(text: &str) -> Vec<String> {
    text.split_inclusive('\n').map(str::to_owned).collect()
}

#[tokio::test]
async fn the_first_difference_is_named_by_file_and_line() {
    let tamperings: [(Tampering, &str); 8] = [
        (
            // A changed byte: the last digit of a hash.
            |sample| {
                let other = if sample.entries.as_bytes()[63] == b'0' { "1" } else { "0" };
                sample.entries.replace_range(63..64, other);
            },
            "entries.csv, line 1 has another hash than the opening of row 0",
        ),
        (
            |sample| {
                let mut entries = lines(&sample.entries);
                entries.swap(7, 8);
                sample.entries = entries.concat();
            },
            "entries.csv, line 8 starts at",
        ),
        (
            |sample| {
                let mut entries = lines(&sample.entries);
                entries.remove(7);
                sample.entries = entries.concat();
            },
            "entries.csv, line 8 starts at",
        ),
        (
            |sample| sample.header = sample.header.replace("week-37", "week-38"),
            "header.json and entries.csv lead to",
        ),
        (|sample| sample.commitment.replace_range(..4, "0000"), "commitment.txt says 0000"),
        (
            |sample| sample.result = sample.result.replace(r#""round":657413"#, r#""round":657414"#),
            "result.json is of round 657414, but header.json names round 657413",
        ),
        (
            |sample| sample.result = sample.result.replacen(r#"[{"row":"#, r#"[{"row":1"#, 1),
            "result.json, place 1 of grand-prize is row 1",
        ),
        (
            |sample| sample.openings = sample.openings.replacen("\n5,AAAA", "\n5,AAAB", 1),
            "entries.csv, line 6 has another hash than the opening of row 5",
        ),
    ];
    let sample = Sample::new();
    for (tamper, expected) in tamperings {
        let mut changed = sample.clone();
        tamper(&mut changed);
        let (code, message) = refused(written(&changed).path(), &[]).await;
        assert_eq!(code, "draw_differs", "{message}");
        assert!(message.contains("does NOT hold") && message.contains(expected), "{expected}: {message}");
    }
}

#[tokio::test]
async fn a_forged_signature_is_named_even_if_everything_follows_from_it() {
    let sample = Sample::forged();
    let (code, message) = refused(written(&sample).path(), &[]).await;
    assert_eq!(code, "signature_differs");
    assert!(message.contains("has a signature that is not of this chain and round"), "{message}");
    let page = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(page.path(), sample.certificate(true)).expect("a disk");
    assert_eq!(refused(page.path(), &[]).await.0, "signature_differs");
}

#[tokio::test]
async fn an_edited_certificate_is_named() {
    let page = tempfile::NamedTempFile::new().expect("a file");
    let whole = Sample::new().certificate(true);
    for (from, to, expected) in [
        ("2023-09-15T14:00:03", "2023-09-15T14:00:04", "but the beacon gave it at 2023-09-15T11:00:03"),
        ("<title>", "<title>We all win", "line 7 of the page"),
    ] {
        std::fs::write(page.path(), whole.replacen(from, to, 1)).expect("a disk");
        let ended = verify(page.path(), &["--json"]).await;
        let said = format!("{}{}", ended.out, ended.err);
        assert!(said.contains(expected), "{to}: {said}");
    }
    std::fs::write(page.path(), Sample::new().sheet()).expect("a disk");
    assert!(refused(page.path(), &[]).await.1.contains("not a certificate of a draw"));
}

#[tokio::test]
async fn another_chain_needs_its_key_and_quicknet_takes_none() {
    let sample = Sample::new();
    let key = beacon::Chain::quicknet().public_key();
    assert_eq!(refused(written(&sample).path(), &["--chain-key", &key]).await.0, "chain_known");

    let genesis = "2026-01-01T00:00:00Z".parse().expect("a time");
    let chain = beacon::SimulatedChain::new(&[1; 32], genesis, std::num::NonZeroU32::MIN);
    let own = Sample::on_chain(chain.chain().hash().parse().expect("a digest"), |round| chain.sign(round));
    let folder = written(&own);
    let (code, message) = refused(folder.path(), &[]).await;
    assert!(code == "chain_unknown" && message.contains("--chain-key"), "{message}");
    let ended = verify(folder.path(), &["--chain-key", &chain.chain().public_key()]).await;
    assert_eq!(ended.code, ops_core::EXIT_OK, "{}", ended.err);
    assert_eq!(refused(folder.path(), &["--chain-key", &key]).await.0, "signature_differs");
    assert_eq!(refused(folder.path(), &["--chain-key", "52db"]).await.0, "chain_key_invalid");
}

#[tokio::test]
async fn a_file_that_is_missing_is_named() {
    let folder = written(&Sample::new());
    std::fs::remove_file(folder.path().join("result.json")).expect("a disk");
    let (code, message) = refused(folder.path(), &[]).await;
    assert!(code == "draw_without_result" && message.contains("`ops draw run --output`"), "{message}");
    let folder = written(&Sample::new());
    std::fs::remove_file(folder.path().join("commitment.txt")).expect("a disk");
    let (code, message) = refused(folder.path(), &[]).await;
    assert!(code == "file_failed" && message.contains("commitment.txt"), "{message}");
    let (code, message) = refused(&folder.path().join("nothing"), &[]).await;
    assert!(code == "file_failed" && message.contains("nothing"), "{message}");
}
