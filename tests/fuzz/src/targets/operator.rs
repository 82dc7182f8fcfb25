//! Files that operators write.

use std::path::Path;

use common::domain::campaign::Campaign;
use common::domain::code::Code;
use ops_core::campaign_file::read_bytes;
use ops_core::codes::lines::codes;
use ops_core::column::Line;

const NAME: &str = "f.yaml";

/// A campaign file survives storing, or each problem names a line.
pub(super) fn campaign_file(input: &[u8]) {
    let read = read_bytes(NAME, input);
    assert_eq!(read_bytes(NAME, input), read);
    match read {
        Ok(file) => {
            let stored = serde_json::to_value(&file.campaign).expect("JSON");
            assert_eq!(
                serde_json::from_value::<Campaign>(stored).expect("a campaign"),
                file.campaign
            );
        }
        Err(problems) => {
            assert!(!problems.is_empty(), "refused without a word");
            assert!(problems.is_sorted_by_key(|problem| problem.line));
            let lines = input
                .iter()
                .filter(|byte| matches!(byte, b'\n' | b'\r'))
                .count()
                + 1;
            for problem in &problems {
                let shown = problem.to_string();
                assert!(
                    (1..=lines).contains(&problem.line),
                    "{lines} lines, but {shown}"
                );
                assert!(
                    shown.starts_with(&format!("{NAME}:{}: ", problem.line)),
                    "{shown}"
                );
                assert!(!problem.message.is_empty(), "{shown}");
                assert!(
                    !shown.contains(char::is_control),
                    "{shown:?} disturbs a terminal"
                );
            }
        }
    }
}

/// A list of codes is parsed the same in any chunks, and survives a round trip.
pub(super) fn code_lines(input: &[u8]) {
    let read = lines(input, usize::MAX);
    assert_eq!(lines(input, 1), read, "parts changed the answer");
    assert!(
        read.iter()
            .map(|(line, _)| line)
            .is_sorted_by(|one, next| one < next)
    );
    let last = input.split(|byte| *byte == b'\n').count();
    let mut codes = Vec::new();
    for (line, code) in read {
        assert!((1..=last).contains(&line), "{last} lines, but line {line}");
        match code {
            Ok(code) => {
                assert!(
                    !code.is_empty() && !code.contains([' ', ',', '"', ';', '-']),
                    "{code:?}"
                );
                assert!(!code.contains(char::is_control), "{code:?} cannot be typed");
                codes.push(code);
            }
            Err(why) => assert!(why.starts_with("this "), "{why}"),
        }
    }
    // Upper case can be longer than typed.
    codes.retain(|code| Code::CHARS.contains(&code.chars().count()));
    let written = format!("\u{feff}code\r\n{}\r\n", codes.join("\r\n"));
    let again: Vec<String> = lines(written.as_bytes(), 2)
        .into_iter()
        .filter_map(|(_, code)| code.ok())
        .collect();
    assert_eq!(again, codes);
}

/// All lines, read `at_once` at a time.
fn lines(input: &[u8], at_once: usize) -> Vec<Line<String>> {
    let column = codes(Path::new("codes.csv"), None);
    let mut file = column.lines_of(input);
    let mut all = Vec::new();
    loop {
        let part = file.next_lines(at_once).expect("bytes can be read");
        assert!(part.len() <= at_once);
        if part.is_empty() {
            return all;
        }
        all.extend(part);
    }
}
