//! Forged draws: the library, `verify.py` and the certificate's script name the same difference.

use std::path::{Path, PathBuf};
use std::process::Command;

use draw::beacon::Chain;
use draw::{DrawResult, Event, Log, Step};

use crate::forgeries;
use crate::sample::Sample;

/// The first difference, or none.
pub(crate) type Said = Option<String>;

/// Verifies all but the signature.
fn library(sample: &Sample) -> Said {
    let read = || {
        let committed = sample.read()?;
        let given_at = Chain::quicknet().time_of(committed.header().round);
        let given_at = committed.check_round_time(given_at)?;
        let result = committed.read_result(sample.result.as_bytes())?;
        sample
            .log
            .as_ref()
            .map(|log| committed.read_log(&result, given_at, log.as_bytes()))
            .transpose()
    };
    read()
        .err()
        .map(|difference: draw::Difference| difference.to_string())
}

fn written(sample: &Sample, folder: &Path, name: &str) -> PathBuf {
    let folder = folder.join(name);
    sample.write(&folder).expect("a folder to write to");
    folder
}

/// Output and errors of `verify.py`.
fn verify_py(folder: &Path, arguments: &[&str]) -> String {
    let ran = Command::new("python3")
        .arg(folder.join("verify.py"))
        .arg(folder)
        .args(arguments)
        .output();
    let ran = ran.expect("python3 is not installed: install it, or verify.py is not tested");
    [ran.stdout, ran.stderr]
        .concat()
        .into_iter()
        .map(char::from)
        .collect()
}

/// Verdicts of `verify.py` in one process.
pub(crate) fn python(folders: &[PathBuf]) -> Vec<Said> {
    const RUN_EACH: &str = "
import json, runpy, sys
for folder in sys.argv[1:]:
    sys.argv = ['verify.py', folder]
    try: runpy.run_path(folder + '/verify.py', run_name='__main__')
    except SystemExit as ended: print('said', json.dumps(str(ended.code)))
    else: print('said', json.dumps('HOLDS'))
";
    let ran = Command::new("python3")
        .args(["-c", RUN_EACH])
        .args(folders)
        .output();
    let ran = ran.expect("python3 is not installed: install it, or verify.py is not tested");
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let printed = String::from_utf8(ran.stdout).expect("text");
    let said = printed
        .lines()
        .filter_map(|line| line.strip_prefix("said "));
    said.map(|said| {
        let said: String = serde_json::from_str(said).expect("JSON");
        // Without py_ecc, only the signature is unverified.
        let is_good = said == "HOLDS" || said.starts_with("NOT VERIFIED: the signature");
        assert!(is_good || said.starts_with("DIFFERENT: "), "{said}");
        said.strip_prefix("DIFFERENT: ").map(str::to_owned)
    })
    .collect()
}

/// Verdicts of the certificate's script; `None` without Node. A browser runs it in `.ci/run
/// certificate`.
pub(crate) fn script(folders: &[PathBuf]) -> Option<Vec<Said>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut node = Command::new("node");
    node.arg(here.join("tests/draw/run_page.mjs"))
        .arg(here.join("certificate"))
        .args(folders);
    let Ok(ran) = node.output() else {
        eprintln!("node is not installed: the certificate's script was not run");
        return None;
    };
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let printed = String::from_utf8(ran.stdout).expect("text");
    Some(
        printed
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect(),
    )
}

#[test]
fn good_draw_holds_in_three_programs() {
    let folder = tempfile::tempdir().expect("a folder");
    let (sample, undecided) = (
        Sample::new(),
        Sample {
            log: None,
            ..Sample::new()
        },
    );
    let folders = [&sample, &undecided].map(|sample| {
        assert_eq!(library(sample), None);
        let folder = written(
            sample,
            folder.path(),
            if sample.log.is_some() {
                "log"
            } else {
                "no-log"
            },
        );
        let printed = verify_py(&folder, &[]);
        assert!(
            printed.starts_with("FOLLOWS: 60 entrants") && !printed.contains("DIFFERENT"),
            "{printed}"
        );
        assert!(
            printed.contains("Round 657413 was given at 2023-09-15 11:00:03+00:00: your copy"),
            "{printed}"
        );
        folder
    });
    if let Some(said) = script(&folders) {
        assert_eq!(said, [None, None]);
    }
}

