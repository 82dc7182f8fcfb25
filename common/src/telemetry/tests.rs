use serde_json::{Value, json};

use super::*;
use crate::domain::Environment;

fn ids_of(gateway: Option<&str>) -> RequestIds {
    RequestIds {
        request: "r-1".to_owned(),
        gateway: gateway.map(str::to_owned),
    }
}

fn demo(environment: Environment) -> Scope {
    let campaign = "demo".parse().expect("a slug");
    Scope {
        campaign,
        environment,
    }
}

/// An entry in a live campaign.
fn entry<'a>(ids: &'a RequestIds, scope: &'a Scope) -> LogLine<'a> {
    LogLine {
        at: Timestamp::from_millis(1_767_214_800_007),
        duration_ms: 4,
        function: "create-submission",
        scope: Some(scope),
        subject: Some("s-1"),
        outcome: Some("entered"),
        metrics: &[],
        error_chain: &[],
        request: Some(RequestFields {
            ids,
            is_admitted: true,
            is_entry: true,
            key_id: Some("abc"),
            reference: Some("K7MP-2QXD"),
            status: 200,
        }),
    }
}

fn json_of(line: &LogLine<'_>) -> Value {
    serde_json::from_str(&line.to_json("stack").expect("JSON")).expect("JSON")
}

