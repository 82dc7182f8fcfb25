//! Rights that the templates give.

use std::collections::HashMap;

use super::*;

#[test]
fn functions_only_read_code_books() {
    let policies = policies();
    let allowed = policies.iter().flat_map(|(function, policy)| {
        let books = policy
            .own
            .iter()
            .filter(|(_, resource)| resource.starts_with("table/code_books"));
        books.map(move |(action, _)| (function.as_str(), action.as_str()))
    });
    let readers =
        ["check-code", "create-submission"].map(|function| (function, "dynamodb:BatchGetItem"));
    assert_eq!(allowed.collect::<Vec<_>>(), readers);
}

#[test]
fn a_stack_reads_the_secrets_of_its_own_partners_alone() {
    let policies = policies();
    let readers = |secret: &str| -> Vec<&str> {
        let call = |function: &str| Call {
            caller: function.to_owned(),
            action: "secretsmanager:GetSecretValue".to_owned(),
            resource: format!("secret/{secret}"),
        };
        let allowed = policies
            .iter()
            .filter(|(function, policy)| policy.allows(&call(function)));
        allowed.map(|(function, _)| function.as_str()).collect()
    };
    assert_eq!(
        readers("local/partners/demo"),
        ["create-submission", "settle-partners"]
    );
    let of_deployment = [
        "check-code",
        "create-receipt",
        "create-submission",
        "deliver-events",
        "lookup-submissions",
        "settle-partners",
    ];
    assert_eq!(readers("local/deployment"), of_deployment);
    assert_eq!(
        readers("local/moments"),
        ["create-submission", "settle-partners", "settle-receipts"]
    );
    for of_others in [
        "other/partners/demo",
        "partners/demo",
        "other/deployment",
        "local/other",
    ] {
        assert!(readers(of_others).is_empty(), "{of_others}");
    }
}

#[test]
fn functions_and_reviewers_record_wins_and_nothing_else() {
    let template = service();
    let table = json!([{ "Fn::GetAtt": "InstantTable.Arn" }]);
    let rights = |document: &Value| -> Vec<Value> {
        let statements = list_of(&document["Statement"]).iter();
        let own = statements.filter(|statement| statement["Resource"] == table);
        own.map(|own| json!([own["Action"], own["Condition"]]))
            .collect()
    };
    let on = |actions: &[&str], keys: &[&str]| {
        let actions: Vec<_> = actions
            .iter()
            .map(|one| format!("dynamodb:{one}"))
            .collect();
        json!([actions, {
            "ForAllValues:StringLike": { "dynamodb:LeadingKeys": keys },
            "Null": { "dynamodb:LeadingKeys": "false" },
        }])
    };
    let mut functions = BTreeMap::new();
    for (id, properties) in resources(&template, "AWS::IAM::Role") {
        let found = rights(&properties["Policies"][0]["PolicyDocument"]);
        functions.extend((!found.is_empty()).then_some((id, found)));
    }
    let record = vec![
        on(&["PutItem"], &["*#wins"]),
        on(&["GetItem"], &["*#plan", "*#state"]),
        on(&["UpdateItem"], &["*#state"]),
    ];
    let expected = [
        "CreateSubmissionRole",
        "SettlePartnersRole",
        "SettleReceiptsRole",
    ];
    let mut expected = BTreeMap::from(expected.map(|id| (id, record.clone())));
    let prefetched = on(&["BatchGetItem"], &["*#state"]);
    expected
        .entry("CreateSubmissionRole")
        .and_modify(|rights| rights.push(prefetched));
    let plans = on(&["GetItem"], &["*#plan", "*#state"]);
    let wins = on(&["Query"], &["*#wins"]);
    expected.insert("SweepUnsettledRole", vec![plans, wins]);
    assert_eq!(functions, expected);
    let given_back = on(&["GetItem", "UpdateItem"], &["*#state"]);
    for (id, expected) in [
        (
            "ViewerPolicy",
            vec![on(&["GetItem", "Query"], &["*#wins", "*#plan"])],
        ),
        (
            "ReviewerPolicy",
            vec![on(&["PutItem", "UpdateItem"], &["*#wins"]), given_back],
        ),
        (
            "OperatorPolicy",
            vec![on(&["GetItem", "UpdateItem"], &["*#state"])],
        ),
        ("AdminPolicy", vec![on(&["DeleteItem"], &["*#test#wins"])]),
        (
            "PrizePolicy",
            vec![on(&["PutItem"], &["*#plan", "*#state"])],
        ),
    ] {
        let document = &template["Resources"][id]["Properties"]["PolicyDocument"];
        assert_eq!(rights(document), expected, "{id}");
    }
}

