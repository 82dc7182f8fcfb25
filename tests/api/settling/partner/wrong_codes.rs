//! Codes that a partner rejects count as guesses.

use std::time::Duration;

use common::domain::scope::Environment;
use futures_util::future::join_all;
use local::partner::SimulatedPartner;
use service_tests::campaign::TestCampaign;
use service_tests::http::Reply;
use service_tests::partners::{judged_by, simulated};
use service_tests::receipts::{Settler, id_of};

use super::super::set_up;
use super::{asked, judged, key_of, submit};

/// A partner's campaign in which two wrong codes are the limit.
async fn limited() -> (SimulatedPartner, TestCampaign, Settler) {
    let partner = simulated(|_| {}).await;
    let (campaign, settler) = set_up(|campaign| {
        judged_by(partner.url())(campaign);
        campaign.wrong_codes.count = 2;
    })
    .await;
    (partner, campaign, settler)
}

async fn wrong_codes(campaign: &TestCampaign, number: u32) -> usize {
    let entrant = campaign.entrant(Environment::Live, number).await;
    entrant.wrong_codes.len()
}

#[tokio::test]
async fn unjudged_codes_refuse_nothing_and_count_from_sending() {
    let (partner, campaign, settler) = limited().await;
    for number in 1..=5 {
        submit(&campaign, number, &format!("DOWN-{number}")).await;
    }
    let mut sent = Vec::new();
    for code in ["BADC-1", "BADC-2", "OKAY-3"] {
        campaign.advance(Duration::from_millis(1));
        let reply = submit(&campaign, 9, code).await;
        assert_eq!(partner.asked(&id_of(&reply)), 0, "spared");
        assert_eq!(reply.field("message_key"), "checking", "{code}");
        let counted = wrong_codes(&campaign, 9).await;
        assert_eq!(counted, 0, "silence gives the place back");
        sent.push(reply);
    }
    for _ in 0..60 {
        settler.settle_after(Duration::from_secs(1)).await;
    }
    let mut keys = Vec::new();
    for reply in &sent {
        keys.push(campaign.shown(reply).await.field("message_key"));
    }
    assert_eq!(keys, ["invalid", "invalid", "entered"]);
    assert_eq!(wrong_codes(&campaign, 9).await, 2);
    assert_eq!(key_of(&campaign, 9, "OKAY-4").await, "rate_limited");
}

#[tokio::test]
async fn many_guesses_at_once_are_no_more_than_one_after_the_other() {
    let (partner, campaign, _) = judged().await;
    let limit = campaign.config.wrong_codes.count;
    for phone in 1..=5 {
        let guess =
            async |number| submit(&campaign, phone, &format!("BADC-{phone}-{number}")).await;
        let guesses = join_all((1..=15).map(guess)).await;
        let with = |key: &str| {
            let of_key = |guess: &&Reply| guess.field("message_key") == key;
            u32::try_from(guesses.iter().filter(of_key).count()).expect("few")
        };
        if with("checking") > 0 {
            // On a busy machine an answer came too late for its reply.
            assert!(asked(&partner, &guesses) <= limit + with("checking"));
            assert!(with("invalid") <= limit);
            continue;
        }
        assert_eq!(asked(&partner, &guesses), limit);
        assert_eq!((with("invalid"), with("rate_limited")), (limit, 15 - limit));
        return;
    }
    panic!("no phone's guesses were all answered in time");
}

#[tokio::test]
async fn codes_that_a_partner_does_not_call_wrong_are_no_guesses() {
    let (_partner, campaign, _) = limited().await;
    for (code, key) in [
        ("OKAY-1", "entered"),
        ("USED-1", "already_used"),
        ("WINS-1", "instant_win"),
    ] {
        assert_eq!(key_of(&campaign, 1, code).await, key);
        assert_eq!(wrong_codes(&campaign, 1).await, 0, "{code}");
    }
    // While the partner is asked, the code holds the log's second and last place; it is free again
    // once accepted.
    for (code, key) in [
        ("BADC-1", "invalid"),
        ("OKAY-2", "entered"),
        ("OKAY-3", "entered"),
    ] {
        assert_eq!(key_of(&campaign, 1, code).await, key);
    }
    assert_eq!(wrong_codes(&campaign, 1).await, 1);
}

#[tokio::test]
async fn a_wrong_code_of_a_partner_counts_as_a_guess() {
    let (partner, campaign, _) = limited().await;
    for (code, key) in [
        ("BADC-1", "invalid"),
        ("BADC-2", "invalid"),
        ("OKAY-1", "rate_limited"),
    ] {
        assert_eq!(key_of(&campaign, 1, code).await, key);
    }
    assert!(partner.redemptions().is_empty());
}
