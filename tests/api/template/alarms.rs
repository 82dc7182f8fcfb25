//! The alarms: one for each objective, of its own stack alone, with a section in the runbook.

mod runbook;
mod slow_tables;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use common::domain::scope::{Environment, Scope};
use common::domain::timestamp::Timestamp;
use common::http::routes::ROUTES;
use common::telemetry::{LogLine, RequestFields, RequestIds};
use serde_json::{Value, json};
use service_tests::template::{file_text, logical_id, parse, resources, service};
use service_tests::text::{list_of, parse_json, text_of};

use super::crates;

#[test]
fn every_function_has_alarms_by_its_objective() {
    let template = service();
    let monitoring = parse(&file_text("infra/stack/monitoring/template.yaml"));
    let stacks: BTreeMap<_, _> = resources(&monitoring, "AWS::CloudFormation::Stack").collect();
    let expected: BTreeSet<_> = crates()
        .iter()
        .map(|name| format!("{}Alarms", logical_id(name)))
        .collect();
    assert_eq!(
        stacks
            .keys()
            .map(ToString::to_string)
            .collect::<BTreeSet<_>>(),
        expected
    );
    for name in crates() {
        let id = logical_id(&name);
        let timeout = template["Resources"][&id]["Properties"]["Timeout"]
            .as_u64()
            .expect("seconds");
        let told = &stacks[format!("{id}Alarms").as_str()]["Parameters"];
        assert_eq!(told["Service"], json!({ "Ref": "Service" }));
        assert_eq!(told["Operation"], json!(name));
        if name == "create-submission" {
            assert_eq!(told["SlowMs"], json!({ "Ref": "EntrySlowMs" }));
        } else {
            let slow = told["SlowMs"].as_u64().expect("milliseconds");
            assert!(
                slow < timeout * 500,
                "{name} is slow long before it is cut off"
            );
        }
        // Only API functions reply with a status.
        let is_api = told.get("IsApi").is_some_and(|is_api| is_api == "true");
        assert_eq!(is_api, has_server_errors(&name), "{name}");
    }
}

/// True if a function has the alarm for server errors, as the API's have.
pub(super) fn has_server_errors(function: &str) -> bool {
    function == "api-docs" || ROUTES.iter().any(|route| route.function == function)
}

fn alarms() -> BTreeMap<String, Value> {
    let files = ["template.yaml", "function.yaml", "campaign.yaml"];
    let templates = files.map(|file| parse(&file_text(&format!("infra/stack/monitoring/{file}"))));
    let all = templates
        .iter()
        .flat_map(|template| resources(template, "AWS::CloudWatch::Alarm"));
    all.map(|(_, alarm)| {
        (
            text_of(&alarm["AlarmName"]["Fn::Sub"]).to_owned(),
            alarm.clone(),
        )
    })
    .collect()
}

/// Metrics of an alarm's expression, or its only one.
fn metrics(alarm: &Value) -> Vec<&Value> {
    match alarm["Metrics"].as_array() {
        Some(parts) => parts
            .iter()
            .filter_map(|part| part.pointer("/MetricStat/Metric"))
            .collect(),
        None => vec![alarm],
    }
}

fn dimensions(metric: &Value) -> &Vec<Value> {
    list_of(&metric["Dimensions"])
}

fn is_own(metric: &Value) -> bool {
    metric["Namespace"] == "CampaignEntryService"
}

#[test]
fn every_alarm_counts_its_own_stack_alone() {
    let stack = json!({ "Name": "service", "Value": { "Ref": "Service" } });
    for (name, alarm) in alarms() {
        for metric in metrics(&alarm).into_iter().filter(|metric| is_own(metric)) {
            assert!(dimensions(metric).contains(&stack), "{name}");
        }
        assert!(name.starts_with("${Service}-"), "{name}");
    }
}

fn widgets() -> Vec<Value> {
    let monitoring = parse(&file_text("infra/stack/monitoring/template.yaml"));
    let body =
        monitoring["Resources"]["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"].as_str();
    let body = parse_json(body.expect("a dashboard"));
    list_of(&body["widgets"]).clone()
}

/// Metric and names of dimensions.
type Counted = (String, BTreeSet<String>);

/// Functions' own metrics in the templates.
fn metrics_in_templates() -> BTreeSet<Counted> {
    let mut found = BTreeSet::new();
    for alarm in alarms().values() {
        for metric in metrics(alarm).into_iter().filter(|metric| is_own(metric)) {
            let names = dimensions(metric).iter().map(|one| &one["Name"]);
            found.insert((
                text_of(&metric["MetricName"]).to_owned(),
                names
                    .map(|name| name.as_str().expect("a name").to_owned())
                    .collect(),
            ));
        }
    }
    for widget in widgets() {
        let mut above = Vec::new();
        for metric in list_of(&widget["properties"]["metrics"]) {
            if let Some(search) = metric[0]["expression"].as_str() {
                found.extend(searched(search));
            } else if metric[0] != "..." {
                above = row(metric, &above);
                if above[0] == "CampaignEntryService" {
                    found.insert((
                        above[1].clone(),
                        above[2..].iter().step_by(2).cloned().collect(),
                    ));
                }
            }
        }
    }
    found
}

