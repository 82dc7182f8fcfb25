use proptest::prelude::*;
use serde_json::json;

use super::*;

const AT: Timestamp = Timestamp::from_millis(0);

fn step(event: ContactEvent) -> ContactStep {
    ContactStep {
        at: AT,
        by: None,
        event,
    }
}

fn drawn() -> ContactLog {
    ContactLog {
        steps: vec![step(ContactEvent::Drawn)],
        revision: 0,
    }
}

fn skipped(reason: SkipReason) -> ContactEvent {
    ContactEvent::Skipped {
        reason,
        inspector: None,
    }
}

/// A step a minute later.
fn next(contact: &ContactLog, event: ContactEvent) -> ContactStep {
    let last = contact.changed_at().expect("it was drawn");
    ContactStep {
        at: last.after(MIN_BETWEEN_CALLS),
        ..step(event)
    }
}

/// The contact after events such as `reached skip:declined`.
fn walk(events: &str) -> Result<ContactLog, StepRefused> {
    events
        .split_whitespace()
        .try_fold(drawn(), |contact, name| {
            let event = match name.strip_prefix("skip:") {
                Some(reason) => skipped(serde_json::from_value(json!(reason)).expect(reason)),
                None => serde_json::from_value(json!({ "is": name })).expect(name),
            };
            contact.after(next(&contact, event))
        })
}

#[test]
fn step_follows_the_state_or_is_refused() {
    for (events, expected) in [
        ("", "drawn"),
        ("no_answer", "called 1 of 3 times"),
        ("no_answer no_answer", "called 2 of 3 times"),
        ("no_answer no_answer reached", "reached"),
        ("reached identified", "identified"),
        ("reached identified handed_over", "prize handed over"),
        ("identified", "OutOfOrder"),
        ("handed_over", "OutOfOrder"),
        ("reached handed_over", "OutOfOrder"),
        ("reached no_answer", "OutOfOrder"),
        ("no_answer no_answer skip:no_answer", "TooFewCalls"),
        ("no_answer no_answer no_answer no_answer", "NoMoreCalls"),
        ("no_answer no_answer no_answer reached", "NoMoreCalls"),
        (
            "no_answer no_answer no_answer skip:no_answer",
            "skipped: did not answer three calls",
        ),
        ("skip:excluded reached", "Final"),
        ("skip:excluded skip:excluded", "Final"),
        ("reached skip:excluded reached", "Final"),
        ("reached skip:excluded skip:excluded", "Final"),
        ("reached identified handed_over reached", "Final"),
        ("reached identified handed_over skip:excluded", "Final"),
        ("no_answer skip:under_age", "NotYetReached"),
        ("no_answer skip:not_identified", "NotYetReached"),
        ("no_answer skip:declined", "NotYetReached"),
        ("no_answer skip:not_collected", "NotYetReached"),
        ("reached skip:under_age", "skipped: under 18"),
        (
            "reached skip:not_identified",
            "skipped: showed no identity card, or that of another person",
        ),
        ("reached skip:declined", "skipped: declined the prize"),
        (
            "reached skip:not_collected",
            "skipped: did not collect the prize in time",
        ),
        ("skip:wrong_number", "NotCalled"),
        (
            "reached skip:wrong_number",
            "skipped: the number belongs to another person",
        ),
        ("reached identified skip:wrong_number", "Contradicts"),
        ("reached identified skip:under_age", "Contradicts"),
        ("reached identified skip:no_answer", "Contradicts"),
        (
            "reached identified skip:not_collected",
            "skipped: did not collect the prize in time",
        ),
    ] {
        let state = walk(events).map(|contact| contact.state().to_string());
        let found = state.unwrap_or_else(|refused| format!("{refused:?}"));
        assert_eq!(found, expected, "{events}");
    }
}

#[test]
fn calls_are_a_minute_apart_by_the_clock_of_the_log() {
    use ContactEvent::{NoAnswer, Reached};
    let called = drawn().after(step(NoAnswer)).expect("the first call");
    let possible_at = AT.after(MIN_BETWEEN_CALLS);
    for call in [NoAnswer, Reached] {
        let at = |millis: i64| ContactStep {
            at: Timestamp::from_millis(millis),
            ..step(call.clone())
        };
        // A slow clock is no way round.
        for early in [-3_600_000, 0, 59_999] {
            assert_eq!(
                called.after(at(early)),
                Err(StepRefused::TooSoon { next: possible_at }),
                "{early}"
            );
        }
        assert!(called.after(at(60_000)).is_ok());
    }
    assert!(
        called.after(step(skipped(SkipReason::Excluded))).is_ok(),
        "a skip is no call"
    );
}

