//! The circuit breaker of a failing partner.

use std::time::Duration;

use common::clock::Clock;
use common::domain::ids::SubmissionId;
use common::store::breakers::{BreakerPermit, Breakers};
use futures_util::future::join_all;
use local::stack::Options;
use service_tests::campaign::TestCampaign;
use service_tests::partners::judged_by;
use service_tests::receipts::{Settler, id_of};
use service_tests::serving::listen;

use super::super::{SPEEDUP, set_up};
use super::{asked, judged, key_of, submit};

/// The breaker's first wait, and ten seconds over which submissions are spread.
fn first_wait() -> Duration {
    Duration::from_secs(5 + 10) / SPEEDUP
}

#[tokio::test]
async fn a_partner_that_is_down_is_left_in_peace_but_for_one_probe() {
    let (partner, campaign, _) = judged().await;
    let mut open = Vec::new();
    for number in 1..=20 {
        open.push(submit(&campaign, number, &format!("DEAD-{number}")).await);
    }
    assert_eq!(asked(&partner, &open), 5, "then the breaker opens");
    // After the first wait all are due, but only one probe passes.
    campaign.advance(first_wait() + Duration::from_millis(1));
    let settlers = [(); 4].map(|()| Settler::new(&campaign.service));
    let settling = settlers
        .iter()
        .map(|settler| settler.settle_after(Duration::from_millis(50)));
    join_all(settling).await;
    assert_eq!(asked(&partner, &open), 6);
}

#[tokio::test]
async fn failures_at_once_open_the_breaker_for_its_first_wait() {
    let (partner, campaign, settler) = judged().await;
    let fail = async |number| submit(&campaign, number, &format!("DEAD-{number}")).await;
    let open = join_all((1..=40).map(fail)).await;
    let before = asked(&partner, &open);
    // Ten minutes if every failure doubled it.
    settler.settle_after(first_wait()).await;
    let after = asked(&partner, &open);
    assert_eq!(after, before + 1, "one probe, and no more after it failed");
}

#[tokio::test]
async fn unknown_answer_is_no_reason_to_spare_the_partner() {
    let (partner, campaign, _) = judged().await;
    for number in 1..=10 {
        let reply = submit(&campaign, number, &format!("NEWC-{number}")).await;
        assert_eq!(reply.field("state"), "unknown");
        assert_eq!(partner.asked(&id_of(&reply)), 1);
    }
    assert_eq!(key_of(&campaign, 11, "OKAY-1").await, "entered");
}

#[tokio::test]
async fn submissions_that_always_fail_keep_no_other_waiting() {
    let (partner, campaign, settler) = judged().await;
    for number in 1..=5 {
        submit(&campaign, number, &format!("DEAD-{number}")).await;
    }
    let honest = submit(&campaign, 9, "OKAY-9").await;
    assert_eq!(honest.field("state"), "unknown", "it is open");
    assert_eq!(partner.asked(&id_of(&honest)), 0);
    // It is the probe, and none of the others.
    settler.settle_after(first_wait()).await;
    assert_eq!(campaign.shown(&honest).await.field("state"), "accepted");
    assert_eq!(
        key_of(&campaign, 10, "OKAY-10").await,
        "entered",
        "it is closed"
    );
}

#[tokio::test]
async fn silent_partner_opens_the_breaker() {
    let (listener, url) = listen().await;
    let (campaign, _) = set_up(judged_by(url + "/redeem")).await;
    let rules = campaign.config.partner.as_ref().expect("rules");
    assert_eq!(rules.timeout_seconds, 8, "all it can have");
    let silence = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
            assert!(held.len() <= 5, "it is spared then");
        }
    });
    let ask = async |number| submit(&campaign, number, &format!("OKAY-{number}")).await;
    join_all((1..=5).map(ask)).await;
    assert_eq!(ask(6).await.field("state"), "unknown");
    assert!(!silence.is_finished(), "no sixth connection");
    silence.abort();
}