/// A widget's metric: namespace, name, dimensions and values. A dot repeats what is above.
fn row(metric: &Value, above: &[String]) -> Vec<String> {
    let cells = metric
        .as_array()
        .expect("a metric")
        .iter()
        .filter_map(Value::as_str)
        .enumerate();
    cells
        .map(|(place, cell)| {
            if cell == "." {
                above[place].clone()
            } else {
                cell.to_owned()
            }
        })
        .collect()
}

/// Metrics that a search expression finds.
fn searched(search: &str) -> Vec<Counted> {
    let schema = search
        .split_once("{CampaignEntryService,")
        .and_then(|(_, rest)| rest.split_once('}'));
    let Some((dimensions, rest)) = schema else {
        return Vec::new();
    };
    let dimensions: BTreeSet<_> = dimensions.split(',').map(str::to_owned).collect();
    let names = rest
        .split("MetricName=\"")
        .skip(1)
        .filter_map(|rest| rest.split_once('"'));
    names
        .map(|(name, _)| (name.to_owned(), dimensions.clone()))
        .collect()
}

/// Stands for metrics that lines have only sometimes.
const OWN: &str = "own";

/// Dimensions that log lines declare for each metric.
fn declared() -> BTreeMap<String, BTreeSet<BTreeSet<String>>> {
    let (at, ids) = (
        Timestamp::from_millis(0),
        RequestIds {
            request: "r-1".to_owned(),
            gateway: None,
        },
    );
    let scope = |environment| Scope {
        campaign: "demo".parse().expect("a slug"),
        environment,
    };
    let (live, test) = (scope(Environment::Live), scope(Environment::Test));
    let mut lines = Vec::new();
    for (operation, scope) in [
        ("create-submission", Some(&live)),
        ("get-submission", Some(&live)),
        ("get-submission", Some(&test)),
        ("get-submission", None),
    ] {
        let request = RequestFields {
            ids: &ids,
            is_admitted: scope.is_some(),
            is_entry: operation == "create-submission",
            key_id: None,
            reference: None,
            status: 500,
        };
        let line = LogLine {
            at,
            duration_ms: 4,
            function: operation,
            scope,
            subject: None,
            outcome: Some("internal_error"),
            metrics: &[(OWN, 1)],
            error_chain: &[],
            request: Some(request),
        };
        lines.push(line.to_json("stack").expect("JSON"));
    }
    let job = LogLine {
        at,
        duration_ms: 4,
        function: "sweep-unsettled",
        scope: None,
        subject: None,
        outcome: Some("swept"),
        metrics: &[(OWN, 1)],
        error_chain: &[],
        request: None,
    };
    lines.push(job.to_json("stack").expect("JSON"));
    let mut declared: BTreeMap<String, BTreeSet<BTreeSet<String>>> = BTreeMap::new();
    for line in lines {
        let line = parse_json(&line);
        for part in list_of(&line["_aws"]["CloudWatchMetrics"]) {
            let sets: Vec<BTreeSet<String>> =
                serde_json::from_value(part["Dimensions"].clone()).expect("sets of names");
            for metric in list_of(&part["Metrics"]) {
                let name = text_of(&metric["Name"]).to_owned();
                assert!(
                    line[&name].is_number(),
                    "{name} is declared without a value"
                );
                declared
                    .entry(name)
                    .or_default()
                    .extend(sets.iter().cloned());
            }
        }
    }
    declared
}

/// Other dimensions are another metric, without data.
#[test]
fn alarmed_and_shown_metrics_have_dimensions_of_log_lines() {
    let declared = declared();
    for (name, dimensions) in metrics_in_templates() {
        let sets = declared.get(&name).unwrap_or(&declared[OWN]);
        assert!(
            sets.contains(&dimensions),
            "{name} by {dimensions:?} is not one of {sets:?}"
        );
    }
}

/// Adds a folder's code without its tests.
fn read_code(folder: &Path, code: &mut String) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let is_test = path
            .file_stem()
            .is_some_and(|stem| stem.to_string_lossy().ends_with("tests"));
        if path.is_dir() {
            read_code(&path, code);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test {
            let text = std::fs::read_to_string(&path).expect("text");
            code.push_str(text.split("mod tests {").next().unwrap_or_default());
        }
    }
}

fn code_of(function: &str) -> String {
    let mut code = String::new();
    let folder = format!("{}/../functions/{function}/src", env!("CARGO_MANIFEST_DIR"));
    read_code(Path::new(&folder), &mut code);
    code
}

