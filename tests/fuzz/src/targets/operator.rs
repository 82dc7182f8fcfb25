//! What operators write.

use common::domain::campaign::Campaign;
use ops::campaign_file::read_bytes;

const NAME: &str = "f.yaml";

/// A campaign file is read whole, and survives storing, or each of its problems names a line of it.
pub(super) fn campaign_file(input: &[u8]) {
    let read = read_bytes(NAME, input);
    assert_eq!(read_bytes(NAME, input), read);
    match read {
        Ok(file) => {
            let stored = serde_json::to_value(&file.campaign).expect("JSON");
            assert_eq!(serde_json::from_value::<Campaign>(stored).expect("a campaign"), file.campaign);
        }
        Err(problems) => {
            assert!(!problems.is_empty(), "refused without a word");
            assert!(problems.is_sorted_by_key(|problem| problem.line));
            let lines = input.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count() + 1;
            for problem in &problems {
                let shown = problem.to_string();
                assert!((1..=lines).contains(&problem.line), "{lines} lines, but {shown}");
                assert!(shown.starts_with(&format!("{NAME}:{}: ", problem.line)), "{shown}");
                assert!(!problem.message.is_empty(), "{shown}");
                assert!(!shown.contains(char::is_control), "{shown:?} disturbs a terminal");
            }
        }
    }
}
