//! Records and openings changed without `ops` once winners can be computed.

use aws_sdk_dynamodb::types::AttributeValue;
use common::domain::draw::contact::{Contact, ContactEvent, ContactStep, SkipReason};

use super::*;

const SKIP: &str = "draw skip --draw week-03 --winner 1 --reason excluded --inspector Neema --yes";

/// Overwrites the openings line by line.
async fn change_openings(stack: &Stack, draw: &Value, changed: impl Fn(&str) -> Option<String>) {
    let text = erasure::openings(stack, draw).await;
    let kept: String = text
        .lines()
        .filter_map(changed)
        .map(|line| format!("{line}\n"))
        .collect();
    let key = key(draw, "openings.csv");
    stored::openings(stack).put(&key, kept).await;
}

/// A drawn draw of two entrants and one prize; its record, and the second reference.
async fn drawn_with_alternate() -> (Stack, Value, String) {
    let stack = Stack::with_chai().await;
    let entries = [
        entered(&stack, "0711000001", 1).await,
        entered(&stack, "0711000002", 1).await,
    ];
    frozen(&stack, "week-03", PRIZE).await;
    let drawn = stack.json(&run("week-03", &[])).await;
    let mut references = entries.iter().map(|entry| entry.reference().to_string());
    let second = references.find(|one| drawn["winners"][0]["ref"] != json!(one));
    (stack, drawn, second.expect("the other one"))
}

/// Removes the reference's line.
fn without<'a>(reference: &'a str) -> impl Fn(&str) -> Option<String> + 'a {
    move |line| (!line.contains(reference)).then(|| line.to_owned())
}

pub(super) fn certificate(stack: &Stack) -> String {
    let output = stack.arg("certificate.html");
    format!("draw certificate --draw week-03 --output {output}")
}

/// Moves the only draw's round.
async fn move_round(stack: &Stack, round_at: i64) {
    let records = stored::records(stack, "draws").await.into_iter();
    let mut draws = records.filter(|record| record.contains_key("round_at"));
    let mut draw = draws.next().expect("a draw");
    let round_at = AttributeValue::N(round_at.to_string());
    draw.insert("round_at".to_owned(), round_at);
    stored::put(stack, "draws", draw).await;
}

#[tokio::test]
async fn opening_removed_after_the_round_stops_the_run() {
    let stack = Stack::with_chai().await;
    let winner = entered(&stack, "0711000001", 1).await;
    let draw = frozen(&stack, "week-03", PRIZE).await;
    stack.clock.advance(Duration::from_hours(1));
    let reference = winner.reference().to_string();
    change_openings(&stack, &draw, without(&reference)).await;
    let refused = stack.refused(&run("week-03", &[])).await;
    assert_eq!(refused["code"], "openings_changed", "{refused}");
    assert_eq!(shown(&stack, "week-03").await["winners"], json!([]));
}

#[tokio::test]
async fn phone_removed_from_the_record_stops_the_run() {
    let stack = Stack::with_chai().await;
    let winner = entered(&stack, "0711000001", 1).await;
    frozen(&stack, "week-03", PRIZE).await;
    let own = stored::record(&stack, &winner).await;
    let friend = stored::record(&stack, &entered(&stack, erasure::PHONE, 1).await).await;
    for entrant in [&own, &friend] {
        let mut changed = own.clone();
        changed.remove("phone");
        changed.insert("entrant".to_owned(), entrant["entrant"].clone());
        stored::put(&stack, "submissions", changed).await;
        let refused = stack.refused(&run("week-03", &[])).await;
        assert_eq!(refused["code"], "row_differs", "{refused}");
        let message = refused["message"].as_str().expect("text");
        assert!(
            message.contains(&format!(
                "the entry {}, which has no phone",
                winner.reference()
            )),
            "{message}"
        );
    }
    stored::put(&stack, "submissions", own).await;
    stack.fine(&run("week-03", &[])).await;
}

#[tokio::test]
async fn erasure_that_ops_did_not_make_changes_nothing() {
    let stack = Stack::with_chai().await;
    let entries = [
        entered(&stack, "0711000001", 1).await,
        entered(&stack, "0711000002", 1).await,
    ];
    let draw = frozen(&stack, "week-03", PRIZE).await;
    let invent = async || {
        for row in [0, 1, 9] {
            let file = key(&draw, &format!("erased/{row}-{}.json", row + 7));
            stored::evidence(&stack).put(&file, "{}").await;
        }
    };
    invent().await;
    let whole = erasure::openings(&stack, &draw).await;
    stack.clock.advance(Duration::from_hours(1));
    let reference = entries[0].reference().to_string();
    change_openings(&stack, &draw, without(&reference)).await;
    let refused = stack.refused(&run("week-03", &[])).await;
    assert_eq!(refused["code"], "openings_changed", "{refused}");
    let openings = key(&draw, "openings.csv");
    stored::openings(&stack).put(&openings, whole).await;
    let drawn = stack.json(&run("week-03", &[])).await;
    assert_eq!(drawn["winners"][0]["state"]["is"], "drawn");
    invent().await;
    let skipped = stack.json(&in_campaign(SKIP)).await;
    assert_eq!(skipped["next"][0]["state"]["is"], "drawn", "{skipped}");
    stack.fine(&in_campaign(&certificate(&stack))).await;
}

