//! The deployment's template against the code: routes, tables, variables and events must be in both.

mod alarms;
mod deploying;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use check_code::CheckCode;
use common::app::job::EventContext;
use common::clock::Clock;
use common::config::{ConfigError, Env};
use common::domain::settling::{MAX_CLOCK_DIFFERENCE, STEP_LEASE};
use common::http::routes::ROUTES;
use common::runtime::event_handler::EventHandler;
use common::runtime::http_handler::{ApiHandler, AppContext, Endpoint, Responder};
use common::telemetry::Telemetry;
use count_changes::CountChanges;
use create_receipt::CreateReceipt;
use create_submission::CreateSubmission;
use get_campaign::GetCampaign;
use get_receipt::GetReceipt;
use get_submission::GetSubmission;
use local::tables::TABLES;
use lookup_submissions::LookupSubmissions;
use mark_receipt_uploaded::MarkReceiptUploaded;
use refresh_upload_url::RefreshUploadUrl;
use serde_json::{Value, json};
use service_tests::template::{logical_id, resources, service, text_of};
use settle_partners::SettlePartners;
use settle_receipts::SettleReceipts;
use sweep_unsettled::SweepUnsettled;

/// API Gateway's maximum integration timeout, in seconds.
const API_LIMIT: u64 = 30;

/// Names of the function crates.
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
fn there_is_a_function_for_each_crate_with_a_role_and_logs_of_its_own() {
    let template = service();
    let functions: BTreeMap<_, _> = resources(&template, "AWS::Serverless::Function").collect();
    let roles: BTreeMap<_, _> = resources(&template, "AWS::IAM::Role").collect();
    let expected: BTreeSet<_> = crates().iter().map(|name| logical_id(name)).collect();
    assert_eq!(
        functions
            .keys()
            .map(ToString::to_string)
            .collect::<BTreeSet<_>>(),
        expected
    );
    for name in crates() {
        let id = logical_id(&name);
        let function = functions[id.as_str()];
        assert_eq!(function["CodeUri"], json!(format!("functions/{name}/")));
        assert_eq!(
            function["FunctionName"],
            json!({ "Fn::Sub": format!("${{AWS::StackName}}-{name}") })
        );
        assert_eq!(
            function["Role"],
            json!({ "Fn::GetAtt": format!("{id}Role.Arn") })
        );
        assert_eq!(
            function["LoggingConfig"]["LogGroup"],
            json!({ "Ref": format!("{id}Logs") })
        );
        assert_eq!(
            template["Resources"][&id]["Metadata"]["BuildMethod"],
            "rust-cargolambda"
        );
        let role = roles[format!("{id}Role").as_str()];
        assert_eq!(role["Policies"].as_array().map(Vec::len), Some(1), "{id}");
        assert_eq!(role.get("ManagedPolicyArns"), None, "{id}");
    }
}

