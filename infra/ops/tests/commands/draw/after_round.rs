//! Records and openings that were changed without `ops` once the winners could be computed.

use aws_sdk_dynamodb::types::AttributeValue;
use common::aws::Aws;
use common::domain::draw::contact::{Contact, ContactEvent, ContactStep, SkipReason};

use super::*;

const PRIZE: [&str; 2] = ["--prize", "Kettle=1"];

/// Overwrites the openings with these lines alone.
async fn keep_openings(stack: &Stack, draw: &Value, is_kept: impl Fn(&str) -> bool) {
    let text = erasure::openings(stack, draw).await;
    let kept: String = text
        .lines()
        .filter(|line| is_kept(line))
        .map(|line| format!("{line}\n"))
        .collect();
    let s3 = Aws::for_function(&stack.env).expect("credentials").s3();
    let bucket = stack.env.required("OPENINGS_BUCKET");
    s3.put_object()
        .bucket(bucket.expect("the stack sets it"))
        .key(key(draw, "openings.csv"))
        .body(kept.into_bytes().into())
        .send()
        .await
        .expect("it is written");
}

/// Moves the round of the only draw in its record.
async fn move_round(stack: &Stack, round_at: i64) {
    let dynamodb = Aws::for_function(&stack.env)
        .expect("credentials")
        .dynamodb();
    let records = dynamodb.scan().table_name("draws").send().await;
    let records = records.expect("it answers").items.unwrap_or_default();
    let mut draw = records
        .into_iter()
        .find(|record| record.contains_key("round_at"))
        .expect("a draw");
    draw.insert(
        "round_at".to_owned(),
        AttributeValue::N(round_at.to_string()),
    );
    let put = dynamodb.put_item().table_name("draws").set_item(Some(draw));
    put.send().await.expect("it is written");
}

#[tokio::test]
async fn opening_removed_after_the_round_stops_the_run() {
    let stack = Stack::with_chai().await;
    let winner = entered(&stack, "0711000001", 1).await;
    let draw = frozen(&stack, "week-03", &PRIZE).await;
    stack.clock.advance(Duration::from_hours(1));
    let reference = winner.reference().to_string();
    keep_openings(&stack, &draw, |line| !line.contains(&reference)).await;
    let refused = stack.refused(&run("week-03", &[])).await;
    assert_eq!(refused["code"], "openings_changed", "{refused}");
    let shown = [&["draw", "show", "--draw", "week-03"], &CAMPAIGN[..]].concat();
    assert_eq!(stack.json(&shown).await["winners"], json!([]));
}

#[tokio::test]
async fn winner_called_erased_is_found_by_the_kept_opening() {
    let stack = with_entries().await;
    frozen(&stack, "week-03", &PRIZE).await;
    stack.json(&run("week-03", &[])).await;
    let (tables, scope) = (stack.tables().await, chai(Environment::Live));
    let name = "week-03".parse().expect("a name");
    let contacts = tables
        .draws
        .contacts(&scope, &name)
        .await
        .expect("it answers");
    let skipped = ContactStep {
        at: stack.clock.now(),
        by: None,
        event: ContactEvent::Skipped {
            reason: SkipReason::Erased,
            inspector: None,
        },
    };
    let erased = Contact {
        reference: None,
        submission_id: None,
        region: None,
        masked_phone: None,
        ..contacts[0].after(skipped).expect("it follows")
    };
    let is_changed = tables.draws.change_contact(&scope, &contacts[0], &erased);
    assert!(is_changed.await.expect("it answers"));
    let output = stack.arg("certificate.html");
    let certificate = [
        "draw",
        "certificate",
        "--draw",
        "week-03",
        "--output",
        &output,
    ];
    let refused = stack.refused(&[&certificate[..], &CAMPAIGN].concat()).await;
    assert_eq!(refused["code"], "draw_log_differs", "{refused}");
}

#[tokio::test]
async fn round_moved_in_the_record_is_not_believed() {
    let stack = with_entries().await;
    entered(&stack, erasure::PHONE, 1).await;
    let draw = frozen(&stack, "week-03", &PRIZE).await;
    stack.clock.advance(Duration::from_hours(1));
    let later: Timestamp = draw["round_at"]
        .as_str()
        .expect("a time")
        .parse()
        .expect("a time");
    let later = later.after(Duration::from_hours(2)).as_millis();
    move_round(&stack, later).await;
    let sheet = stack.arg("sheet.html");
    let sheet = ["draw", "sheet", "--draw", "week-03", "--output", &sheet];
    for command in [
        erasure::erase(),
        [&sheet[..], &CAMPAIGN].concat(),
        run("week-03", &[]),
    ] {
        let refused = stack.refused(&command).await;
        assert_eq!(refused["code"], "draw_differs", "{command:?}: {refused}");
    }
}
