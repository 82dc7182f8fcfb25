//! Persons erased before and after a draw.

use common::domain::campaign::PersonalData;
use common::domain::contact_log::{ContactEvent, ContactStep};
use common::domain::draw::contact::Contact;
use common::domain::ids::EntrantId;
use common::store::retention::Deletion;
use common::store::table_pages::Position;
use service_tests::interceptor::{AWS, FaultKind, Interceptor};

use super::*;
use crate::support::run as run_with;

pub(super) const PHONE: &str = "0711000004";

pub(super) async fn openings(stack: &Stack, draw: &Value) -> String {
    stored::openings(stack)
        .get(&key(draw, "openings.csv"))
        .await
}

pub(super) const ERASE: &str = "person erase --phone 0711000004 --why 'asked by letter' --yes";

/// Records an event of a winner.
async fn log(stack: &Stack, winner: &Contact, event: ContactEvent) -> Contact {
    let step = ContactStep {
        at: stack.clock.now(),
        by: None,
        event,
    };
    let after = winner.after(step).expect("it follows");
    change_contact(stack, winner, &after).await;
    after
}

/// Overwrites a winner's record.
pub(super) async fn change_contact(stack: &Stack, before: &Contact, after: &Contact) {
    let draws = stack.tables().draws;
    let is_changed = draws.change_contact(&live(), before, after).await;
    assert!(is_changed.expect("it answers"));
}

pub(super) async fn contacts(stack: &Stack) -> Vec<Contact> {
    let contacts = stack.tables().draws.all_contacts(&live()).await;
    contacts.expect("it answers")
}

/// Records an event of the only winner.
async fn step(stack: &Stack, event: ContactEvent) {
    log(stack, &contacts(stack).await[0], event).await;
}

#[tokio::test]
async fn person_erased_before_a_draw_is_not_in_it() {
    let stack = with_entries().await;
    entered(&stack, PHONE, 1000).await;
    stack.fine(ERASE).await;
    let draw = frozen(&stack).await;
    assert_eq!(size(&draw), [3, 10]);
    let left_out = json!({ "blocked": {}, "without_phone": { "2026-02-28": 1000 } });
    assert_eq!(
        draw["header"]["left_out"], left_out,
        "days and numbers agree with what the brand saw"
    );
}

#[tokio::test]
async fn person_erased_after_the_freeze_is_skipped() {
    let stack = Stack::with_chai().await;
    let other = entered(&stack, "0711000005", 1).await;
    let accepted = SubmissionStatus::accepted(1000, None);
    // A tester sent it after the period, for a time within it.
    let gone = Submission {
        test_shift: Some(-7 * 24 * 3_600_000),
        ..made_in(Environment::Live, PHONE, accepted, ENTERED)
    };
    write(&stack, &gone, None).await;
    let draw = frozen_as(&stack, "week-03", "--prize Kettle=2").await;
    let entries = fs::read_to_string(stack.path("week-03").join("entries.csv")).expect("a file");
    stack.fine(ERASE).await;
    let left = openings(&stack, &draw).await;
    assert_contains!(left, other.reference().to_string());
    assert_lacks!(left, gone.reference().to_string());
    assert_eq!(left.lines().count(), 2, "the header line and one opening");
    stack
        .refused(
            format!("draw opening {}", gone.reference()),
            "opening_unknown",
        )
        .await;
    let drawn = stack.json(RUN).await;
    assert_eq!(drawn["header"]["total"], 1001, "the row stays");
    let winner = |state: &str| {
        let mut winners = list_of(&drawn["winners"]).iter();
        winners
            .find(|winner| winner["state"]["is"] == state)
            .expect(state)
    };
    assert_eq!(winner("drawn")["ref"], other.reference().to_string());
    let erased = winner("skipped");
    assert_eq!(fields(erased, "state.reason ref"), "erased null");
    let page = stack.arg("certificate.html");
    let written = stack
        .json(format!("draw certificate {DRAW} --output {page}"))
        .await;
    let audit = stack
        .json("audit list --action draw.erase --campaign chai-bora-2026")
        .await;
    let explained = json!([{ "row": erased["row"], "audit_row": audit["rows"][0]["sequence"] }]);
    assert_eq!(written["erasures"], explained);
    let key = key(&draw, "entries.csv");
    assert_eq!(stored::evidence(&stack).get(&key).await, entries);
}

/// An erasure that was killed after its file does not stop the run, nor the run the erasure.
#[tokio::test]
async fn erasure_begun_before_the_round_is_finished_after_the_run() {
    let stack = Stack::with_chai().await;
    entered(&stack, PHONE, 1).await;
    let draw = frozen(&stack).await;
    let file = key(&draw, "erased/0.json");
    stored::evidence(&stack).put(&file, "{}").await;
    stack.clock.advance(Duration::from_hours(1));
    stack.refused(ERASE, "draw_not_run").await;
    let drawn = stack.json(RUN).await;
    assert_eq!(
        drawn["winners"][0]["state"],
        json!({ "is": "skipped", "reason": "erased" })
    );
    stack.fine(ERASE).await;
    stack.fine(after_round::certificate(&stack)).await;
}

