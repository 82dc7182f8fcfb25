//! `POST /api/v1/submissions`: every rejection, in order of precedence.

use std::time::Duration;

use common::clock::Clock;
use common::domain::campaign::{Campaign, PhoneLimits};
use common::domain::codebook::BatchStatus;
use common::domain::message::MessageKey;
use common::domain::scope::Environment;
use common::domain::timestamp::Timestamp;
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::service::Service;

#[tokio::test]
async fn a_campaign_that_takes_no_entries_says_why() {
    let past = Some(Timestamp::from_millis(1_000));
    let future = Some(Timestamp::from_millis(4_000_000_000_000));
    for outcome in ["campaign_paused", "campaign_not_started", "campaign_ended"] {
        let closed = |config: &mut Campaign| match outcome {
            "campaign_paused" => config.paused = true,
            "campaign_not_started" => config.window.start = future,
            _ => config.window.end = past,
        };
        let campaign = TestCampaign::with(closed).await;
        // Before the code is judged.
        for code in [campaign.code(0), "WRONG".to_owned()] {
            assert_eq!(campaign.outcome(&phone(1), &code).await, outcome);
        }
    }
}

#[tokio::test]
async fn only_codes_of_a_batch_that_counts_are_genuine() {
    let campaign = TestCampaign::plain().await;
    let reserved = campaign.mint("reserved", BatchStatus::Reserved, None).await;
    let void = campaign.mint("void", BatchStatus::Void, None).await;
    campaign.enter(1, 99).await;
    // The last was never minted.
    for serial in [reserved, void, 300] {
        let outcome = campaign.outcome(&phone(1), &campaign.code(serial)).await;
        assert_eq!(outcome, "invalid", "{serial}");
    }
}

#[tokio::test]
async fn imported_codes_live_beside_minted_ones() {
    let campaign = TestCampaign::plain().await;
    campaign
        .import(
            "printed",
            BatchStatus::Active,
            None,
            &["CHAI12345", "CHAI12346"],
        )
        .await;
    campaign
        .import(
            "winners",
            BatchStatus::Active,
            Some("A radio"),
            &["CHAIWIN1"],
        )
        .await;
    campaign
        .import("recalled", BatchStatus::Void, None, &["CHAIOLD1"])
        .await;
    for (number, code, outcome) in [
        (1, "chai-12345", "entered"),
        (2, "CHAI 12345", "already_used"),
        (1, "CHAI99999", "invalid"),
        (1, "CHAIOLD1", "invalid"),
    ] {
        assert_eq!(
            campaign.outcome(&phone(number), code).await,
            outcome,
            "{code}"
        );
    }
    campaign.enter(1, 0).await;
    let winner = campaign.submit(&phone(3), "chai win 1").await;
    assert_eq!(
        winner.field("instant_win"),
        "A radio",
        "the prize of the code's own batch"
    );
    let again = campaign.submit(&phone(3), "CHAIWIN1").await;
    assert_eq!(again.fields("id replayed"), winner.fields("id") + " true");
}

#[tokio::test]
async fn new_codes_work_within_a_second_after_wrong_ones() {
    let campaign = TestCampaign::at_noon().await;
    let minted = campaign.mint("more", BatchStatus::Reserved, None).await;
    let early = campaign.outcome(&phone(1), &campaign.code(minted)).await;
    assert_eq!(early, "invalid");
    campaign.activate("more").await;
    campaign.advance(Duration::from_secs(1));
    campaign.enter(1, minted).await;
}

#[tokio::test]
async fn imported_codes_work_at_once_and_minted_ones_soon() {
    let campaign = TestCampaign::at_noon().await;
    for (batch, prize, code, outcome) in [
        ("printed", None, "CHAI11111", "entered"),
        ("second", Some("A radio"), "CHAI22222", "instant_win"),
    ] {
        campaign
            .import(batch, BatchStatus::Active, prize, &[code])
            .await;
        assert_eq!(campaign.outcome(&phone(1), code).await, outcome);
    }
    let beside = campaign.mint("third", BatchStatus::Active, None).await;
    campaign.advance(Duration::from_secs(1));
    campaign.enter(1, beside).await;
}

