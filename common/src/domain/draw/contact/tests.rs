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

fn drawn() -> Contact {
    Contact {
        draw: "week-03".parse().expect("a name"),
        tier: 0,
        prize: "grand-prize".to_owned(),
        place: 1,
        row: 7,
        reference: "K7M2Q9XD".parse().ok(),
        submission_id: Some(SubmissionId::from_random([7; 24])),
        region: Some("Mwanza".to_owned()),
        masked_phone: Some("+2557•••••678".to_owned()),
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

/// A step a minute after the last one.
fn next(contact: &Contact, event: ContactEvent) -> ContactStep {
    let last = contact.changed_at().expect("it was drawn");
    ContactStep {
        at: last.after(MIN_BETWEEN_CALLS),
        ..step(event)
    }
}

/// The state after these events, or why one of them is refused.
fn after(events: &[ContactEvent]) -> Result<ContactState, StepRefused> {
    let last = events.iter().try_fold(drawn(), |contact, event| {
        contact.after(next(&contact, event.clone()))
    });
    last.map(|contact| contact.state())
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
        // A clock that is behind is no way round.
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
fn prize_is_handed_over_after_call_and_identity_card() {
    use ContactEvent::{HandedOver, Identified, NoAnswer, Reached};
    let walk = [NoAnswer, NoAnswer, Reached, Identified, HandedOver];
    let states = [
        ContactState::Drawn,
        ContactState::Called { times: 1 },
        ContactState::Called { times: 2 },
        ContactState::Reached,
        ContactState::Identified,
        ContactState::HandedOver,
    ];
    for (steps, state) in states.into_iter().enumerate() {
        assert_eq!(after(&walk[..steps]), Ok(state));
    }
    for early in [
        &[Identified][..],
        &[HandedOver],
        &[Reached, HandedOver],
        &[Reached, NoAnswer],
    ] {
        assert_eq!(after(early), Err(StepRefused::OutOfOrder), "{early:?}");
    }
}

#[test]
fn winner_without_an_answer_is_called_three_times() {
    use ContactEvent::{NoAnswer, Reached};
    let skip = || skipped(SkipReason::NoAnswer);
    assert_eq!(
        after(&[NoAnswer, NoAnswer, skip()]),
        Err(StepRefused::TooFewCalls)
    );
    let calls = [NoAnswer, NoAnswer, NoAnswer];
    for fourth in [NoAnswer, Reached] {
        assert_eq!(
            after(&[&calls[..], &[fourth]].concat()),
            Err(StepRefused::NoMoreCalls)
        );
    }
    let end = ContactState::Skipped {
        reason: SkipReason::NoAnswer,
    };
    assert_eq!(after(&[&calls[..], &[skip()]].concat()), Ok(end));
}

#[test]
fn prize_is_held_until_its_winner_is_skipped() {
    use ContactEvent::{HandedOver, Identified, Reached};
    let holds = |events: &[ContactEvent]| {
        let last = events.iter().try_fold(drawn(), |contact, event| {
            contact.after(next(&contact, event.clone()))
        });
        last.expect("each follows").holds_prize()
    };
    assert!(holds(&[]) && holds(&[Reached]) && holds(&[Reached, Identified, HandedOver]));
    assert!(!holds(&[skipped(SkipReason::Excluded)]));
}

#[test]
fn what_is_final_stays() {
    use ContactEvent::{HandedOver, Identified, Reached};
    let skip = skipped(SkipReason::Excluded);
    for walk in [
        vec![skip.clone()],
        vec![Reached, skip.clone()],
        vec![Reached, Identified, HandedOver],
    ] {
        assert!(after(&walk).is_ok(), "{walk:?}");
        for event in [Reached, skip.clone()] {
            assert_eq!(
                after(&[&walk[..], &[event]].concat()),
                Err(StepRefused::Final)
            );
        }
    }
}

#[test]
fn reason_needs_what_it_tells_of() {
    use ContactEvent::{Identified, NoAnswer, Reached};
    let talked = [
        SkipReason::UnderAge,
        SkipReason::NotIdentified,
        SkipReason::Declined,
        SkipReason::NotCollected,
    ];
    for reason in talked {
        assert_eq!(
            after(&[NoAnswer, skipped(reason)]),
            Err(StepRefused::NotYetReached),
            "{reason:?}"
        );
        assert_eq!(
            after(&[Reached, skipped(reason)]),
            Ok(ContactState::Skipped { reason })
        );
    }
    let wrong = skipped(SkipReason::WrongNumber);
    assert_eq!(
        after(std::slice::from_ref(&wrong)),
        Err(StepRefused::NotCalled)
    );
    assert!(after(&[Reached, wrong.clone()]).is_ok());
    for contradiction in [
        wrong,
        skipped(SkipReason::UnderAge),
        skipped(SkipReason::NoAnswer),
    ] {
        assert_eq!(
            after(&[Reached, Identified, contradiction]),
            Err(StepRefused::Contradicts)
        );
    }
    assert!(after(&[Reached, Identified, skipped(SkipReason::NotCollected)]).is_ok());
}

#[test]
fn who_was_revoked_since_gets_nothing_and_is_skipped_for_that() {
    let by_operator = |event: ContactEvent, row_status| {
        drawn()
            .after_operator(step(event), row_status)
            .map(|after| after.state())
    };
    let revoked = skipped(SkipReason::Revoked);
    assert_eq!(
        by_operator(ContactEvent::Reached, RowStatus::Revoked),
        Err(StepRefused::Revoked)
    );
    let end = ContactState::Skipped {
        reason: SkipReason::Revoked,
    };
    assert_eq!(by_operator(revoked.clone(), RowStatus::Revoked), Ok(end));
    assert_eq!(
        by_operator(revoked, RowStatus::Counts),
        Err(StepRefused::NotRevoked)
    );
    for reason in [
        SkipReason::HasPrize,
        SkipReason::Erased,
        SkipReason::PhoneDeleted,
    ] {
        assert_eq!(
            by_operator(skipped(reason), RowStatus::Counts),
            Err(StepRefused::NotGiven)
        );
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
fn erasure_leaves_the_place_the_reference_and_the_steps() {
    let erased = drawn().erased();
    assert_eq!(
        (erased.place, erased.reference, erased.revision),
        (1, drawn().reference, 1)
    );
    assert_eq!(
        (erased.region, erased.masked_phone, erased.submission_id),
        (None, None, None)
    );
    assert_eq!(erased.steps, drawn().steps);
}

#[test]
fn reason_is_stored_under_its_key() {
    for reason in SkipReason::ALL {
        assert_eq!(serde_json::to_value(reason).expect("JSON"), reason.as_str());
    }
}

#[test]
fn state_has_words_and_a_key() {
    for (state, words, key) in [
        (ContactState::Drawn, "drawn", json!({ "is": "drawn" })),
        (
            ContactState::Called { times: 2 },
            "called 2 of 3 times",
            json!({ "is": "called", "times": 2 }),
        ),
        (
            ContactState::HandedOver,
            "prize handed over",
            json!({ "is": "handed_over" }),
        ),
        (
            ContactState::Skipped {
                reason: SkipReason::NoAnswer,
            },
            "skipped: did not answer three calls",
            json!({ "is": "skipped", "reason": "no_answer" }),
        ),
    ] {
        assert_eq!(state.to_string(), words);
        assert_eq!(serde_json::to_value(state).expect("JSON"), key);
    }
}