/// An alarm on an unknown metric stays silent, or rings without end.
#[test]
fn alarmed_and_shown_metrics_are_written_by_functions() {
    let mut code: String = crates().iter().map(|function| code_of(function)).collect();
    read_code(
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../common/src")),
        &mut code,
    );
    let names: BTreeSet<_> = metrics_in_templates()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    let unknown: Vec<_> = names
        .iter()
        .filter(|name| !code.contains(&format!("\"{name}\"")))
        .collect();
    assert_eq!(unknown, [""; 0]);
    // Of an alarm, of a part of one, of a search, and after a dot.
    for name in [
        "OldestDueSeconds",
        "KeyRefused",
        "Steps",
        "CountingTransactions",
    ] {
        assert!(names.contains(name), "{name}");
    }
}

#[test]
fn the_dashboard_sets_pre_checks_against_entry_requests() {
    let all = widgets();
    let ratio = |widget: &&Value| {
        widget["properties"]["title"]
            .as_str()
            .is_some_and(|title| title.starts_with("Pre-checks"))
    };
    let shown = &all.iter().find(ratio).expect("a widget")["properties"];
    assert_eq!(shown["period"], 3600);
    assert_eq!(shown["stat"], "Sum");
    let stack = json!("${Service}");
    assert_eq!(
        shown["metrics"],
        json!([
            [{ "expression": "FILL(checks, 0) / entries", "label": "Pre-checks for each entry request", "id": "ratio" }],
            [
                "CampaignEntryService", "Requests", "service", stack, "operation", "check-code",
                { "id": "checks", "visible": false },
            ],
            ["...", "create-submission", { "id": "entries", "visible": false }],
        ])
    );
    for operation in ["check-code", "create-submission"] {
        assert!(
            crates().iter().any(|function| function == operation),
            "{operation}"
        );
    }
}

fn expression(alarm: &Value) -> &str {
    let last = alarm["Metrics"]
        .as_array()
        .and_then(|parts| parts.last())
        .expect("an expression");
    text_of(&last["Expression"])
}

#[test]
fn guesses_are_a_share_of_the_requests_that_can_be_guesses() {
    let alarms = alarms();
    let functions = crates();
    // The words show that a function's code can count the metric.
    for (name, metric, words, expected) in [
        (
            "${Service}-code-guessing",
            "WrongCode",
            [".with_outcome(submission.status", "\"usable\""],
            "IF(wrong >= 100, 100 * wrong / (FILL(entries, 0) + FILL(checks, 0)), 0)",
        ),
        (
            "${Service}-guesses-throttled",
            "RateLimited",
            ["request_limits::enforce", "MessageKey::RateLimited"],
            "IF(slowed >= 50, 100 * slowed / (FILL(entries, 0) + FILL(checks, 0) + FILL(lookups, 0)), 0)",
        ),
    ] {
        let (guesses, tries): (Vec<_>, Vec<_>) = metrics(&alarms[name])
            .into_iter()
            .partition(|part| part["MetricName"] == metric);
        assert_eq!(guesses.len(), 1, "{name}");
        assert!(
            tries
                .iter()
                .all(|part| part["MetricName"] == "LiveRequests"),
            "{name}"
        );
        let counted = tries
            .iter()
            .map(|part| text_of(&dimensions(part)[1]["Value"]));
        let counting = functions.iter().map(String::as_str).filter(|function| {
            let code = code_of(function);
            words.iter().any(|word| code.contains(word))
        });
        assert_eq!(
            counted.collect::<BTreeSet<_>>(),
            counting.collect::<BTreeSet<_>>(),
            "{name}"
        );
        assert_eq!(expression(&alarms[name]), expected);
    }
}

/// A canary fails its tenth of twenty calls a minute: 20 errors in 200 calls.
#[test]
fn failing_canary_is_noticed_in_its_ten_minutes() {
    let template = service();
    let alarm = &alarms()["${Service}-${Operation}-server-errors"];
    let parts = list_of(&alarm["Metrics"]).iter();
    let periods = parts
        .filter_map(|part| part.pointer("/MetricStat/Period"))
        .collect::<Vec<_>>();
    let canary = &template["Globals"]["Function"]["DeploymentPreference"]["Type"]["Fn::If"][1];
    assert_eq!(
        (periods, canary),
        (vec![&json!(600); 2], &json!("Canary10Percent10Minutes"))
    );
    assert_eq!(expression(alarm), "IF(failed >= 3, 100 * failed / all, 0)");
    assert_eq!(alarm["ComparisonOperator"], "GreaterThanOrEqualToThreshold");
    assert_eq!(alarm["EvaluationPeriods"], 1);
    assert_eq!(alarm["TreatMissingData"], "notBreaching");
    let threshold = alarm["Threshold"].as_u64().expect("percent");
    let rings = |failed: u64, all: u64| failed >= 3 && 100 * failed >= threshold * all;
    assert!(rings(20, 200), "the whole canary");
    assert!(
        rings(10, 200),
        "half of it, when the window still reaches back before it"
    );
    assert!(!rings(2, 2) && !rings(9, 200));
}