/// Each row of the log is about one person, so a file cannot borrow one.
#[tokio::test]
async fn erasure_of_another_person_explains_nothing() {
    let stack = Stack::with_chai().await;
    entered(&stack, erasure::PHONE, 1).await;
    let rival = entered(&stack, "0711000001", 1).await;
    let draw = frozen(&stack, "week-03", "--prize Kettle=2").await;
    stack.fine(&erasure::erase()).await;
    let erased = stored::evidence(&stack).keys().await;
    let of_erased = erased.iter().find(|key| key.contains("/erased/"));
    let (row, audit_row) = of_erased
        .and_then(|key| {
            key.rsplit_once('/')?
                .1
                .strip_suffix(".json")?
                .split_once('-')
        })
        .expect("a file");
    let other = if row == "0" { 1 } else { 0 };
    let borrowed = key(&draw, &format!("erased/{other}-{audit_row}.json"));
    stored::evidence(&stack).put(&borrowed, "{}").await;
    let reference = rival.reference().to_string();
    change_openings(&stack, &draw, without(&reference)).await;
    let refused = stack.refused(&run("week-03", &[])).await;
    assert_eq!(refused["code"], "openings_changed", "{refused}");
}

#[tokio::test]
async fn second_commitment_of_a_name_stops_the_run() {
    let stack = with_entries().await;
    let draw = frozen(&stack, "week-03", PRIZE).await;
    let own = draw["commitment"].as_str().expect("text");
    let other = key(&draw, "commitment.txt").replace(own, &"0".repeat(64));
    stored::evidence(&stack).put(&other, "0".repeat(64)).await;
    stack.clock.advance(Duration::from_hours(1));
    let refused = stack.refused(&run("week-03", &[])).await;
    assert_eq!(refused["code"], "evidence_differs", "{refused}");
    stored::evidence(&stack).delete(&other).await;
    stored::evidence(&stack).put(&other, "0".repeat(64)).await;
    // One from after the round would be late, and stops nothing.
    stack.fine(&run("week-03", &[])).await;
}

#[tokio::test]
async fn opening_removed_after_the_run_stops_the_skip() {
    let (stack, draw, second) = drawn_with_alternate().await;
    change_openings(&stack, &draw, without(&second)).await;
    let refused = stack.refused(&in_campaign(SKIP)).await;
    assert_eq!(refused["code"], "openings_changed", "{refused}");
}

#[tokio::test]
async fn opening_changed_after_the_run_stops_the_skip() {
    let (stack, draw, second) = drawn_with_alternate().await;
    let friend = entered(&stack, erasure::PHONE, 1).await.reference();
    change_openings(&stack, &draw, |line| {
        Some(line.replace(&second, &friend.to_string()))
    })
    .await;
    let refused = stack.refused(&in_campaign(SKIP)).await;
    assert_eq!(refused["code"], "evidence_differs", "{refused}");
}

#[tokio::test]
async fn winner_called_erased_is_found_by_the_kept_opening() {
    let stack = with_entries().await;
    frozen(&stack, "week-03", PRIZE).await;
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
    let refused = stack.refused(&in_campaign(&certificate(&stack))).await;
    assert_eq!(refused["code"], "draw_log_differs", "{refused}");
}

#[tokio::test]
async fn phone_of_another_submission_is_not_shown_as_a_winners() {
    let stack = with_entries().await;
    frozen(&stack, "week-03", PRIZE).await;
    stack.json(&run("week-03", &[])).await;
    let friend = entered(&stack, erasure::PHONE, 1).await.submission_id;
    let (tables, scope) = (stack.tables().await, chai(Environment::Live));
    let contacts = tables.draws.all_contacts(&scope).await.expect("it answers");
    let changed = Contact {
        submission_id: Some(friend),
        revision: contacts[0].revision + 1,
        ..contacts[0].clone()
    };
    let is_changed = tables.draws.change_contact(&scope, &contacts[0], &changed);
    assert!(is_changed.await.expect("it answers"));
    let call = in_campaign("draw call --draw week-03 --winner 1 --show-phone");
    let refused = stack.refused(&call).await;
    assert_eq!(refused["code"], "draw_log_differs", "{refused}");
}

#[tokio::test]
async fn round_moved_in_the_record_is_not_believed() {
    let stack = with_entries().await;
    entered(&stack, erasure::PHONE, 1).await;
    let draw = frozen(&stack, "week-03", PRIZE).await;
    stack.clock.advance(Duration::from_hours(1));
    let later: Timestamp = draw["round_at"]
        .as_str()
        .expect("a time")
        .parse()
        .expect("a time");
    let later = later.after(Duration::from_hours(2)).as_millis();
    move_round(&stack, later).await;
    let sheet = format!(
        "draw sheet --draw week-03 --output {}",
        stack.arg("sheet.html")
    );
    for command in [erasure::erase(), in_campaign(&sheet), run("week-03", &[])] {
        let refused = stack.refused(&command).await;
        assert_eq!(refused["code"], "draw_differs", "{command:?}: {refused}");
    }
}
