//! Records and openings changed without `ops` once winners can be computed.

use aws_sdk_dynamodb::types::AttributeValue;
use common::domain::contact_log::{ContactEvent, ContactLog, ContactStep, SkipReason};
use common::domain::draw::contact::Contact;
use ops_core::audit::Action;

use super::*;

const SKIP: &str = "draw skip --campaign chai-bora-2026 --draw week-03 --winner 1 --reason excluded --inspector Neema --yes";

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

/// The one winner of two entrants, and the phone and reference of the other.
async fn drawn_with_alternate(invents_erasures: bool) -> (Stack, Value, &'static str, String) {
    let stack = Stack::with_chai().await;
    let mut entries = Vec::new();
    for phone in ["0711000001", "0711000002"] {
        let reference = entered(&stack, phone, 1).await.reference().to_string();
        entries.push((phone, reference));
    }
    let draw = frozen(&stack).await;
    if invents_erasures {
        stack.clock.advance(Duration::from_hours(1));
        invent_erasures(&stack, &draw).await;
    }
    let drawn = stack.json(RUN).await;
    let winner = &drawn["winners"][0];
    assert_eq!(winner["state"]["is"], "drawn");
    entries.retain(|(_, reference)| winner["ref"] != **reference);
    let (phone, reference) = entries.remove(0);
    (stack, drawn, phone, reference)
}

/// Removes the reference's line.
fn without<'a>(reference: &'a str) -> impl Fn(&str) -> Option<String> + 'a {
    move |line| (!line.contains(reference)).then(|| line.to_owned())
}

pub(super) fn certificate(stack: &Stack) -> String {
    let output = stack.arg("certificate.html");
    format!("draw certificate {DRAW} --output {output}")
}

/// Changes an attribute of the only draw's record.
pub(super) async fn change_record(stack: &Stack, name: &str, value: AttributeValue) {
    let records = stored::records(stack, "draws").await.into_iter();
    let mut draws = records.filter(|record| record.contains_key("round_at"));
    let mut draw = draws.next().expect("a draw");
    draw.insert(name.to_owned(), value);
    stored::put(stack, "draws", draw).await;
}

#[tokio::test]
async fn opening_removed_after_the_round_stops_the_run() {
    let stack = Stack::with_chai().await;
    let winner = entered(&stack, "0711000001", 1).await;
    let draw = frozen(&stack).await;
    stack.clock.advance(Duration::from_hours(1));
    let reference = winner.reference().to_string();
    change_openings(&stack, &draw, without(&reference)).await;
    stack.refused(RUN, "openings_changed").await;
    assert_eq!(shown(&stack).await["winners"], json!([]));
}

#[tokio::test]
async fn phone_removed_from_the_record_stops_the_run() {
    let stack = Stack::with_chai().await;
    let winner = entered(&stack, "0711000001", 1).await;
    frozen(&stack).await;
    let own = stored::record(&stack, &winner).await;
    let friend = stored::record(&stack, &entered(&stack, erasure::PHONE, 1).await).await;
    for entrant in [&own, &friend] {
        let mut changed = own.clone();
        changed.remove("phone");
        changed.insert("entrant".to_owned(), entrant["entrant"].clone());
        stored::put(&stack, "submissions", changed).await;
        let refused = stack.refused(RUN, "row_differs").await;
        let named = format!("the entry {}, which has no phone", winner.reference());
        assert_contains!(refused.message, named);
    }
    stored::put(&stack, "submissions", own).await;
    stack.fine(RUN).await;
}

/// Puts the files of erasures that were never made.
async fn invent_erasures(stack: &Stack, draw: &Value) {
    for row in ["0", "1", "+0", "01", "9"] {
        let file = key(draw, &format!("erased/{row}.json"));
        stored::evidence(stack).put(&file, "{}").await;
    }
}

#[tokio::test]
async fn erasures_from_before_the_round_leave_nothing_to_choose() {
    let stack = Stack::with_chai().await;
    let own = entered(&stack, "0711000001", 1)
        .await
        .reference()
        .to_string();
    entered(&stack, "0711000002", 1).await;
    let draw = frozen(&stack).await;
    invent_erasures(&stack, &draw).await;
    stack.clock.advance(Duration::from_hours(1));
    change_openings(&stack, &draw, without(&own)).await;
    let drawn = stack.json(RUN).await;
    assert_eq!(len_of(&drawn["winners"]), 2);
    for winner in list_of(&drawn["winners"]) {
        assert_eq!(winner["state"]["reason"], "erased", "{winner}");
    }
    let certificate = stack.json(certificate(&stack)).await;
    let unexplained = json!([null, null]);
    let rows = list_of(&certificate["erasures"]).iter();
    let audit: Value = rows.map(|row| row["audit_row"].clone()).collect();
    assert_eq!(audit, unexplained);
}

#[tokio::test]
async fn file_of_an_erasure_after_the_round_changes_nothing() {
    let (stack, draw, _, second) = drawn_with_alternate(true).await;
    let whole = erasure::openings(&stack, &draw).await;
    change_openings(&stack, &draw, without(&second)).await;
    stack.refused(SKIP, "openings_changed").await;
    let openings = key(&draw, "openings.csv");
    stored::openings(&stack).put(&openings, whole).await;
    let skipped = stack.json(SKIP).await;
    assert_eq!(skipped["next"][0]["state"]["is"], "drawn", "{skipped}");
    stack.fine(certificate(&stack)).await;
}

