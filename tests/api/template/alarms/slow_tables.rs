//! Each table and index has an alarm for throttling.

use super::*;

/// Tables and indexes.
type Names = BTreeSet<String>;

/// Tables and indexes read and written, by roles. A write to a table is one to its indexes, and a
/// condition check is a write.
fn read_and_written(template: &Value) -> (Names, Names) {
    let (mut read, mut written) = (Names::new(), Names::new());
    for (_, role) in resources(template, "AWS::IAM::Role") {
        let statements = list_of(&role["Policies"][0]["PolicyDocument"]["Statement"]);
        for statement in statements {
            let resource = &statement["Resource"][0];
            let table = resource["Fn::GetAtt"]
                .as_str()
                .and_then(|arn| arn.strip_suffix(".Arn"));
            let index = resource["Fn::Sub"]
                .as_str()
                .and_then(|arn| arn.split_once("/index/"));
            let name = table.or(index.map(|(_, index)| index));
            for action in list_of(&statement["Action"]) {
                match (
                    action
                        .as_str()
                        .and_then(|action| action.strip_prefix("dynamodb:")),
                    name,
                ) {
                    (Some("GetItem" | "BatchGetItem" | "Query" | "Scan"), Some(name)) => {
                        read.insert(name.to_owned())
                    }
                    (Some(_), Some(name)) => written.insert(name.to_owned()),
                    _ => false,
                };
            }
        }
    }
    let tables =
        resources(template, "AWS::DynamoDB::Table").filter(|(id, _)| written.contains(*id));
    let indexes = tables.filter_map(|(_, table)| {
        table
            .get("GlobalSecondaryIndexes")
            .and_then(Value::as_array)
    });
    let indexes: Names = indexes
        .flatten()
        .map(|index| text_of(&index["IndexName"]).to_owned())
        .collect();
    written.extend(indexes);
    (read, written)
}

#[test]
fn alarms_hear_of_every_table_and_index_that_is_too_slow() {
    let (mut read, mut written) = read_and_written(&service());
    // Background functions alone use them; other alarms cover those.
    assert!(read.remove("unsettled-by-campaign") && written.remove("NumbersTable"));
    assert!(
        read.remove("RetentionTable")
            && written.remove("RetentionTable")
            && read.remove("DrawsTable")
    );
    assert!(read.remove("AuditTable"));
    // An entry that cannot read it is answered 503, which has an alarm.
    assert!(read.remove("InstantTable"));
    for table in [
        "WebhookEndpointsTable",
        "WebhookDeliveriesTable",
        "by-endpoint",
    ] {
        assert!(read.remove(table) && written.remove(table), "{table}");
    }
    let alarms = alarms();
    for (name, metric, expected) in [
        (
            "${Service}-tables-throttled-reads",
            "ReadThrottleEvents",
            read,
        ),
        (
            "${Service}-tables-throttled-writes",
            "WriteThrottleEvents",
            written,
        ),
    ] {
        let metrics = metrics(&alarms[name]);
        // CloudWatch's limit of metrics.
        assert!(
            metrics.len() <= 10 && metrics.iter().all(|found| found["MetricName"] == metric),
            "{name}"
        );
        let heard = metrics.iter().map(|metric| {
            let value = &dimensions(metric).last().expect("a table")["Value"];
            value["Ref"]
                .as_str()
                .or(value.as_str())
                .expect("a name")
                .to_owned()
        });
        assert_eq!(heard.collect::<Names>(), expected, "{name}");
    }
}