#[tokio::test]
async fn phone_that_retention_deleted_is_not_called_an_erasure() {
    let stack = Stack::with_chai().await;
    entered(&stack, PHONE, 1).await;
    frozen(&stack).await;
    let tables = stack.tables();
    let deleted = tables
        .store
        .submissions()
        .remove_personal_data(&live(), Position::Start)
        .await;
    assert_eq!(deleted.expect("it answers").done, 1);
    let slug = live().campaign;
    let finish = async |finished_at| {
        let mut retention = tables.retention.get(&slug).await.expect("it answers");
        retention.value.update(Deletion {
            environment: Environment::Live,
            data: PersonalData::Phones,
            end: ENTERED,
            done: 1,
            left: 0,
            position: Position::Start,
            postponed: None,
            finished_at: Some(finished_at),
        });
        let saved = tables.retention.save(&slug, &retention).await;
        assert!(saved.expect("it answers"));
    };
    // One that ended before the freeze took no phone that was frozen.
    finish(ENTERED).await;
    stack.refused(RUN, "row_differs").await;
    finish(stack.clock.now()).await;
    let drawn = stack.json(RUN).await;
    assert_eq!(
        drawn["winners"][0]["state"],
        json!({ "is": "skipped", "reason": "phone_deleted" })
    );
    stack
        .refused(freeze(&stack, "later", PRIZE), "period_without_entries")
        .await;
    entered(&stack, "0711000005", 1).await;
    let counted = frozen_as(&stack, "later", PRIZE).await;
    let left_out = &counted["header"]["left_out"]["without_phone"];
    assert_eq!(
        (&counted["header"]["rows"], left_out),
        (&json!(1), &json!({ "2026-02-28": 1 }))
    );
}

#[tokio::test]
async fn erasure_needs_no_openings_past_their_retention() {
    let stack = Stack::with_chai().await;
    let entry = entered(&stack, PHONE, 1).await;
    let draw = frozen(&stack).await;
    let openings = key(&draw, "openings.csv");
    stored::openings(&stack).delete(&openings).await;
    stack
        .clock
        .advance(Duration::from_secs(1828 * 24 * 60 * 60));
    stack
        .refused(
            format!("draw opening {}", entry.reference()),
            "opening_unknown",
        )
        .await;
    stack.fine(ERASE).await;
}

#[tokio::test]
async fn clearing_needs_no_openings_past_their_retention() {
    let stack = Stack::with_chai().await;
    submitted_in(
        Environment::Test,
        &stack,
        PHONE,
        SubmissionStatus::accepted(1, None),
        ENTERED,
    )
    .await;
    let draw = frozen_as(&stack, "practice", "--prize Kettle=1 --environment test").await;
    let openings = key(&draw, "openings.csv").replacen("/live/", "/test/", 1);
    stored::openings(&stack).delete(&openings).await;
    stack
        .clock
        .advance(Duration::from_secs(1828 * 24 * 60 * 60));
    let cleared = stack
        .json("campaign clear-test-data chai-bora-2026 --yes")
        .await;
    assert_eq!(cleared["cleared"]["openings_of_draws"], 0);
}

#[tokio::test]
async fn erasure_waits_while_a_prize_is_being_claimed() {
    let stack = Stack::with_chai().await;
    let winner = entered(&stack, PHONE, 1).await;
    let draw = frozen(&stack).await;
    stack.fine(RUN).await;
    let found = stack.json(format!("person find --phone {PHONE}")).await;
    assert_eq!(found["held"][0]["drawn"], 1);
    for event in [
        ContactEvent::NoAnswer,
        ContactEvent::Reached,
        ContactEvent::Identified,
    ] {
        let error = stack.refused(ERASE, "prize_claimed").await;
        assert_lacks!(error.message, "711000");
        stack.clock.advance(Duration::from_secs(60));
        step(&stack, event).await;
    }
    stack.refused(ERASE, "prize_claimed").await;
    let zip = stack.arg("person.zip");
    stack
        .fine(format!("person export --phone {PHONE} --output {zip}"))
        .await;
    let mut zip = zip::ZipArchive::new(fs::File::open(&zip).expect("a file")).expect("a ZIP file");
    let data: Value =
        serde_json::from_reader(zip.by_name("person.json").expect("it is there")).expect("JSON");
    let held = &data["campaigns"][0]["draws"][0];
    assert_eq!(fields(held, "draw prize"), "week-03 Kettle");
    assert_eq!(len_of(&held["steps"]), 4);

    step(&stack, ContactEvent::HandedOver).await;
    stack.fine(ERASE).await;
    let shown = shown(&stack).await;
    assert_eq!(
        fields(&shown["winners"][0], "phone region ref state.is"),
        format!("null null {} handed_over", winner.reference())
    );
    assert_eq!(openings(&stack, &draw).await, "row,refs,salt\n");
    assert_eq!(stack.json(RUN).await["winners"], shown["winners"]);
    let held = stack.json(format!("person find --phone {PHONE}")).await["held"].clone();
    assert_eq!(held[0]["submissions"], json!([]));
    assert!(held[0]["erased_at"].is_string());
}