/// A file can be years older than the row of the log that makes it true.
#[tokio::test]
async fn alternate_erased_long_after_an_invented_file_stops_no_skip() {
    let (stack, _, phone, _) = drawn_with_alternate(true).await;
    stack.clock.advance(Duration::from_hours(5 * 24));
    let erase = format!("person erase --phone {phone} --why asked --yes");
    stack.fine(erase).await;
    let skipped = stack.json(SKIP).await;
    assert_eq!(skipped["next"][0]["state"]["reason"], "erased", "{skipped}");
    stack.fine(certificate(&stack)).await;
}

#[tokio::test]
async fn result_of_another_hand_changes_nothing() {
    let stack = with_entries().await;
    let draw = frozen(&stack).await;
    stack.clock.advance(Duration::from_hours(1));
    let result = key(&draw, "result.json");
    stored::evidence(&stack).put(&result, "{}").await;
    let ended = stack.answering(RUN, "").await;
    assert_contains!(ended.err, "was written without `ops`");
    stack.fine(SKIP).await;
    stack.fine(certificate(&stack)).await;
}

#[tokio::test]
async fn second_commitment_of_a_name_stops_the_run() {
    let stack = with_entries().await;
    let draw = frozen(&stack).await;
    let own = text_of(&draw["commitment"]);
    let other = key(&draw, "commitment.txt").replace(own, &"0".repeat(64));
    stored::evidence(&stack).put(&other, "0".repeat(64)).await;
    stack.clock.advance(Duration::from_hours(1));
    stack.refused(RUN, "evidence_differs").await;
    stored::evidence(&stack).delete(&other).await;
    stored::evidence(&stack).put(&other, "0".repeat(64)).await;
    // One from after the round would be late, and stops nothing.
    stack.fine(RUN).await;
}

#[tokio::test]
async fn opening_removed_after_the_run_stops_the_skip() {
    let (stack, draw, _, second) = drawn_with_alternate(false).await;
    change_openings(&stack, &draw, without(&second)).await;
    stack.refused(SKIP, "openings_changed").await;
}

#[tokio::test]
async fn opening_changed_after_the_run_stops_the_skip() {
    let (stack, draw, _, second) = drawn_with_alternate(false).await;
    let friend = entered(&stack, erasure::PHONE, 1).await.reference();
    change_openings(&stack, &draw, |line| {
        Some(line.replace(&second, &friend.to_string()))
    })
    .await;
    stack.refused(SKIP, "evidence_differs").await;
}

#[tokio::test]
async fn winner_called_erased_is_found_by_the_kept_opening() {
    let stack = with_entries().await;
    let draw = frozen(&stack).await;
    stack.json(RUN).await;
    let winner = erasure::contacts(&stack).await.remove(0);
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
        ..winner.after(skipped).expect("it follows")
    };
    erasure::change_contact(&stack, &winner, &erased).await;
    stack.refused(certificate(&stack), "draw_log_differs").await;
    // Even if the log says that the row was erased: the run would not have drawn it.
    let details = json!({ "commitment": draw["commitment"], "row": erased.row, "drawn": true });
    let action = Action::new("draw.erase").in_scope(&live()).with(details);
    let tables = stack.tables();
    let audit = tables.audit.append(action, stack.clock.now());
    audit.await.expect("a row");
    let file = key(&draw, &format!("erased/{}.json", erased.row));
    stored::evidence(&stack).put(&file, "{}").await;
    let reference = winner.reference.expect("a winner").to_string();
    change_openings(&stack, &draw, without(&reference)).await;
    stack.refused(certificate(&stack), "draw_log_differs").await;
}

#[tokio::test]
async fn phone_of_another_submission_is_not_shown_as_a_winners() {
    let stack = with_entries().await;
    frozen(&stack).await;
    stack.json(RUN).await;
    let friend = entered(&stack, erasure::PHONE, 1).await.submission_id;
    let winner = erasure::contacts(&stack).await.remove(0);
    let changed = Contact {
        submission_id: Some(friend),
        log: ContactLog {
            revision: winner.revision + 1,
            ..winner.log.clone()
        },
        ..winner.clone()
    };
    erasure::change_contact(&stack, &winner, &changed).await;
    let call = format!("draw call {DRAW} --winner 1 --show-phone");
    stack.refused(call, "draw_log_differs").await;
}

#[tokio::test]
async fn sheet_shows_no_root_but_that_of_the_commitment() {
    let stack = with_entries().await;
    frozen(&stack).await;
    let root = stored::text(&"0".repeat(64));
    change_record(&stack, "root", root).await;
    let sheet = format!("draw show {DRAW} --sheet {}", stack.arg("sheet.html"));
    stack.refused(sheet, "draw_log_differs").await;
}

#[tokio::test]
async fn round_moved_in_the_record_is_not_believed() {
    let stack = with_entries().await;
    entered(&stack, erasure::PHONE, 1).await;
    let draw = frozen(&stack).await;
    stack.clock.advance(Duration::from_hours(1));
    let later: Timestamp = text_of(&draw["round_at"]).parse().expect("a time");
    let later = later.after(Duration::from_hours(2)).as_millis();
    change_record(&stack, "round_at", stored::number(later)).await;
    let sheet = format!("draw show {DRAW} --sheet {}", stack.arg("sheet.html"));
    for command in [erasure::ERASE, &sheet, RUN] {
        stack.refused(command, "draw_differs").await;
    }
}
