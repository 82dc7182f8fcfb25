//! Routes, tables, variables and events are in both template and code.

mod alarms;
mod deploying;
mod storage;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use check_code::CheckCode;
use common::app::job::EventContext;
use common::clock::Clock;
use common::config::{ConfigError, Env};
use common::domain::settling::{MAX_CLOCK_DIFFERENCE, STEP_LEASE};
use common::domain::webhook::Delivery;
use common::http::routes::ROUTES;
use common::runtime::event_handler::EventHandler;
use common::runtime::http_handler::{ApiHandler, AppContext, Endpoint, Responder};
use common::telemetry::Telemetry;
use count_changes::CountChanges;
use create_receipt::CreateReceipt;
use create_submission::CreateSubmission;
use deliver_events::DeliverEvents;
use get_campaign::GetCampaign;
use get_receipt::GetReceipt;
use get_submission::GetSubmission;
use local::tables::TABLES;
use local::workers::DELIVERING;
use lookup_submissions::LookupSubmissions;
use mark_receipt_uploaded::MarkReceiptUploaded;
use publish_events::PublishEvents;
use refresh_upload_url::RefreshUploadUrl;
use serde_json::json;
use service_tests::template::{assert_has, file_text, logical_id, resources, service};
use service_tests::text::{len_of, parse_json, text_of};
use settle_partners::SettlePartners;
use settle_receipts::SettleReceipts;
use sweep_unsettled::SweepUnsettled;

/// API Gateway's integration timeout, in seconds.
const API_LIMIT: u64 = 30;

fn crates() -> BTreeSet<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../functions");
    let names = std::fs::read_dir(folder)
        .expect("the functions")
        .map(|entry| entry.expect("a folder").file_name());
    names
        .map(|name| name.into_string().expect("text"))
        .collect()
}

#[test]
fn each_function_crate_is_deployed_with_its_own_role_and_logs() {
    let template = service();
    let roles: BTreeMap<_, _> = resources(&template, "AWS::IAM::Role").collect();
    let functions = resources(&template, "AWS::Serverless::Function");
    let expected: BTreeSet<_> = crates().iter().map(|name| logical_id(name)).collect();
    assert_eq!(
        functions
            .map(|(id, _)| id.to_owned())
            .collect::<BTreeSet<_>>(),
        expected
    );
    for name in crates() {
        let id = logical_id(&name);
        let expected = json!({
            "Metadata": { "BuildMethod": "rust-cargolambda" },
            // A rollout heeds existing alarms only.
            "DependsOn": "Monitoring",
            "Properties": {
                "CodeUri": format!("functions/{name}/"),
                "FunctionName": { "Fn::Sub": format!("${{AWS::StackName}}-{name}") },
                "Role": { "Fn::GetAtt": format!("{id}Role.Arn") },
                "LoggingConfig": { "LogGroup": { "Ref": format!("{id}Logs") } },
            },
        });
        assert_has(&template["Resources"][&id], &expected, &name);
        let role = roles[format!("{id}Role").as_str()];
        assert_eq!(len_of(&role["Policies"]), 1, "{id}");
        assert_eq!(role.get("ManagedPolicyArns"), None, "{id}");
    }
}

#[test]
fn unknown_routes_go_to_the_docs_and_others_to_their_code() {
    let template = service();
    let mut expected: BTreeMap<_, _> = ROUTES
        .iter()
        .map(|route| {
            (
                format!("{}Route", logical_id(route.function)),
                format!("{} {}", route.method, route.path),
            )
        })
        .collect();
    expected.insert("ApiDocsRoute".to_owned(), "$default".to_owned());
    let routes: BTreeMap<_, _> = resources(&template, "AWS::ApiGatewayV2::Route")
        .map(|(id, route)| (id.to_owned(), text_of(&route["RouteKey"]).to_owned()))
        .collect();
    assert_eq!(routes, expected);
    for (route, key) in &expected {
        let function = route.trim_end_matches("Route");
        let alias = json!({ "Ref": format!("{function}.Alias") });
        let api = "arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${Api}";
        let api = json!({ "ApiArn": { "Fn::Sub": api } });
        let called = key.replacen(' ', "", 1).replace("{id}", "*");
        for (part, properties) in [
            (
                "Route",
                json!({ "Target": { "Fn::Sub": format!("integrations/${{{function}Integration}}") } }),
            ),
            (
                "Integration",
                json!({ "IntegrationUri": alias, "PayloadFormatVersion": "2.0" }),
            ),
            (
                "Permission",
                json!({ "FunctionName": alias, "SourceArn": { "Fn::Sub": [format!("${{ApiArn}}/*/{called}"), api] } }),
            ),
        ] {
            let id = format!("{function}{part}");
            assert_has(&template["Resources"][&id]["Properties"], &properties, &id);
        }
    }
}

