//! The runbook has a section for each alarm.

use super::*;

#[test]
fn every_alarm_has_its_section_in_the_runbook() {
    let files = [
        "monitoring/template.yaml",
        "monitoring/function.yaml",
        "monitoring/campaign.yaml",
        "budget.yaml",
    ];
    let named: BTreeSet<_> = files
        .iter()
        .flat_map(|file| {
            file_text(&format!("infra/stack/{file}"))
                .lines()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .filter(|line| line.contains("AlarmDescription:") || line.contains("# See "))
        .map(|line| {
            let link = line
                .split_once("See ${RunbookUrl}#")
                .or(line.split_once("# See infra/docs/runbook.md#"));
            link.expect("an alarm links to its section")
                .1
                .trim_end_matches('"')
                .to_owned()
        })
        .collect();
    let runbook = file_text("infra/docs/runbook.md");
    let sections = runbook.lines().filter_map(|line| line.strip_prefix("### "));
    let sections: BTreeSet<_> = sections
        .map(|title| title.to_lowercase().replace(' ', "-"))
        .collect();
    assert_eq!(named, sections);
}

#[test]
fn runbook_says_which_alarms_wake_people_up() {
    let files = ["template", "function", "campaign"]
        .map(|file| file_text(&format!("infra/stack/monitoring/{file}.yaml")));
    let names = files
        .iter()
        .flat_map(|text| text.lines())
        .filter_map(|line| line.split_once("AlarmName: !Sub "));
    let names: BTreeSet<_> = names
        .map(|(_, name)| {
            let name = name.trim_start_matches('"').split('"').next();
            let name = name
                .unwrap_or_default()
                .replace("${Service}-", "")
                .replace("${Operation}", "FUNCTION");
            format!("`{}`", name.replace("${Campaign}", "CAMPAIGN"))
        })
        .collect();
    let runbook = file_text("infra/docs/runbook.md");
    assert!(runbook.starts_with("# Runbook\n\nYou have time"));
    let rows: Vec<&str> = runbook
        .lines()
        .filter(|line| line.starts_with("| `"))
        .collect();
    for name in &names {
        let row: Vec<_> = rows
            .iter()
            .filter(|row| row.contains(name.as_str()))
            .collect();
        assert_eq!(row.len(), 1, "{name}");
        assert!(
            ["| wake up |", "| tomorrow |"]
                .iter()
                .any(|when| row[0].contains(when)),
            "{}",
            row[0]
        );
    }
}