/// The breakers of partners, and what else is in that table, are other functions'.
#[tokio::test]
async fn webhooks_functions_reach_breakers_of_endpoints_alone() {
    let template = service();
    for id in ["DeliverEventsRole", "SweepUnsettledRole"] {
        let document = &template["Resources"][id]["Properties"]["Policies"][0]["PolicyDocument"];
        let table = json!([{ "Fn::GetAtt": "CoordinationTable.Arn" }]);
        let statements = list_of(&document["Statement"]).iter();
        let conditions: Vec<_> = statements
            .filter(|statement| statement["Resource"] == table)
            .map(|statement| &statement["Condition"])
            .collect();
        let expected = json!({
            "ForAllValues:StringLike": { "dynamodb:LeadingKeys": ["breaker#whe_*"] },
            "Null": { "dynamodb:LeadingKeys": "false" },
        });
        assert_eq!(conditions, [&expected], "{id}");
    }
    let service = Service::still();
    let campaign = TestCampaign::changed(&service, receipts_alone).await;
    let mut webhooks = Webhooks::new(&service);
    let receiver = Receiver::serve(Answer::Status(500)).await;
    let scope = campaign.scope(Environment::Test);
    let types = EventType::DEFAULT;
    webhooks.add(&scope, &receiver.url, &types).await;
    let scan = async || {
        let scan = service.dynamodb().scan().table_name("coordination");
        let items = scan
            .send()
            .await
            .expect("the table")
            .items
            .unwrap_or_default();
        let key = |item: &HashMap<_, _>| format!("{:?}", item["limited"]);
        items.iter().map(key).collect::<BTreeSet<_>>()
    };
    let receipt = campaign.typed(&campaign.test_key, "TEST0VERIFIED", TIME);
    let receipt = receipt.await;
    campaign
        .with_receipt(&campaign.test_key, &phone(1), "", &receipt)
        .await;
    Settler::new(&service).settle_due().await;
    let before = scan().await;
    webhooks.run().await;
    let after = scan().await;
    let new: Vec<_> = after.difference(&before).collect();
    assert!(
        !new.is_empty() && new.iter().all(|key| key.contains("\"breaker#whe_")),
        "{new:?}"
    );
}

#[test]
fn whoever_reads_strangers_photos_has_no_partners_secret() {
    let policies = policies();
    let may = |function: &str, action: &str| {
        policies[function]
            .own
            .iter()
            .any(|(allowed, _)| allowed == action)
    };
    let (photos, secrets) = ("s3:GetObject", "secretsmanager:GetSecretValue");
    assert!(may("settle-receipts", photos));
    let known = policies["settle-receipts"].own.iter();
    let mut known = known.filter(|(allowed, _)| allowed == secrets);
    assert!(known.all(|(_, secret)| secret.ends_with("local/moments")));
    assert!(may("settle-partners", secrets) && !may("settle-partners", photos));
}

#[test]
fn lambda_itself_is_allowed_logs_traces_and_its_own_queues() {
    let template = service();
    for (id, function) in resources(&template, "AWS::Serverless::Function") {
        let name = text_of(&function["CodeUri"])
            .trim_matches('/')
            .replace("functions/", "");
        let document = &template["Resources"][format!("{id}Role")]["Properties"]["Policies"][0]["PolicyDocument"];
        let statements = list_of(&document["Statement"]).iter();
        let runtime = statements.filter(|statement| {
            statement["Sid"]
                .as_str()
                .is_some_and(|sid| sid.starts_with("Runtime"))
        });
        let found: BTreeMap<_, _> = runtime
            .map(|statement| {
                (
                    text_of(&statement["Sid"]),
                    json!([statement["Action"], statement["Resource"]]),
                )
            })
            .collect();
        let arn = |id: &str| json!({ "Fn::GetAtt": format!("{id}.Arn") });
        let logs = json!([
            ["logs:CreateLogStream", "logs:PutLogEvents"],
            [arn(&format!("{id}Logs"))]
        ]);
        let traces = json!([["xray:PutTraceSegments", "xray:PutTelemetryRecords"], ["*"]]);
        let mut expected = BTreeMap::from([("RuntimeLogs", logs), ("RuntimeTraces", traces)]);
        for (function, queue) in [
            ("settle-receipts", "TaxWork"),
            ("settle-partners", "PartnerWork"),
            ("deliver-events", "EventWork"),
        ] {
            let polling = [
                "sqs:ReceiveMessage",
                "sqs:DeleteMessage",
                "sqs:GetQueueAttributes",
            ];
            if name == function {
                expected.insert("RuntimeQueue", json!([polling, [arn(queue)]]));
            }
        }
        if ["count-changes", "publish-events"].contains(&name.as_str()) {
            let polling = [
                "DescribeStream",
                "GetRecords",
                "GetShardIterator",
                "ListStreams",
            ];
            let polling = polling.map(|action| format!("dynamodb:{action}"));
            let stream = |id: &str| json!({ "Fn::GetAtt": format!("{id}.StreamArn") });
            let mut streams = vec![stream("SubmissionsTable")];
            if name == "count-changes" {
                streams.push(stream("EntrantsTable"));
            }
            expected.insert("RuntimeStreams", json!([polling, streams]));
        }
        if ["count-changes", "mark-receipt-uploaded", "publish-events"].contains(&name.as_str()) {
            expected.insert(
                "RuntimeFailedEvents",
                json!([["sqs:SendMessage"], [arn("FailedEvents")]]),
            );
        }
        assert_eq!(found, expected, "{name}");
    }
}
