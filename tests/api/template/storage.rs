//! Who may write to the buckets, and how.

use serde_json::{Value, json};
use service_tests::template::{assert_has, service};
use service_tests::text::list_of;

#[test]
fn storage_takes_only_first_uploads_over_tls() {
    let template = service();
    let policy = &template["Resources"]["PhotosPolicy"]["Properties"]["PolicyDocument"];
    let denied = |sid: &str, action: &str, condition: Value| json!({ "Sid": sid, "Effect": "Deny", "Principal": "*", "Action": action, "Condition": condition });
    let expected = [
        denied(
            "TlsOnly",
            "s3:*",
            json!({ "Bool": { "aws:SecureTransport": "false" } }),
        ),
        denied(
            "FirstUploadWins",
            "s3:PutObject",
            json!({ "Null": { "s3:if-none-match": "true" } }),
        ),
    ];
    let statements = list_of(&policy["Statement"]);
    assert_eq!(statements.len(), expected.len());
    for (statement, expected) in statements.iter().zip(&expected) {
        assert_has(statement, expected, "a statement");
    }
}

/// A list that an operator logs in place of the function would prove nothing.
#[test]
fn only_the_sweep_logs_days_of_plans() {
    let template = service();
    let resources = &template["Resources"];
    let policy = &resources["DrawEvidencePolicy"]["Properties"]["PolicyDocument"];
    let days = "${DrawEvidence.Arn}/*/_instant/*/days/*";
    let expected = json!({
        "Sid": "DaysOfPlans",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:PutObject",
        "Resource": { "Fn::Sub": days },
        "Condition": {
            "ArnNotEquals": { "aws:PrincipalArn": { "Fn::GetAtt": "SweepUnsettledRole.Arn" } },
        },
    });
    assert!(
        list_of(&policy["Statement"]).contains(&expected),
        "{policy}"
    );
    let role = &resources["SweepUnsettledRole"]["Properties"]["Policies"];
    let listed = json!({ "StringLike": { "s3:prefix": "*/_instant/*/days/" } });
    let statements = list_of(&role[0]["PolicyDocument"]["Statement"]).iter();
    let evidence = json!([{ "Fn::GetAtt": "DrawEvidence.Arn" }]);
    let conditions = statements.filter(|statement| statement["Resource"] == evidence);
    let conditions: Vec<_> = conditions.map(|one| &one["Condition"]).collect();
    assert_eq!(conditions, [&listed]);
}
