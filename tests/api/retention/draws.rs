//! Phones stay while a draw or a prize needs them.

use common::domain::ids::SubmissionId;

use super::*;

pub(crate) fn operator() -> Operator {
    Operator {
        who: "arn:aws:iam::000000000000:user/asha".to_owned(),
        by: Some("asha".to_owned()),
    }
}

/// A draw with one prize, frozen now.
pub(crate) fn frozen(now: Timestamp) -> Draw {
    Draw {
        name: "final".parse().expect("a name"),
        commitment: "a".repeat(64),
        root: "b".repeat(64),
        header: "{}".to_owned(),
        chain: "c".repeat(64),
        round: std::num::NonZeroU64::MIN,
        round_at: now.after(DAY),
        unsettled: 1,
        largest_rows: Vec::new(),
        given_by_hand: 0,
        frozen_at: now,
        frozen_by: operator(),
        published_at: Some(now),
        outcome: None,
        contact_changes: 0,
        abandonment: None,
    }
}

async fn record(draws: &Draws, scope: &Scope, draw: &Draw) {
    let lock = FreezeLock {
        id: draw.name.to_string(),
        draw: draw.name.clone(),
        expires_at: Some(draw.round_at),
        commitment: None,
    };
    let begun = draws.change_freeze_lock(scope, None, &lock).await;
    assert!(begun.expect("it answers"));
    assert!(draws.create(scope, draw, &lock).await.expect("it answers"));
}

/// The draw's winner at this place, drawn now.
pub(crate) fn drawn(place: u64, winner: SubmissionId, now: Timestamp) -> Contact {
    Contact {
        draw: frozen(now).name,
        tier: 0,
        prize: "Kettle".to_owned(),
        place,
        row: place,
        reference: Some(winner.reference()),
        submission_id: Some(winner),
        region: Some("Mwanza".to_owned()),
        masked_phone: Some("+2557•••••678".to_owned()),
        log: ContactLog {
            steps: vec![ContactStep {
                at: now,
                by: None,
                event: ContactEvent::Drawn,
            }],
            revision: 0,
        },
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn phones_stay_until_every_prize_is_handed_over() {
    let service = Service::still();
    let campaign = ending(&service, |_| {}).await;
    let scope = campaign.live_scope();
    let (winner, next) = (enter(&campaign, 1).await, enter(&campaign, 2).await);
    upload(&campaign).await;
    let stays = async |why: &str| {
        sweep_an_hour_later(&service).await;
        for id in [&winner, &next] {
            assert!(has_phone(&campaign, id).await, "{why}");
        }
        let prizes = Some(PostponeReason::PrizesClaimed);
        assert_eq!(postponed(&campaign).await, prizes, "{why}");
    };
    let draws = &service.tables.draws;
    service.clock.advance(DAY * 3 - MINUTE * 30);
    let draw = frozen(service.clock.now());
    record(draws, &scope, &draw).await;
    service.clock.advance(DAY * 2);
    stays("the round is known, and the winners are not drawn").await;
    assert_eq!(photos(&campaign).await, 0, "a prize needs no photo");

    let now = service.clock.now();
    let first = [drawn(1, winner.parse().expect("an id"), now)];
    let added = draws.add_contacts(&scope, &draw.name, 0, &first, Vec::new());
    assert!(added.await.expect("it answers"));
    let (signature, randomness) = (String::new(), String::new());
    let outcome = DrawOutcome {
        signature,
        randomness,
        drawn_at: now,
        drawn_by: operator(),
    };
    let finished = draws.finish(&scope, &draw.name, &outcome).await;
    assert!(finished.expect("it answers"));
    service.clock.advance(DAY * 2);
    stays("the winner is not called").await;
    let [mut before] = first;
    for event in [
        ContactEvent::Reached,
        ContactEvent::Identified,
        ContactEvent::HandedOver,
    ] {
        let step = ContactStep {
            at: service.clock.now(),
            by: Some(operator()),
            event,
        };
        let after = before.after(step).expect("it follows");
        let changed = draws.change_contact(&scope, &before, &after).await;
        assert!(changed.expect("it answers"));
        before = after;
        stays("a day after the last step has not passed").await;
    }
    let handed_over = before.changed_at().expect("it has steps");
    for (at, needed) in [(DAY - Duration::from_millis(1), true), (DAY, false)] {
        let asked = draws.unfinished(&scope, handed_over.after(at)).await;
        assert_eq!(
            !asked.expect("it answers").is_empty(),
            needed,
            "{at:?} after the last step"
        );
    }
    service.clock.advance(DAY);
    sweep_an_hour_later(&service).await;
    for id in [&winner, &next] {
        assert!(!has_phone(&campaign, id).await);
    }
    assert!(progress(&campaign, PersonalData::Phones).await.2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_draw_that_was_published_too_late_to_be_run_keeps_no_phones() {
    let service = Service::still();
    let campaign = ending(&service, |_| {}).await;
    let entered = enter(&campaign, 1).await;
    let draws = &service.tables.draws;
    let frozen = frozen(service.clock.now());
    let late = Draw {
        published_at: Some(frozen.round_at),
        ..frozen
    };
    record(draws, &campaign.live_scope(), &late).await;
    service.clock.advance(DAY * 4);
    sweep_an_hour_later(&service).await;
    assert!(!has_phone(&campaign, &entered).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn phones_stay_until_an_instant_prize_is_handed_over_or_lost() {
    let service = Service::still();
    let campaign = ending(&service, |_| {}).await;
    let prizes = campaign.mint("prizes", BatchStatus::Active, Some("Kettle"));
    let code = campaign.code(prizes.await);
    // A prize of the test environment is none.
    enter_with(&campaign, &campaign.test_key, 1, &code).await;
    let winner = enter_with(&campaign, &campaign.live_key, 1, &code).await;
    service.clock.advance(DAY * 4);
    sweep_an_hour_later(&service).await;
    assert!(has_phone(&campaign, &winner).await);
    let prizes = Some(PostponeReason::PrizesClaimed);
    assert_eq!(postponed(&campaign).await, prizes);
    let wins = service.tables.store.wins();
    let listed = wins.list(&campaign.live_scope()).await;
    let before = &listed.expect("it answers")[0];
    let event = ContactEvent::Skipped {
        reason: SkipReason::Excluded,
        inspector: None,
    };
    let step = ContactStep {
        at: service.clock.now(),
        by: Some(operator()),
        event,
    };
    let after = before.after(step).expect("it follows");
    assert!(wins.log(before, &after).await.expect("it answers"));
    sweep_an_hour_later(&service).await;
    assert!(!has_phone(&campaign, &winner).await);
}