#[test]
fn unknown_routes_go_to_the_docs_and_others_to_their_code() {
    let template = service();
    let mut expected: BTreeSet<_> = ROUTES
        .iter()
        .map(|route| {
            (
                format!("{} {}", route.method, route.path),
                logical_id(route.function),
            )
        })
        .collect();
    expected.insert(("$default".to_owned(), "ApiDocs".to_owned()));
    let routes: BTreeSet<_> = resources(&template, "AWS::ApiGatewayV2::Route")
        .map(|(id, route)| {
            let function = id.strip_suffix("Route").expect("a route's name ends so");
            assert_eq!(
                route["Target"],
                json!({ "Fn::Sub": format!("integrations/${{{function}Integration}}") })
            );
            (
                route["RouteKey"].as_str().expect("text").to_owned(),
                function.to_owned(),
            )
        })
        .collect();
    assert_eq!(routes, expected);
    for (key, function) in &expected {
        let of = |part: &str| &template["Resources"][format!("{function}{part}")]["Properties"];
        let integration = of("Integration");
        assert_eq!(
            integration["IntegrationUri"],
            json!({ "Ref": format!("{function}.Alias") })
        );
        assert_eq!(integration["PayloadFormatVersion"], "2.0");
        let called = key.replacen(' ', "", 1).replace("{id}", "*");
        let api = "arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${Api}";
        let permission = of("Permission");
        assert_eq!(
            permission["SourceArn"],
            json!({ "Fn::Sub": format!("{api}/*/{called}") })
        );
        assert_eq!(
            permission["FunctionName"],
            json!({ "Ref": format!("{function}.Alias") })
        );
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
fn every_function_is_given_the_variables_that_it_reads_and_no_others() {
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
        // Each variable refers to the right resource.
        for (variable, value) in variables.as_object().expect("variables") {
            let table = TABLES.iter().find(|table| table.variable == variable);
            if let Some(table) = table {
                let id = format!("{}Table", logical_id(&table.name.replace('_', "-")));
                assert_eq!(*value, json!({ "Ref": id }), "{name}");
            }
            match variable.as_str() {
                "TAX_QUEUE_URL" => assert_eq!(*value, json!({ "Ref": "TaxWork" }), "{name}"),
                "PARTNER_QUEUE_URL" => {
                    assert_eq!(*value, json!({ "Ref": "PartnerWork" }), "{name}")
                }
                "DEPLOYMENT_SECRET_ID" => {
                    assert_eq!(*value, json!({ "Ref": "DeploymentSecret" }), "{name}")
                }
                "PARTNER_SECRETS_PREFIX" => {
                    assert_eq!(*value, json!({ "Fn::Sub": "${AWS::StackName}/" }), "{name}");
                }
                "STAGE" => assert_eq!(*value, json!({ "Ref": "Stage" }), "{name}"),
                "PHOTOS_BUCKET" if name == "mark-receipt-uploaded" => {
                    assert_eq!(
                        *value,
                        template["Resources"]["Photos"]["Properties"]["BucketName"]
                    );
                }
                "PHOTOS_BUCKET" => assert_eq!(*value, json!({ "Ref": "Photos" }), "{name}"),
                _ => {}
            }
        }
    }
}

#[test]
fn the_background_hears_of_photos_queues_and_the_clock() {
    let template = service();
    let of = |id: &str| &template["Resources"][id]["Properties"];
    let told = &of("Photos")["NotificationConfiguration"]["LambdaConfigurations"];
    let marker = json!({ "Event": "s3:ObjectCreated:Put", "Function": { "Ref": "MarkReceiptUploaded.Alias" } });
    assert_eq!(*told, json!([marker]));
    assert_eq!(
        of("MarkReceiptUploadedPermission")["Principal"],
        "s3.amazonaws.com"
    );

    for (function, queue, at_once) in [
        ("SettleReceipts", "TaxWork", ("ReceiptConcurrency", 2)),
        ("SettlePartners", "PartnerWork", ("PartnerConcurrency", 10)),
    ] {
        let settler = of(function);
        let timeout = settler["Timeout"].as_u64().expect("seconds");
        let latest_end = Duration::from_secs(timeout) + MAX_CLOCK_DIFFERENCE;
        assert!(
            latest_end < STEP_LEASE,
            "a step must end before another clock lets it start again"
        );
        assert_eq!(
            settler["Events"].as_object().map(serde_json::Map::len),
            Some(1),
            "{function}"
        );
        let event = &settler["Events"][queue]["Properties"];
        assert_eq!(
            event["Queue"],
            json!({ "Fn::GetAtt": format!("{queue}.Arn") })
        );
        assert_eq!(event["BatchSize"], 1, "{queue}");
        assert_eq!(
            event["FunctionResponseTypes"],
            json!(["ReportBatchItemFailures"]),
            "{queue}"
        );
        let (parameter, usual) = at_once;
        assert_eq!(
            event["ScalingConfig"]["MaximumConcurrency"],
            json!({ "Ref": parameter }),
            "{queue}"
        );
        assert_eq!(
            template["Parameters"][parameter]["Default"], usual,
            "{queue}"
        );
        assert!(
            of(queue)["VisibilityTimeout"].as_u64().expect("seconds") >= 6 * timeout,
            "{queue}"
        );
        let dead_letters = json!({ "Fn::GetAtt": format!("{queue}DeadLetters.Arn") });
        assert_eq!(
            of(queue)["RedrivePolicy"]["deadLetterTargetArn"],
            dead_letters
        );
    }
    let sweeper = of("SweepUnsettled");
    assert_eq!(
        sweeper["Events"]["EveryMinute"]["Properties"]["Schedule"],
        "rate(1 minute)"
    );
    assert!(
        sweeper["Timeout"].as_u64().expect("seconds") < 60,
        "sweeps must not overlap"
    );
    for route in ROUTES {
        assert!(
            of(&logical_id(route.function))["Timeout"]
                .as_u64()
                .expect("seconds")
                < API_LIMIT
        );
    }
}

#[test]
fn every_change_of_a_streamed_table_is_counted_in_the_order_of_its_shard() {
    let template = service();
    let of = |id: &str| &template["Resources"][id]["Properties"];
    let events = of("CountChanges")["Events"].as_object().expect("events");
    let streamed = TABLES.iter().filter(|table| table.has_stream);
    let expected: BTreeSet<_> = streamed.map(|table| logical_id(table.name)).collect();
    assert_eq!(events.keys().cloned().collect::<BTreeSet<_>>(), expected);
    for (name, event) in events {
        let event = &event["Properties"];
        assert_eq!(
            event["Stream"],
            json!({ "Fn::GetAtt": format!("{name}Table.StreamArn") })
        );
        assert_eq!(event["StartingPosition"], "TRIM_HORIZON", "{name}");
        assert_eq!(event["ParallelizationFactor"], 1, "{name}");
        assert!(
            event["TumblingWindowInSeconds"]
                .as_u64()
                .is_some_and(|window| window > 0),
            "{name}"
        );
        assert!(
            event["MaximumBatchingWindowInSeconds"]
                .as_u64()
                .is_some_and(|window| window < 60),
            "{name}"
        );
        assert_eq!(event["BisectBatchOnFunctionError"], true, "{name}");
        assert_eq!(
            event["FunctionResponseTypes"],
            json!(["ReportBatchItemFailures"]),
            "{name}"
        );
        let failed = json!({ "Type": "SQS", "Destination": { "Fn::GetAtt": "FailedEvents.Arn" } });
        assert_eq!(event["DestinationConfig"]["OnFailure"], failed, "{name}");
    }
}

#[test]
fn an_output_is_the_env_file_of_ops() {
    let template = service();
    let output = template["Outputs"]["OpsEnvironment"]["Value"]["Fn::Sub"][0]
        .as_str()
        .expect("text");
    let file: Value = serde_json::from_str(output).expect("JSON");
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
        "EVIDENCE_BUCKET",
        "OPENINGS_BUCKET",
        "PARTNER_CONCURRENCY",
        "PARTNER_QUEUE_URL",
        "PHOTOS_BUCKET",
        "STAGE",
        "TAX_QUEUE_URL",
    ];
    assert_eq!(
        others.map(String::as_str).collect::<BTreeSet<_>>(),
        BTreeSet::from(named)
    );
    assert_eq!(given["PARTNER_CONCURRENCY"], "${PartnerConcurrency}");
}