#[test]
fn prize_is_held_until_its_winner_is_skipped() {
    for (events, expected) in [
        ("", true),
        ("reached", true),
        ("reached identified handed_over", true),
        ("skip:excluded", false),
    ] {
        let contact = walk(events).expect("each follows");
        assert_eq!(contact.holds_prize(), expected, "{events}");
    }
}

#[test]
fn revoked_winner_is_skipped_for_that_alone() {
    use RowStatus::{Counts, Revoked};
    for (event, row_status, expected) in [
        (ContactEvent::Reached, Revoked, Err(StepRefused::Revoked)),
        (
            skipped(SkipReason::Revoked),
            Revoked,
            Ok(ContactState::Skipped {
                reason: SkipReason::Revoked,
            }),
        ),
        (
            skipped(SkipReason::Revoked),
            Counts,
            Err(StepRefused::NotRevoked),
        ),
        (
            skipped(SkipReason::HasPrize),
            Counts,
            Err(StepRefused::NotGiven),
        ),
        (
            skipped(SkipReason::Erased),
            Counts,
            Err(StepRefused::NotGiven),
        ),
        (
            skipped(SkipReason::PhoneDeleted),
            Counts,
            Err(StepRefused::NotGiven),
        ),
    ] {
        let after = drawn().after_operator(step(event.clone()), row_status);
        assert_eq!(after.map(|after| after.state()), expected, "{event:?}");
    }
}

fn any_event() -> impl Strategy<Value = ContactEvent> {
    prop_oneof![
        Just(ContactEvent::NoAnswer),
        Just(ContactEvent::Reached),
        Just(ContactEvent::Identified),
        Just(ContactEvent::HandedOver),
        prop::sample::select(&SkipReason::ALL[..]).prop_map(skipped),
    ]
}

proptest! {
    #[test]
    fn no_step_is_taken_back_or_left_out(
        events in prop::collection::vec((any_event(), any::<bool>()), 1..40)
    ) {
        let mut contact = drawn();
        for (event, counts) in events {
            let row_status = if counts { RowStatus::Counts } else { RowStatus::Revoked };
            let Ok(after) = contact.after_operator(next(&contact, event), row_status) else { continue };
            prop_assert!(contact.is_open(), "what is final stays");
            prop_assert!(after.steps.starts_with(&contact.steps));
            prop_assert_eq!((after.steps.len(), after.revision), (contact.steps.len() + 1, contact.revision + 1));
            let logged = |wanted: ContactEvent| after.steps.iter().filter(|step| step.event == wanted).count();
            let calls = logged(ContactEvent::NoAnswer) + logged(ContactEvent::Reached);
            prop_assert!(calls <= usize::from(MAX_CALLS));
            prop_assert!(logged(ContactEvent::HandedOver) <= logged(ContactEvent::Identified));
            prop_assert!(logged(ContactEvent::Identified) <= logged(ContactEvent::Reached));
            contact = after;
        }
        // An open contact can always be called or skipped.
        if contact.is_open() {
            let ways = [ContactEvent::Reached, skipped(SkipReason::Excluded)];
            prop_assert!(ways.into_iter().any(|event| contact.after(next(&contact, event)).is_ok()));
        }
    }
}

#[test]
fn reason_is_stored_under_its_key() {
    for reason in SkipReason::ALL {
        assert_eq!(serde_json::to_value(reason).expect("JSON"), reason.as_str());
    }
}

#[test]
fn state_has_a_key() {
    for (events, key) in [
        ("", json!({ "is": "drawn" })),
        ("no_answer no_answer", json!({ "is": "called", "times": 2 })),
        (
            "skip:excluded",
            json!({ "is": "skipped", "reason": "excluded" }),
        ),
    ] {
        assert_eq!(json!(walk(events).expect(events).state()), key);
    }
}