#[tokio::test]
async fn the_daily_limit_starts_anew_at_the_campaigns_own_midnight() {
    // 23:59:59 in Dar es Salaam is 20:59:59 UTC.
    let service = Service::with_clock(Clock::manual(Timestamp::from_millis(1_767_214_799_000)));
    let limits = PhoneLimits {
        phone_daily: Some(2),
        phone_total: Some(3),
    };
    let campaign = TestCampaign::changed(&service, |config| config.limits = limits).await;
    for (serial, outcome) in [
        (0, "entered"),
        (1, "entered"),
        (2, "daily_limit"),
        (3, "entered"),
        (4, "entry_limit"),
    ] {
        if serial == 3 {
            campaign.advance(Duration::from_secs(1));
        }
        let code = campaign.code(serial);
        assert_eq!(
            campaign.outcome(&phone(1), &code).await,
            outcome,
            "{serial}"
        );
    }
    // A refused code stays free.
    campaign.enter(2, 2).await;
}

#[tokio::test]
async fn a_blocked_phone_is_refused_until_it_is_unblocked() {
    let campaign = TestCampaign::plain().await;
    campaign.set_blocked(Environment::Test, 1, true).await;
    // Before the code is judged.
    for code in [campaign.code(0), "WRONG".to_owned()] {
        assert_eq!(campaign.outcome(&phone(1), &code).await, "blocked");
    }
    campaign.set_blocked(Environment::Test, 1, false).await;
    campaign.enter(1, 0).await;
}

#[tokio::test]
async fn ten_wrong_codes_within_an_hour_refuse_the_phone_unheard() {
    let service = Service::with_clock(Clock::manual(Timestamp::from_millis(1_800_000_000_000)));
    let campaign = TestCampaign::on(&service, plain()).await;
    let outcome = async |number: u32, code: &str| campaign.outcome(&phone(number), code).await;
    for minute in 0..10 {
        assert_eq!(outcome(1, "WRONG").await, "invalid", "minute {minute}");
        campaign.advance(Duration::from_secs(60));
    }
    // A good code as well, but no other phone.
    let good = campaign.code(0);
    assert_eq!(outcome(1, "WRONG").await, "rate_limited");
    assert_eq!(outcome(1, &good).await, "rate_limited");
    assert_eq!(outcome(2, &good).await, "entered");
    // Then the first wrong code is an hour old: room for one more.
    campaign.advance(Duration::from_mins(50) - Duration::from_millis(1));
    assert_eq!(outcome(1, &campaign.code(1)).await, "rate_limited");
    campaign.advance(Duration::from_millis(1));
    assert_eq!(outcome(1, "WRONG").await, "invalid");
    assert_eq!(outcome(1, &campaign.code(1)).await, "rate_limited");
    campaign.advance(Duration::from_secs(60));
    campaign.enter(1, 1).await;
}

#[tokio::test]
async fn used_codes_are_no_guesses() {
    let campaign = TestCampaign::plain().await;
    campaign.enter(1, 0).await;
    for _ in 0..12 {
        let outcome = campaign.outcome(&phone(2), &campaign.code(0)).await;
        assert_eq!(outcome, "already_used");
    }
    campaign.enter(2, 1).await;
}

#[tokio::test]
async fn every_refusal_can_be_asked_for_with_a_sentinel() {
    let campaign = TestCampaign::plain().await;
    for key in MessageKey::ALL.iter().filter(|key| key.rejects()) {
        let code = format!("TEST-0-{}", key.as_str().replace('_', "-").to_uppercase());
        let reply = campaign.submit(&phone(1), &code).await;
        let expected = format!("rejected {}", key.as_str());
        assert_eq!(reply.fields("state message_key"), expected, "{code}");
    }
    // A sentinel is no guess.
    for _ in 0..12 {
        let outcome = campaign.outcome(&phone(1), "test-0-invalid").await;
        assert_eq!(outcome, "invalid");
    }
}

#[tokio::test]
async fn sentinels_enter_each_phone_once_for_each_suffix() {
    let campaign = TestCampaign::with(|config| config.limits.phone_total = Some(2)).await;
    let first = campaign.submit(&phone(1), "TEST-0-VALID").await;
    assert_eq!(first.field("message_key"), "entered");
    let again = campaign.submit(&phone(1), " test-0-valid ").await;
    assert_eq!(again.fields("id replayed"), first.fields("id") + " true");
    // Phones do not compete, and limits are real.
    for (number, code, outcome) in [
        (2, "TEST-0-VALID", "entered"),
        (1, "TEST-0-INSTANT-WIN.a", "instant_win"),
        (1, "TEST-0-VALID.b", "entry_limit"),
    ] {
        assert_eq!(
            campaign.outcome(&phone(number), code).await,
            outcome,
            "{code}"
        );
    }
}
