//! Codes that a partner rejects count as guesses.

use std::time::Duration;

use futures_util::future::join_all;
use service_tests::campaign::{TestCampaign, phone};
use service_tests::partners::{judged_by, simulated};
use service_tests::receipts::id_of;

use super::super::{set_up, status};
use super::{asked, judged, submit};

async fn wrong_codes(campaign: &TestCampaign, number: u32) -> usize {
    let phone = phone(number).parse().expect("a phone");
    let entrant = campaign
        .service
        .entrant(&campaign.live_scope(), &phone, "")
        .await;
    entrant.expect("the table").wrong_codes.len()
}

#[tokio::test]
async fn unjudged_codes_refuse_nothing_and_count_from_sending() {
    let partner = simulated(|_| {}).await;
    let (campaign, settler) = set_up(|campaign| {
        judged_by(partner.url())(campaign);
        campaign.wrong_codes.count = 2;
    })
    .await;
    for number in 1..=5 {
        submit(&campaign, number, &format!("DOWN-{number}")).await;
    }
    let mut sent = Vec::new();
    for code in ["BADC-1", "BADC-2", "OKAY-3"] {
        campaign.service.clock.advance(Duration::from_millis(1));
        let reply = submit(&campaign, 9, code).await;
        assert_eq!(partner.asked(&id_of(&reply)), 0, "spared");
        assert_eq!(reply.field("message_key"), "checking", "{code}");
        assert_eq!(
            wrong_codes(&campaign, 9).await,
            0,
            "silence gives the place back"
        );
        sent.push(reply);
    }
    for _ in 0..60 {
        settler.settle_after(Duration::from_secs(1)).await;
    }
    let mut keys = Vec::new();
    for reply in &sent {
        keys.push(status(&campaign, reply).await[2].clone());
    }
    assert_eq!(keys, ["invalid", "invalid", "entered"]);
    assert_eq!(wrong_codes(&campaign, 9).await, 2);
    assert_eq!(
        submit(&campaign, 9, "OKAY-4").await.field("message_key"),
        "rate_limited"
    );
}

#[tokio::test]
async fn many_guesses_at_once_are_no_more_than_one_after_the_other() {
    let (partner, campaign, _) = judged().await;
    let guesses = join_all((1..=30).map(|number| {
        let campaign = campaign.clone();
        async move { submit(&campaign, 1, &format!("BADC-{number}")).await }
    }))
    .await;
    let limit = usize::try_from(campaign.config.wrong_codes.count).expect("small");
    let judged = guesses
        .iter()
        .filter(|guess| guess.field("message_key") == "invalid")
        .count();
    let unheard = guesses
        .iter()
        .filter(|guess| guess.field("message_key") == "rate_limited")
        .count();
    assert_eq!((judged, unheard), (limit, guesses.len() - limit));
    assert_eq!(usize::try_from(asked(&partner, &guesses)), Ok(limit));
}

#[tokio::test]
async fn codes_that_a_partner_does_not_call_wrong_are_no_guesses() {
    let partner = simulated(|_| {}).await;
    let (campaign, _) = set_up(|campaign| {
        judged_by(partner.url())(campaign);
        campaign.wrong_codes.count = 2;
    })
    .await;
    for (code, key) in [
        ("OKAY-1", "entered"),
        ("USED-1", "already_used"),
        ("WINS-1", "instant_win"),
    ] {
        assert_eq!(submit(&campaign, 1, code).await.field("message_key"), key);
        assert_eq!(wrong_codes(&campaign, 1).await, 0, "{code}");
    }
    assert_eq!(
        submit(&campaign, 1, "BADC-1").await.field("message_key"),
        "invalid"
    );
    // While the partner is asked, the code holds the log's second and last place; it is free again
    // once accepted.
    assert_eq!(
        submit(&campaign, 1, "OKAY-2").await.field("message_key"),
        "entered"
    );
    assert_eq!(
        submit(&campaign, 1, "OKAY-3").await.field("message_key"),
        "entered"
    );
    assert_eq!(wrong_codes(&campaign, 1).await, 1);
}

#[tokio::test]
async fn a_wrong_code_of_a_partner_counts_as_a_guess() {
    let partner = simulated(|_| {}).await;
    let (campaign, _) = set_up(|campaign| {
        judged_by(partner.url())(campaign);
        campaign.wrong_codes.count = 2;
    })
    .await;
    for number in 1..=2 {
        assert_eq!(
            submit(&campaign, 1, &format!("BADC-{number}"))
                .await
                .field("message_key"),
            "invalid"
        );
    }
    let third = submit(&campaign, 1, "OKAY-1").await;
    assert_eq!(third.field("message_key"), "rate_limited");
    assert!(partner.redemptions().is_empty());
}