fn with<'a>(line: LogLine<'a>, change: impl FnOnce(&mut RequestFields<'a>)) -> LogLine<'a> {
    let mut request = line.request.clone().expect("a request");
    change(&mut request);
    LogLine {
        request: Some(request),
        ..line
    }
}

#[test]
fn the_line_of_a_job_counts_what_it_names() {
    let line = LogLine {
        at: Timestamp::from_millis(1_767_214_800_007),
        duration_ms: 4,
        function: "sweep-unsettled",
        scope: None,
        subject: None,
        outcome: Some("swept"),
        metrics: &[("Due", 3)],
        error_chain: &[],
        request: None,
    };
    let text = json_of(&line);
    assert_eq!(
        (&text["Due"], &text["Steps"], &text["outcome"]),
        (&json!(3), &json!(1), &json!("swept"))
    );
    let counted = |by: &[&str], metrics: Value| json!({ "Namespace": "CampaignEntryService", "Dimensions": [by], "Metrics": metrics });
    let steps = json!({ "Name": "Steps", "Unit": "Count" });
    let expected = json!([
        counted(
            &["service", "operation"],
            json!([steps, { "Name": "Duration", "Unit": "Milliseconds" }])
        ),
        counted(&["service"], json!([{ "Name": "Due" }])),
        counted(&["service", "operation", "outcome"], json!([steps])),
    ]);
    assert_eq!(text["_aws"]["CloudWatchMetrics"], expected);
    assert_eq!(text["service"], "stack");
    assert_eq!(text.get("campaign"), None);
    assert_eq!(
        line.for_terminal(),
        "21:00:00.007Z --- sweep-unsettled swept Due=3 4 ms"
    );
}

#[test]
fn a_line_is_a_log_and_a_counter_in_one() {
    let scope = demo(Environment::Live);
    let ids = ids_of(Some("g-1"));
    let line = LogLine {
        metrics: &[("BreakerOpened", 1)],
        ..entry(&ids, &scope)
    };
    let text = json_of(&line);
    assert_eq!(
        text,
        json!({
            "timestamp": "2025-12-31T21:00:00.007Z", "level": "INFO", "message": "request",
            "request_id": "r-1", "gateway_request_id": "g-1", "service": "stack",
            "operation": "create-submission", "campaign": "demo",
            "environment": "live", "key_id": "abc", "subject": "s-1", "reference": "K7MP-2QXD",
            "status": 200, "outcome": "entered",
            "Requests": 1, "Duration": 4, "LiveRequests": 1, "BreakerOpened": 1,
            "_aws": {
                "Timestamp": 1_767_214_800_007_i64,
                "CloudWatchMetrics": [
                    {
                        "Namespace": "CampaignEntryService",
                        "Dimensions": [["service", "operation"]],
                        "Metrics": [
                            { "Name": "Requests", "Unit": "Count" },
                            { "Name": "Duration", "Unit": "Milliseconds" },
                        ],
                    },
                    {
                        "Namespace": "CampaignEntryService",
                        "Dimensions": [["service"]],
                        "Metrics": [{ "Name": "BreakerOpened" }],
                    },
                    {
                        "Namespace": "CampaignEntryService",
                        "Dimensions": [["service", "operation"]],
                        "Metrics": [{ "Name": "LiveRequests", "Unit": "Count" }],
                    },
                    {
                        "Namespace": "CampaignEntryService",
                        "Dimensions": [["service", "campaign"], ["service", "campaign", "outcome"]],
                        "Metrics": [{ "Name": "Requests", "Unit": "Count" }],
                    },
                ],
            },
        })
    );
}

#[test]
fn a_line_on_a_terminal_has_the_time_the_id_and_the_reference() {
    let scope = demo(Environment::Live);
    let ids = ids_of(None);
    assert_eq!(
        entry(&ids, &scope).for_terminal(),
        "21:00:00.007Z 200 create-submission demo live entered 4 ms id=s-1 ref=K7MP-2QXD request=r-1"
    );
}

/// Dimensions beyond the function's.
fn dimensions(
    function: &str,
    environment: Option<Environment>,
    outcome: Option<&str>,
) -> Vec<Value> {
    let scope = environment.map(demo);
    let ids = ids_of(None);
    let line = LogLine {
        at: Timestamp::from_millis(0),
        duration_ms: 4,
        function,
        scope: scope.as_ref(),
        subject: None,
        outcome,
        metrics: &[],
        error_chain: &[],
        request: Some(RequestFields {
            ids: &ids,
            is_admitted: false,
            is_entry: function == "create-submission",
            key_id: None,
            reference: None,
            status: 200,
        }),
    };
    let beyond = line.declarations().into_iter().skip(1);
    beyond.map(|mut one| one["Dimensions"].take()).collect()
}

#[test]
fn a_campaign_is_counted_for_live_entry_attempts_alone() {
    let attempt = json!([["service", "campaign"], ["service", "campaign", "outcome"]]);
    for outcome in ["entered", "invalid", "validation_failed", "rate_limited"] {
        let counted = dimensions("create-submission", Some(Environment::Live), Some(outcome));
        assert_eq!(counted, std::slice::from_ref(&attempt), "{outcome}");
    }
    for (function, outcome) in [
        ("get-submission", "not_found"),
        ("check-code", "usable"),
        ("lookup-submissions", "rate_limited"),
    ] {
        let counted = dimensions(function, Some(Environment::Live), Some(outcome));
        assert_eq!(
            counted,
            [json!([["service", "campaign", "outcome"]])],
            "{function}"
        );
    }
}

#[test]
fn tests_and_requests_without_outcome_count_for_no_campaign() {
    let none = Vec::<Value>::new();
    assert_eq!(
        dimensions("get-submission", Some(Environment::Live), None),
        none
    );
    assert_eq!(
        dimensions(
            "create-submission",
            Some(Environment::Test),
            Some("entered")
        ),
        none
    );
    let refused = dimensions("create-submission", None, Some("key_unknown"));
    assert_eq!(refused, [json!([["service", "outcome"]])]);
}

#[test]
fn only_requests_that_a_live_key_admitted_can_be_guesses() {
    let ids = ids_of(None);
    let (live, test) = (demo(Environment::Live), demo(Environment::Test));
    let counted = |line: &LogLine<'_>| json_of(line)["LiveRequests"] == 1;
    assert!(counted(&entry(&ids, &live)));
    assert!(!counted(&entry(&ids, &test)));
    assert!(
        !counted(&with(entry(&ids, &live), |request| request.is_admitted = false)),
        "beyond the key's limit"
    );
    assert!(
        !counted(&LogLine {
            scope: None,
            ..with(entry(&ids, &live), |request| request.is_admitted = false)
        }),
        "no key"
    );
}

#[test]
fn status_500_or_higher_is_a_server_error_of_its_operation() {
    let ids = ids_of(None);
    for (status, counted) in [
        (200, json!(null)),
        (429, json!(null)),
        (500, json!(1)),
        (503, json!(1)),
    ] {
        let scope = demo(Environment::Test);
        let line = with(entry(&ids, &scope), |request| request.status = status);
        let text = json_of(&line);
        assert_eq!(text["ServerErrors"], counted, "{status}");
        let declared = &text["_aws"]["CloudWatchMetrics"][1];
        let expected = json!({
            "Namespace": "CampaignEntryService",
            "Dimensions": [["service", "operation"]],
            "Metrics": [{ "Name": "ServerErrors", "Unit": "Count" }],
        });
        assert_eq!(*declared == expected, counted == 1, "{declared}");
    }
}