#[test]
fn indexes_are_as_warm_as_their_tables() {
    let template = service();
    for (id, table) in resources(&template, "AWS::DynamoDB::Table") {
        for index in table["GlobalSecondaryIndexes"]
            .as_array()
            .into_iter()
            .flatten()
        {
            assert_eq!(
                index.get("WarmThroughput"),
                table.get("WarmThroughput"),
                "{id}"
            );
        }
    }
}

fn connect(name: &str, env: Env) -> Result<(), ConfigError> {
    fn serve<O: Endpoint>(env: Env) -> Result<(), ConfigError> {
        let frame = Responder::from_env(&env, Clock::system(), Telemetry::Off)?;
        ApiHandler::<O>::new(AppContext::new(env, frame)?).map(drop)
    }
    fn work<F: EventHandler>(env: Env) -> Result<(), ConfigError> {
        F::connect(&EventContext::new(env, Clock::system(), Telemetry::Off)?).map(drop)
    }
    match name {
        "check-code" => serve::<CheckCode>(env),
        "count-changes" => work::<CountChanges>(env),
        "create-receipt" => serve::<CreateReceipt>(env),
        "create-submission" => serve::<CreateSubmission>(env),
        "deliver-events" => work::<DeliverEvents>(env),
        "publish-events" => work::<PublishEvents>(env),
        "api-docs" => Responder::from_env(&env, Clock::system(), Telemetry::Off).map(drop),
        "get-campaign" => serve::<GetCampaign>(env),
        "get-receipt" => serve::<GetReceipt>(env),
        "get-submission" => serve::<GetSubmission>(env),
        "lookup-submissions" => serve::<LookupSubmissions>(env),
        "mark-receipt-uploaded" => work::<MarkReceiptUploaded>(env),
        "refresh-upload-url" => serve::<RefreshUploadUrl>(env),
        "settle-partners" => work::<SettlePartners>(env),
        "settle-receipts" => work::<SettleReceipts>(env),
        "sweep-unsettled" => work::<SweepUnsettled>(env),
        other => panic!("{other} is a function that is not known here"),
    }
}