#[tokio::test]
async fn clearing_takes_entrants_out_of_test_draws() {
    let stack = Stack::with_chai().await;
    let mut references = Vec::new();
    for (environment, phone) in [
        (Environment::Test, PHONE),
        (Environment::Live, "0711000005"),
    ] {
        let status = SubmissionStatus::accepted(1, None);
        let made = submitted_in(environment, &stack, phone, status, ENTERED).await;
        references.push(made.reference().to_string());
    }
    let environment = "--environment test";
    let practice = frozen_as(&stack, "practice", &format!("{PRIZE} {environment}")).await;
    let live = frozen(&stack).await;
    stack.fine(RUN).await;
    stack
        .fine(RUN.replace("week-03", "practice --environment test"))
        .await;
    let clear = "campaign clear-test-data chai-bora-2026 --yes";
    let cleared = stack.json(&clear).await;
    assert_eq!(cleared["cleared"]["openings_of_draws"], 1);
    let practice_key = key(&practice, "openings.csv").replacen("/live/", "/test/", 1);
    assert_eq!(
        stored::openings(&stack).get(&practice_key).await,
        "row,refs,salt\n"
    );
    assert_contains!(openings(&stack, &live).await, references[1]);
    let practice = format!("draw show --campaign chai-bora-2026 --draw practice {environment}");
    let practice = stack.json(practice).await;
    let winner = fields(&practice["winners"][0], "ref phone");
    assert_eq!(winner, format!("{} null", references[0]));
    let shown = shown(&stack).await;
    assert_eq!(shown["winners"][0]["phone"], "+2557•••••005");
    assert_eq!(
        stack.json(&clear).await["cleared"]["openings_of_draws"],
        0,
        "a second time changes nothing"
    );
    let told = stack
        .answering(clear.trim_end_matches(" --yes"), "no\n")
        .await
        .err;
    assert_contains!(told, "Draws of test mode stay", "another name");
}

#[tokio::test]
async fn interrupted_erasure_finds_the_winner_again() {
    let stack = Stack::with_chai().await;
    let winner = entered(&stack, PHONE, 1).await;
    let draw = frozen(&stack).await;
    stack.fine(RUN).await;
    let (tables, scope) = (stack.tables(), live());
    let tombstone = EntrantId::tombstone([7; 16]);
    let noted = tables
        .entrants
        .begin_erasure(&scope, &winner.entrant_id, &tombstone)
        .await
        .expect("noted");
    assert!(tables.store.erase(&winner, &noted).await.expect("written"));
    stack.fine(ERASE).await;
    assert_eq!(openings(&stack, &draw).await, "row,refs,salt\n");
    let winner = contacts(&stack).await.remove(0);
    assert_eq!(
        (winner.submission_id, winner.masked_phone, winner.region),
        (None, None, None)
    );
}

/// An erasure dies at each of its calls; running it again finishes it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn erasure_of_a_winner_is_finished_wherever_it_was_cut() {
    /// Every call would take minutes.
    const STRIDE: usize = 3;
    const PEOPLE: u32 = 32;
    let stack = Stack::with_chai().await;
    let mut people = Vec::new();
    for number in 0..PEOPLE {
        let phone = format!("07110001{number:02}");
        let reference = entered(&stack, &phone, 1).await.reference();
        people.push((phone, reference));
    }
    let draw = frozen_as(&stack, "week-03", &format!("--prize Kettle={PEOPLE}")).await;
    stack.fine(RUN).await;
    for mut contact in contacts(&stack).await {
        for event in [
            ContactEvent::Reached,
            ContactEvent::Identified,
            ContactEvent::HandedOver,
        ] {
            contact = log(&stack, &contact, event).await;
        }
    }

    let faults = Interceptor::at(0, FaultKind::DiesBefore);
    let faulty = faults.in_front_of_all(&AWS, &stack.env).await;
    let mut was_made = true;
    for (number, (phone, reference)) in people.iter().enumerate() {
        let (call, how) = (
            number * STRIDE,
            FaultKind::ALL[number % FaultKind::ALL.len()],
        );
        let erase = ERASE.replace(PHONE, phone);
        faults.arm(call, how);
        faults
            .cut(run_with(&erase, faulty.clone(), &stack.clock))
            .await;
        was_made = faults.was_made();
        faults.disarm();
        stack.fine(&erase).await;
        let found = stack.json(format!("person find --phone {phone}")).await;
        let held = fields(&found["held"][0], "submissions drawn");
        assert_eq!(held, "[] 0", "{how:?} at {call}");
        assert_lacks!(openings(&stack, &draw).await, reference.to_string());
        let contacts = contacts(&stack).await.into_iter();
        let mut contacts = contacts.filter(|contact| contact.reference.as_ref() == Some(reference));
        let contact = contacts.next().expect("the prize stays");
        let person = (contact.submission_id, contact.masked_phone);
        assert_eq!(person, (None, None), "{how:?} at {call}");
        if !was_made {
            break;
        }
    }
    assert!(!was_made, "there were enough people for every call");
}