#[tokio::test]
async fn failure_that_opens_the_breaker_alone_says_so() {
    let (_partner, campaign, _) = judged().await;
    let (scope, now) = (
        campaign.live_scope().to_string(),
        campaign.service.clock.now(),
    );
    let env = &campaign.service.env;
    let breakers = Breakers::for_partners(env, &campaign.service.dynamodb()).expect("the table");
    let mut grants = Vec::new();
    for number in 1..=7 {
        let id = SubmissionId::from_random([number; 24]).to_string();
        let permit = breakers.acquire(&scope, &id, false, now).await;
        match permit.expect("it answers") {
            BreakerPermit::Granted(grant) => grants.push(grant),
            BreakerPermit::CircuitOpen { .. } => panic!("it is closed"),
        }
    }
    let late = grants.pop().expect("seven");
    let mut opened = Vec::new();
    for grant in grants {
        let failed = breakers.record_failure(&scope, grant, now).await;
        opened.push(failed.expect("it answers"));
    }
    assert_eq!(opened, [false, false, false, false, true, false]);
    let nowhere = [("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1")];
    let broken = campaign.service.with_variables(&nowhere);
    let broken = Breakers::for_partners(env, &broken.dynamodb()).expect("the table");
    assert!(broken.record_failure(&scope, late, now).await.is_err());
}

#[tokio::test]
async fn open_breaker_is_seen_by_others_within_a_second() {
    let (_partner, campaign, _) = judged().await;
    let (scope, start) = (
        campaign.live_scope().to_string(),
        campaign.service.clock.now(),
    );
    let env = &campaign.service.env;
    let environment =
        || Breakers::for_partners(env, &campaign.service.dynamodb()).expect("the table");
    let (one, other) = (environment(), environment());
    let id = |number: u8| SubmissionId::from_random([number; 24]).to_string();
    let is_granted = async |breakers: &Breakers, now| {
        let permit = breakers
            .acquire(&scope, &id(9), false, now)
            .await
            .expect("it answers");
        matches!(permit, BreakerPermit::Granted(_))
    };
    assert!(is_granted(&other, start).await);
    for number in 1..=5 {
        let permit = one
            .acquire(&scope, &id(number), false, start)
            .await
            .expect("it answers");
        let BreakerPermit::Granted(grant) = permit else {
            panic!("open after {number}")
        };
        let opened = one
            .record_failure(&scope, grant, start)
            .await
            .expect("it answers");
        assert_eq!(opened, number == 5);
    }
    assert!(!is_granted(&one, start).await, "at once");
    assert!(
        is_granted(&other, start.after(Duration::from_millis(50))).await,
        "it need not look again yet"
    );
    // Then the shortened wait is over: one probe passes.
    let later = start.after(Duration::from_secs(1));
    let permit = other
        .acquire(&scope, &id(9), false, later)
        .await
        .expect("it answers");
    assert!(matches!(permit, BreakerPermit::Granted(grant) if grant.is_probe()));
}

#[tokio::test]
async fn breaker_opened_by_a_fast_clock_only_delays_submissions() {
    let (_partner, campaign, settler) = judged().await;
    let start = campaign.service.clock.now();
    let ahead = campaign.service.beside(Options {
        clock: Clock::manual(start.after(Duration::from_secs(30))),
        background: false,
        speedup: SPEEDUP,
        ..Options::default()
    });
    let campaign_ahead = TestCampaign {
        service: ahead,
        ..campaign.clone()
    };
    for number in 1..=5 {
        submit(&campaign_ahead, number, &format!("DEAD-{number}")).await;
    }
    let entered = submit(&campaign, 6, "OKAY-6").await;
    assert_eq!(entered.field("state"), "unknown", "it is open");
    settler.settle_after(Duration::from_secs(29)).await;
    let state = async || campaign.shown(&entered).await.field("state");
    assert_eq!(
        state().await,
        "unknown",
        "it is open by the clock that opened it"
    );
    settler.settle_after(Duration::from_secs(2)).await;
    assert_eq!(state().await, "accepted");
}

#[tokio::test]
async fn one_submission_that_fails_does_not_open_the_breaker() {
    let (partner, campaign, settler) = judged().await;
    let poison = submit(&campaign, 1, "DEAD-1").await;
    for _ in 0..8 {
        settler.settle_after(Duration::from_secs(1)).await;
    }
    assert!(partner.asked(&id_of(&poison)) >= 5);
    assert_eq!(key_of(&campaign, 2, "OKAY-2").await, "entered");
}
