//! Changed files of a draw: this program and verify.py name the first difference.

use std::process::Command;

use crate::sample::Sample;

/// Replaces a text that is there.
fn replace(text: &mut String, from: &str, to: &str) {
    assert!(text.contains(from), "{from} is not there");
    *text = text.replacen(from, to, 1);
}

fn lines(text: &str) -> Vec<String> {
    text.split_inclusive('\n').map(str::to_owned).collect()
}

/// Flips a hexadecimal digit.
fn flipped(digit: char) -> char {
    if digit == '0' { '1' } else { '0' }
}

/// Changes the last digit of a line's hash, so that lines stay in order.
fn change_hash(line: &mut String) {
    let digit = line.as_bytes()[63];
    line.replace_range(63..64, &flipped(char::from(digit)).to_string());
}

/// What was changed, and what both programs say about it.
type Tampering = (&'static str, fn(&mut Sample), &'static str);

const TAMPERINGS: &[Tampering] = &[
    (
        "a changed byte of a hash",
        |sample| {
            let mut entries = lines(&sample.entries);
            change_hash(&mut entries[7]);
            sample.entries = entries.concat();
        },
        "but header.json and entries.csv lead to",
    ),
    (
        "a changed count",
        |sample| {
            let mut entries = lines(&sample.entries);
            let (rest, count) = entries[7].trim_end().rsplit_once(',').expect("a count");
            entries[7] = format!("{rest},{}\n", count.parse::<u64>().expect("a number") + 1);
            sample.entries = entries.concat();
        },
        "entries.csv, line 9 starts at",
    ),
    (
        "swapped lines",
        |sample| {
            let mut entries = lines(&sample.entries);
            entries.swap(7, 8);
            sample.entries = entries.concat();
        },
        "entries.csv, line 8 starts at",
    ),
    (
        "swapped hashes",
        |sample| {
            let mut entries = lines(&sample.entries);
            let (one, next) = (entries[7][..64].to_owned(), entries[8][..64].to_owned());
            entries[7].replace_range(..64, &next);
            entries[8].replace_range(..64, &one);
            sample.entries = entries.concat();
        },
        "entries.csv, line 9 has a hash that is not above the one of the line before",
    ),
    (
        "a missing line",
        |sample| {
            let mut entries = lines(&sample.entries);
            entries.remove(7);
            sample.entries = entries.concat();
        },
        "entries.csv, line 8 starts at",
    ),
    (
        "a missing last line",
        |sample| {
            let mut entries = lines(&sample.entries);
            entries.pop();
            sample.entries = entries.concat();
        },
        "header.json says 60",
    ),
    (
        "a missing line feed",
        |sample| {
            sample.entries.pop();
        },
        "entries.csv, line 60 is not a hash, a start and a count",
    ),
    (
        "a line of something else",
        |sample| {
            let mut entries = lines(&sample.entries);
            entries[0] = format!("\u{e9}{}", entries[0]);
            sample.entries = entries.concat();
        },
        "entries.csv, line 1 is not a hash, a start and a count",
    ),
    (
        "a changed prize",
        |sample| {
            replace(&mut sample.header, r#""name":"grand-prize""#, r#""name":"Grand-prize""#);
        },
        "but header.json and entries.csv lead to",
    ),
    (
        "a header that was only formatted",
        |sample| {
            replace(&mut sample.header, ",", ", ");
        },
        "but header.json and entries.csv lead to",
    ),
    (
        "another number of entries of a day",
        |sample| {
            replace(&mut sample.header, r#""2023-09-04":100"#, r#""2023-09-04":101"#);
        },
        "header.json",
    ),
    (
        "another round",
        |sample| {
            replace(&mut sample.result, r#""round":657413"#, r#""round":657414"#);
        },
        "result.json is of round 657414",
    ),
    (
        "another commitment",
        |sample| {
            let first = sample.commitment.chars().next().expect("a digit");
            sample.commitment.replace_range(..1, &flipped(first).to_string());
        },
        "but header.json and entries.csv lead to",
    ),
    (
        "another seed",
        |sample| {
            replace(&mut sample.result, r#""randomness":"f"#, r#""randomness":"e"#);
        },
        "randomness",
    ),
    (
        "another signature",
        |sample| {
            replace(&mut sample.result, r#""signature":"b"#, r#""signature":"a"#);
        },
        "randomness",
    ),
    (
        "a byte before the signature",
        |sample| {
            replace(&mut sample.result, r#""signature":"b"#, r#""signature":"00b"#);
        },
        "48 bytes",
    ),
    (
        "a signature in capitals",
        |sample| {
            replace(&mut sample.result, r#""signature":"b"#, r#""signature":"B"#);
        },
        "48 bytes",
    ),
    (
        "another winner",
        |sample| {
            let row = sample.result.find(r#""row":"#).expect("a row") + 6;
            let digit = sample.result.as_bytes()[row];
            sample.result.replace_range(row..=row, if digit == b'1' { "2" } else { "1" });
        },
        "result.json, place 1 of grand-prize is",
    ),
    (
        "another number of prizes",
        |sample| {
            replace(&mut sample.result, r#""prizes":5"#, r#""prizes":6"#);
        },
        "result.json does not have the prizes of header.json",
    ),
    (
        "an order that was cut",
        |sample| {
            let end = sample.result.rfind(r#",{"row""#).expect("a place");
            sample.result.replace_range(end.., "]}]}");
        },
        "result.json has 25 places for",
    ),
];

fn difference(sample: &Sample) -> Option<String> {
    let read = sample.read().and_then(|committed| committed.read_result(sample.result.as_bytes()));
    read.err().map(|difference| difference.to_string())
}

#[test]
fn what_nobody_changed_holds() {
    assert_eq!(difference(&Sample::new()), None);
}

#[test]
fn the_first_difference_is_named() {
    let sample = Sample::new();
    for (what, tamper, expected) in TAMPERINGS {
        let mut changed = sample.clone();
        tamper(&mut changed);
        let difference = difference(&changed).unwrap_or_else(|| panic!("{what} is not noticed"));
        assert!(difference.contains(expected), "{what}: {difference}");
    }
}

#[test]
fn an_opening_that_was_changed_is_named_by_its_row() {
    let sample = Sample::new();
    let read = |openings: &str| {
        let mut openings = openings.as_bytes();
        draw::Committed::read(draw::Evidence {
            entries: &mut sample.entries.as_bytes(),
            header: sample.header.as_bytes(),
            commitment: &sample.commitment,
            openings: Some(&mut openings),
        })
        .map(drop)
        .map_err(|difference| difference.to_string())
    };
    assert_eq!(read(&sample.openings), Ok(()));
    let mut openings = lines(&sample.openings);
    openings.remove(9);
    assert_eq!(read(&openings.concat()), Ok(()), "of an erased person");
    let changed = sample.openings.replacen("\n5,AAAA", "\n5,AAAB", 1);
    let refused = read(&changed).expect_err("a changed reference");
    assert!(refused.contains("entries.csv, line 6 has another hash than the opening of row 5"), "{refused}");
    for unreadable in
        ["", "row\n", &sample.openings.replacen("\n5,", "\n3,", 1), &format!("{}60,A,00\n", sample.openings)]
    {
        assert!(read(unreadable).expect_err("unreadable").contains("openings.csv, line"));
    }
}

/// What `verify.py` prints, its errors included. `None` without Python.
fn verify_py(sample: &Sample, arguments: &[&str]) -> Option<String> {
    let folder = tempfile::tempdir().expect("a folder");
    sample.write(folder.path()).expect("a folder to write to");
    let mut python = Command::new("python3");
    let ran = python.arg(folder.path().join("verify.py")).arg(folder.path()).args(arguments).output();
    let Ok(ran) = ran else {
        println!("python3 is not installed: verify.py was not run");
        return None;
    };
    Some([ran.stdout, ran.stderr].concat().into_iter().map(char::from).collect())
}

#[test]
fn verify_py_says_the_same() {
    let sample = Sample::new();
    let Some(printed) = verify_py(&sample, &[]) else { return };
    assert!(printed.starts_with("FOLLOWS: 60 entrants") && !printed.contains("DIFFERENT"), "{printed}");
    for (what, tamper, expected) in TAMPERINGS {
        let mut changed = sample.clone();
        tamper(&mut changed);
        let printed = verify_py(&changed, &[]).expect("it ran before");
        assert!(printed.starts_with("DIFFERENT: ") && printed.contains(expected), "{what}: {printed}");
    }
}

#[test]
fn verify_py_compares_with_what_was_copied_before_the_draw() {
    let sample = Sample::new();
    let groups = sample.read().expect("whole").commitment().in_groups();
    let Some(printed) = verify_py(&sample, &[&groups.to_uppercase()]) else { return };
    assert!(printed.starts_with("FOLLOWS"), "{printed}");
    let printed = verify_py(&sample, &[&groups[5..]]).expect("it ran before");
    assert!(printed.starts_with("DIFFERENT: the commitment is"), "{printed}");
}

#[test]
fn verify_py_does_not_hold_for_a_forged_signature() {
    let Some(printed) = verify_py(&Sample::forged(), &[]) else { return };
    // Without py_ecc, it says that it did not verify the signature.
    let is_told =
        ["DIFFERENT: the signature", "NOT VERIFIED: the signature"].iter().any(|said| printed.contains(said));
    assert!(is_told && !printed.contains("HOLDS"), "{printed}");
}