#[test]
fn each_function_is_given_the_variables_that_it_reads() {
    let template = service();
    for name in crates() {
        let variables =
            template["Resources"][logical_id(&name)]["Properties"]["Environment"]["Variables"]
                .clone();
        let given: BTreeSet<_> = variables
            .as_object()
            .expect("variables")
            .keys()
            .cloned()
            .collect();
        let env = |without: Option<&str>| -> Env {
            let own = given
                .iter()
                .filter(|variable| Some(variable.as_str()) != without)
                .map(|variable| {
                    let value = match variable.as_str() {
                        "STAGE" => "production",
                        variable if variable.ends_with("_URL") => "https://example.com",
                        _ => "some-name",
                    };
                    (variable.clone(), value.to_owned())
                });
            let lambda = ["AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
            own.chain(lambda.map(|variable| (variable.to_owned(), "from-lambda".to_owned())))
                .collect()
        };
        connect(&name, env(None)).unwrap_or_else(|error| panic!("{name}: {error}"));
        for variable in &given {
            let missed = connect(&name, env(Some(variable)));
            assert!(
                matches!(&missed, Err(ConfigError::Missing(missing)) if missing == variable),
                "{name} does not read {variable}: {missed:?}"
            );
        }
        let photos = match name.as_str() {
            // The bucket depends on this function.
            "mark-receipt-uploaded" => {
                template["Resources"]["Photos"]["Properties"]["BucketName"].clone()
            }
            _ => json!({ "Ref": "Photos" }),
        };
        let others = [
            ("TAX_QUEUE_URL", json!({ "Ref": "TaxWork" })),
            ("PARTNER_QUEUE_URL", json!({ "Ref": "PartnerWork" })),
            ("EVENT_QUEUE_URL", json!({ "Ref": "EventWork" })),
            ("DEPLOYMENT_SECRET_ID", json!({ "Ref": "DeploymentSecret" })),
            ("MOMENTS_SECRET_ID", json!({ "Ref": "MomentsSecret" })),
            (
                "PARTNER_SECRETS_PREFIX",
                json!({ "Fn::Sub": "${AWS::StackName}/" }),
            ),
            ("STAGE", json!({ "Ref": "Stage" })),
            ("PHOTOS_BUCKET", photos),
        ];
        let tables = TABLES.iter().map(|table| {
            let id = logical_id(&table.name.replace('_', "-"));
            (table.variable, json!({ "Ref": format!("{id}Table") }))
        });
        for (variable, expected) in tables.chain(others) {
            if let Some(value) = variables.get(variable) {
                assert_eq!(*value, expected, "{name}: {variable}");
            }
        }
    }
}

#[test]
fn the_background_hears_of_photos_queues_and_the_clock() {
    let template = service();
    let properties = |id: &str| &template["Resources"][id]["Properties"];
    let seconds = |id: &str, name: &str| properties(id)[name].as_u64().expect("seconds");
    let told = &properties("Photos")["NotificationConfiguration"]["LambdaConfigurations"];
    let marker = json!({ "Event": "s3:ObjectCreated:Put", "Function": { "Ref": "MarkReceiptUploaded.Alias" } });
    assert_eq!(*told, json!([marker]));
    assert_eq!(
        properties("MarkReceiptUploadedPermission")["Principal"],
        "s3.amazonaws.com"
    );

    assert_eq!(template["Parameters"]["PartnerConcurrency"]["Default"], 10);
    for (function, queue, concurrency) in [
        ("SettleReceipts", "TaxWork", json!(2)),
        (
            "SettlePartners",
            "PartnerWork",
            json!({ "Ref": "PartnerConcurrency" }),
        ),
    ] {
        let timeout = seconds(function, "Timeout");
        let latest_end = Duration::from_secs(timeout) + MAX_CLOCK_DIFFERENCE;
        assert!(
            latest_end < STEP_LEASE,
            "a step must end before another clock lets it start again"
        );
        let events = &properties(function)["Events"];
        assert_eq!(events.as_object().map(serde_json::Map::len), Some(1));
        let expected = json!({
            "Queue": { "Fn::GetAtt": format!("{queue}.Arn") },
            "BatchSize": 1,
            "FunctionResponseTypes": ["ReportBatchItemFailures"],
            "ScalingConfig": { "MaximumConcurrency": concurrency },
        });
        assert_has(&events[queue]["Properties"], &expected, queue);
        assert!(
            seconds(queue, "VisibilityTimeout") >= 6 * timeout,
            "{queue}"
        );
        let dead_letters = json!({ "Fn::GetAtt": format!("{queue}DeadLetters.Arn") });
        assert_eq!(
            properties(queue)["RedrivePolicy"]["deadLetterTargetArn"],
            dead_letters
        );
    }
    let every_minute = &properties("SweepUnsettled")["Events"]["EveryMinute"]["Properties"];
    assert_eq!(every_minute["Schedule"], "rate(1 minute)");
    assert!(
        seconds("SweepUnsettled", "Timeout") < 60,
        "sweeps must not overlap"
    );
    for route in ROUTES {
        let timeout = seconds(&logical_id(route.function), "Timeout");
        assert!(timeout < API_LIMIT, "{}", route.function);
    }
}

#[test]
fn streams_are_counted_whole_and_in_the_order_of_their_shards() {
    let template = service();
    let events = &template["Resources"]["CountChanges"]["Properties"]["Events"];
    let events = events.as_object().expect("events");
    let streamed = TABLES.iter().filter(|table| table.has_stream);
    let expected: BTreeSet<_> = streamed.map(|table| logical_id(table.name)).collect();
    assert_eq!(events.keys().cloned().collect::<BTreeSet<_>>(), expected);
    for (name, event) in events {
        let expected = json!({
            "Stream": { "Fn::GetAtt": format!("{name}Table.StreamArn") },
            "StartingPosition": "TRIM_HORIZON",
            "ParallelizationFactor": 1,
            "TumblingWindowInSeconds": 900,
            "MaximumBatchingWindowInSeconds": 30,
            "BisectBatchOnFunctionError": true,
            "FunctionResponseTypes": ["ReportBatchItemFailures"],
            "DestinationConfig": {
                "OnFailure": { "Type": "SQS", "Destination": { "Fn::GetAtt": "FailedEvents.Arn" } },
            },
        });
        assert_has(&event["Properties"], &expected, name);
    }
}

#[test]
fn changes_with_webhooks_are_published_and_delivered() {
    let template = service();
    let properties = |id: &str| &template["Resources"][id]["Properties"];
    let events = &properties("PublishEvents")["Events"];
    assert_eq!(events.as_object().map(serde_json::Map::len), Some(1));
    let pattern = r#"{"dynamodb":{"NewImage":{"notify":{"BOOL":[true]}}}}"#;
    let expected = json!({
        "Stream": { "Fn::GetAtt": "SubmissionsTable.StreamArn" },
        "StartingPosition": "TRIM_HORIZON",
        "BatchSize": 100,
        "MaximumBatchingWindowInSeconds": 1,
        "BisectBatchOnFunctionError": true,
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "FilterCriteria": { "Filters": [{ "Pattern": pattern }] },
        "DestinationConfig": {
            "OnFailure": { "Type": "SQS", "Destination": { "Fn::GetAtt": "FailedEvents.Arn" } },
        },
    });
    assert_has(&events["Submissions"]["Properties"], &expected, "published");
    let events = &properties("DeliverEvents")["Events"];
    let expected = json!({
        "Queue": { "Fn::GetAtt": "EventWork.Arn" },
        "BatchSize": DELIVERING.batch_size,
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "ScalingConfig": { "MaximumConcurrency": DELIVERING.concurrency },
    });
    assert_has(&events["EventWork"]["Properties"], &expected, "delivered");
    let seconds = |id: &str, name: &str| properties(id)[name].as_u64().expect("seconds");
    let timeout = seconds("DeliverEvents", "Timeout");
    assert!(seconds("EventWork", "VisibilityTimeout") >= 6 * timeout);
    let latest_end = Duration::from_secs(timeout) + MAX_CLOCK_DIFFERENCE;
    assert!(latest_end < Delivery::LEASE, "a try ends before its lease");
}

#[test]
fn an_output_is_the_env_file_of_ops() {
    let template = service();
    let output = text_of(&template["Outputs"]["OpsEnvironment"]["Value"]["Fn::Sub"][0]);
    let file = parse_json(output);
    let given = file["env"].as_object().expect("variables");
    for table in TABLES.iter() {
        let id = format!("{}Table", logical_id(&table.name.replace('_', "-")));
        assert_eq!(given[table.variable], json!(format!("${{{id}}}")));
    }
    let others = given
        .keys()
        .filter(|name| TABLES.iter().all(|table| table.variable != name.as_str()));
    let named = [
        "AWS_REGION",
        "DEPLOYMENT_SECRET_ID",
        "DOCS_URL",
        "EVENT_QUEUE_URL",
        "EVIDENCE_BUCKET",
        "MOMENTS_SECRET_ID",
        "OPENINGS_BUCKET",
        "PARTNER_CONCURRENCY",
        "PARTNER_QUEUE_URL",
        "PHOTOS_BUCKET",
        "STAGE",
        "TAX_AUTHORITY_URL",
        "TAX_QUEUE_URL",
    ];
    assert_eq!(
        others.map(String::as_str).collect::<BTreeSet<_>>(),
        BTreeSet::from(named)
    );
    assert_eq!(given["PARTNER_CONCURRENCY"], "${PartnerConcurrency}");
}

/// All codes are invalid without the secret.
#[test]
fn deployments_secret_is_made_once_stays_and_is_printed_nowhere() {
    let template = service();
    let stack =
        json!({ "Id": { "Fn::Select": [2, { "Fn::Split": ["/", { "Ref": "AWS::StackId" }] }] } });
    let expected = json!({
        "DeletionPolicy": "RetainExceptOnCreate",
        "UpdateReplacePolicy": "Retain",
        // A change here generates another secret.
        "Properties": {
            "Name": { "Fn::Sub": ["${AWS::StackName}/deployment-${Id}", stack] },
            "GenerateSecretString": { "PasswordLength": 64, "ExcludePunctuation": true },
        },
    });
    let secret = &template["Resources"]["DeploymentSecret"];
    assert_has(secret, &expected, "the secret");
    assert_lacks!(file_text("template.yaml"), "resolve:secretsmanager");
}

#[test]
fn functions_are_published_in_versions_and_taken_back_by_alarms() {
    let template = service();
    let expected = json!({
        "AutoPublishAlias": "live",
        "Environment": { "Variables": { "SERVICE": { "Ref": "AWS::StackName" } } },
        "DeploymentPreference": {
            "Type": { "Fn::If": ["IsGradual", "Canary10Percent10Minutes", "AllAtOnce"] },
        },
    });
    assert_has(&template["Globals"]["Function"], &expected, "Globals");
    for name in crates() {
        let named = |alarm: &str| json!({ "Fn::Sub": format!("${{AWS::StackName}}-{alarm}") });
        let mut heeded = vec![named("api-errors"), named(&format!("{name}-errors"))];
        heeded.extend(
            alarms::has_server_errors(&name).then(|| named(&format!("{name}-server-errors"))),
        );
        let expected = json!({
            "AutoPublishCodeSha256": { "Ref": "Release" },
            "DeploymentPreference": {
                "Alarms": { "Fn::If": ["HeedsAlarms", heeded, [{ "Ref": "AWS::NoValue" }]] },
            },
        });
        let function = &template["Resources"][logical_id(&name)]["Properties"];
        assert_has(function, &expected, &name);
    }
}

#[test]
fn a_table_is_warm_as_aws_takes_it_or_not_at_all() {
    let units = &service()["Parameters"]["WarmWriteUnits"];
    let schema = json!({ "pattern": units["AllowedPattern"] });
    let is_taken = |units: &str| jsonschema::is_valid(&schema, &json!(units));
    for (units, expected) in [
        ("0", true),
        ("1", false),
        ("3999", false),
        ("4000", true),
        ("15000", true),
        ("40000", true),
        ("40001", false),
    ] {
        assert_eq!(is_taken(units), expected, "{units}");
    }
}