#[test]
fn forged_draws_are_refused_by_three_programs() {
    let folder = tempfile::tempdir().expect("a folder");
    let good = Sample::new();
    let forgeries: Vec<_> = forgeries::all().collect();
    assert!(forgeries.len() > 100, "{}", forgeries.len());
    let forged: Vec<_> = forgeries
        .iter()
        .map(|forgery| forgery.applied_to(&good))
        .collect();
    let folders: Vec<_> = (0..)
        .zip(&forged)
        .map(|(at, forged)| written(forged, folder.path(), &format!("{at}")))
        .collect();
    let mut programs = vec![
        (
            "the library",
            forged.iter().map(library).collect::<Vec<_>>(),
        ),
        ("verify.py", python(&folders)),
    ];
    programs.extend(script(&folders).map(|said| ("the certificate's script", said)));
    let mut wrong = Vec::new();
    for (program, said) in programs {
        assert_eq!(said.len(), forgeries.len(), "{program}");
        for (forgery, said) in forgeries.iter().zip(said) {
            let is_named = |said: &String| {
                forgery
                    .expected
                    .iter()
                    .all(|expected| said.contains(expected))
            };
            if !said.as_ref().is_some_and(is_named) {
                wrong.push(format!(
                    "{program}, {}: {said:?}, not {:?}",
                    forgery.what, forgery.expected
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn opening_that_was_changed_is_named_by_its_row() {
    let sample = Sample::new();
    let committed = sample.read().expect("they agree");
    let read = |openings: &str| {
        let read = committed.read_openings(openings.as_bytes(), |row, _| row == 3);
        read.map(|chosen| chosen.len())
            .map_err(|difference| difference.to_string())
    };
    assert_eq!(read(&sample.openings), Ok(1));
    let mut openings: Vec<_> = sample.openings.split_inclusive('\n').collect();
    openings.remove(9);
    assert_eq!(read(&openings.concat()), Ok(1), "of an erased person");
    let changed = sample.openings.replacen("\n5,AAAA", "\n5,AAAB", 1);
    let refused = read(&changed).expect_err("a changed reference");
    assert!(
        refused.contains("entries.csv, line 6 has another hash than the opening of row 5"),
        "{refused}"
    );
    for unreadable in [
        "",
        "row\n",
        &sample.openings.replacen("\n5,", "\n3,", 1),
        &format!("{}60,A,00\n", sample.openings),
    ] {
        assert!(
            read(unreadable)
                .expect_err("unreadable")
                .contains("openings.csv, line")
        );
    }
}

/// The winner declines instead, and the next place is drawn.
fn without_grand_prize(mut sample: Sample) -> Sample {
    let result: DrawResult = serde_json::from_str(&sample.result).expect("a result");
    let mut log: Log = serde_json::from_str(sample.log.as_ref().expect("a log")).expect("a log");
    let last = log.places[1].steps.last_mut().expect("a step");
    let drawn = Step {
        is: Event::Drawn,
        ..last.clone()
    };
    *last = Step {
        is: Event::Skipped,
        reason: Some("declined".into()),
        inspector: Some("A. Inspector".into()),
        ..drawn.clone()
    };
    let next = sample.logged(&result.tiers[0], 3, vec![drawn]);
    log.places.insert(2, next);
    sample.log = Some(serde_json::to_string(&log).expect("JSON"));
    sample
}

#[test]
fn prize_that_is_lost_later_passed_others_over_rightly() {
    let sample = without_grand_prize(Sample::new());
    assert_eq!(library(&sample), None);
    let folder = tempfile::tempdir().expect("a folder");
    let folders = [written(&sample, folder.path(), "lost")];
    assert_eq!(python(&folders), [None]);
    assert!(script(&folders).is_none_or(|said| said == [None]));
}

#[test]
fn verify_py_compares_with_what_was_copied_before_the_draw() {
    let folder = tempfile::tempdir().expect("a folder");
    let sample = Sample::new();
    sample.write(folder.path()).expect("a folder to write to");
    let groups = sample.read().expect("whole").commitment().in_groups();
    let printed = verify_py(folder.path(), &[&groups.to_uppercase()]);
    assert!(printed.starts_with("FOLLOWS"), "{printed}");
    let printed = verify_py(folder.path(), &[&groups[5..]]);
    assert!(
        printed.starts_with("DIFFERENT: the commitment is"),
        "{printed}"
    );
}

#[test]
fn verify_py_takes_the_constants_of_another_chain() {
    let folder = tempfile::tempdir().expect("a folder");
    let chain = draw::Digest::from_parts(&[b"a chain"]);
    Sample::on_chain(chain, |_| [7; 48].into())
        .write(folder.path())
        .expect("a folder to write to");
    let printed = verify_py(folder.path(), &[]);
    assert!(
        printed.starts_with("NOT VERIFIED: the chain")
            && printed.contains("knows the winners in advance"),
        "{printed}"
    );
    let printed = verify_py(folder.path(), &["", "00", "1692803367", "3"]);
    assert!(
        printed.starts_with("FOLLOWS") && printed.contains("knows the winners in advance"),
        "{printed}"
    );
    let printed = verify_py(folder.path(), &["", "00", "1500000000", "3"]);
    assert!(
        printed.starts_with("DIFFERENT: round 657413 was given at 2017-"),
        "{printed}"
    );
}

#[test]
fn verify_py_does_not_hold_for_a_forged_signature() {
    let folder = tempfile::tempdir().expect("a folder");
    Sample::forged()
        .write(folder.path())
        .expect("a folder to write to");
    let printed = verify_py(folder.path(), &[]);
    // Without py_ecc, it names the unverified signature.
    let is_told = ["DIFFERENT: the signature", "NOT VERIFIED: the signature"]
        .iter()
        .any(|said| printed.contains(said));
    assert!(is_told && !printed.contains("HOLDS"), "{printed}");
}