/// Without the secret, every minted and imported code of the deployment is invalid.
#[test]
fn the_deployments_secret_is_made_once_stays_and_is_printed_nowhere() {
    let template = service();
    let secret = &template["Resources"]["DeploymentSecret"];
    assert_eq!(secret["DeletionPolicy"], "RetainExceptOnCreate");
    assert_eq!(secret["UpdateReplacePolicy"], "Retain");
    let properties = &secret["Properties"];
    // CloudFormation generates another secret when any of this changes.
    let stack =
        json!({ "Id": { "Fn::Select": [2, { "Fn::Split": ["/", { "Ref": "AWS::StackId" }] }] } });
    assert_eq!(
        properties["Name"],
        json!({ "Fn::Sub": ["${AWS::StackName}/deployment-${Id}", stack] })
    );
    let generated = json!({ "PasswordLength": 64, "ExcludePunctuation": true });
    assert_eq!(properties["GenerateSecretString"], generated);
    assert!(!text_of("template.yaml").contains("resolve:secretsmanager"));
}

#[test]
fn storage_takes_only_first_uploads_over_tls() {
    let template = service();
    let statements =
        template["Resources"]["PhotosPolicy"]["Properties"]["PolicyDocument"]["Statement"].clone();
    let denied = |sid: &str| {
        let mut all = statements.as_array().expect("statements").iter();
        let found = all
            .find(|statement| statement["Sid"] == sid)
            .expect("a statement");
        assert_eq!(
            (&found["Effect"], &found["Principal"]),
            (&json!("Deny"), &json!("*"))
        );
        (found["Action"].clone(), found["Condition"].clone())
    };
    assert_eq!(
        denied("FirstUploadWins"),
        (
            json!("s3:PutObject"),
            json!({ "Null": { "s3:if-none-match": "true" } })
        )
    );
    assert_eq!(
        denied("TlsOnly"),
        (
            json!("s3:*"),
            json!({ "Bool": { "aws:SecureTransport": "false" } })
        )
    );
}

#[test]
fn every_function_is_published_in_versions_and_taken_back_by_its_alarms() {
    let template = service();
    let everywhere = &template["Globals"]["Function"];
    assert_eq!(everywhere["AutoPublishAlias"], "live");
    assert_eq!(
        everywhere["Environment"]["Variables"],
        json!({ "SERVICE": { "Ref": "AWS::StackName" } })
    );
    let gradually = json!({ "Fn::If": ["IsGradual", "Canary10Percent10Minutes", "AllAtOnce"] });
    assert_eq!(everywhere["DeploymentPreference"]["Type"], gradually);
    for name in crates() {
        let function = &template["Resources"][logical_id(&name)]["Properties"];
        assert_eq!(
            function["AutoPublishCodeSha256"],
            json!({ "Ref": "Release" }),
            "{name}"
        );
        let named = |alarm: &str| json!({ "Fn::Sub": format!("${{AWS::StackName}}-{alarm}") });
        let mut heeded = vec![named("api-errors"), named(&format!("{name}-errors"))];
        heeded.extend(
            alarms::has_server_errors(&name).then(|| named(&format!("{name}-server-errors"))),
        );
        let heeded = json!({ "Fn::If": ["HeedsAlarms", heeded, [{ "Ref": "AWS::NoValue" }]] });
        assert_eq!(function["DeploymentPreference"]["Alarms"], heeded, "{name}");
        assert_eq!(
            template["Resources"][logical_id(&name)]["DependsOn"],
            "Monitoring",
            "{name}"
        );
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
