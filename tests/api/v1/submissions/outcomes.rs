//! `POST /api/v1/submissions`: every rejection, in order of precedence.

use std::time::Duration;

use common::clock::Clock;
use common::domain::campaign::PhoneLimits;
use common::domain::codebook::BatchStatus;
use common::domain::message::{Language, MessageKey};
use common::domain::scope::Environment;
use common::domain::timestamp::Timestamp;
use serde_json::json;
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::service::Service;

#[tokio::test]
async fn a_refused_consumer_is_a_recorded_submission() {
    let campaign = TestCampaign::plain().await;
    let reply = campaign
        .submission(&phone(1), "WRONG")
        .header("accept-language", "sw")
        .send()
        .await;
    assert_eq!(
        reply.redacted(),
        json!([200, {
            "id": "[uuid]", "ref": "[ref]", "campaign": "[slug]", "livemode": false, "state": "rejected",
            "review_status": null, "display_status": "not_accepted", "message_key": "invalid",
            "message": MessageKey::Invalid.text(Language::Sw), "reasons": ["invalid"], "entries": 0,
            "instant_win": null, "terminal": true, "poll_after_seconds": null, "replayed": false,
            "receipt": null, "consent": { "version": null, "language": "sw" }, "upstream": null, "created_at": "[time]", "updated_at": "[time]",
        }])
    );
    let path = format!(
        "/api/v1/submissions/{}",
        reply.field("id").as_str().expect("an id")
    );
    assert_eq!(
        campaign
            .test("GET", &path)
            .send()
            .await
            .field("message_key"),
        "invalid"
    );
    let seen = campaign
        .test("POST", "/api/v1/submissions/lookup")
        .json(&json!({ "phone": phone(1) }))
        .send()
        .await;
    assert_eq!(seen.field("submissions")[0]["id"], reply.field("id"));
}

#[tokio::test]
async fn a_campaign_that_takes_no_entries_says_why() {
    let past = Some(Timestamp::from_millis(1_000));
    let future = Some(Timestamp::from_millis(4_000_000_000_000));
    let paused = TestCampaign::with(|config| config.paused = true).await;
    assert_eq!(
        paused.outcome(&phone(1), &paused.code(0)).await,
        "campaign_paused"
    );
    let early = TestCampaign::with(|config| config.window.start = future).await;
    assert_eq!(
        early.outcome(&phone(1), &early.code(0)).await,
        "campaign_not_started"
    );
    let late = TestCampaign::with(|config| config.window.end = past).await;
    assert_eq!(late.outcome(&phone(1), "WRONG").await, "campaign_ended");
}

#[tokio::test]
async fn a_redeemed_code_is_used_for_every_other_phone() {
    let campaign = TestCampaign::plain().await;
    campaign.enter(1, 0).await;
    assert_eq!(
        campaign.outcome(&phone(2), &campaign.code(0)).await,
        "already_used"
    );
}

#[tokio::test]
async fn a_code_of_one_environment_is_another_code_in_the_other() {
    let campaign = TestCampaign::plain().await;
    campaign.enter(1, 0).await;
    let live = campaign
        .live("POST", "/api/v1/submissions")
        .header("idempotency-key", "k".repeat(16));
    let reply = live
        .json(&service_tests::campaign::body(&phone(2), &campaign.code(0)))
        .send()
        .await;
    assert_eq!(reply.field("message_key"), "entered");
    assert_eq!(reply.field("livemode"), true);
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
    assert_eq!(campaign.outcome(&phone(1), "chai-12345").await, "entered");
    assert_eq!(
        campaign.outcome(&phone(2), "CHAI 12345").await,
        "already_used"
    );
    assert_eq!(campaign.outcome(&phone(1), "CHAI99999").await, "invalid");
    assert_eq!(campaign.outcome(&phone(1), "CHAIOLD1").await, "invalid");
    campaign.enter(1, 0).await;
    let winner = campaign.submit(&phone(3), "chai win 1").await;
    assert_eq!(
        winner.field("instant_win"),
        "A radio",
        "the prize of the code's own batch"
    );
    let again = campaign.submit(&phone(3), "CHAIWIN1").await;
    assert_eq!(
        (again.field("id"), again.field("replayed")),
        (winner.field("id"), json!(true))
    );
}

#[tokio::test]
async fn new_codes_work_within_a_second_after_wrong_ones() {
    let service = Service::at_noon();
    let campaign = TestCampaign::on(&service, plain()).await;
    let minted = campaign.mint("more", BatchStatus::Reserved, None).await;
    let early = campaign.outcome(&phone(1), &campaign.code(minted)).await;
    assert_eq!(early, "invalid");
    campaign.activate("more").await;
    service.clock.advance(Duration::from_secs(1));
    campaign.enter(1, minted).await;
}

#[tokio::test]
async fn imported_codes_work_at_once_and_minted_ones_soon() {
    let service = Service::at_noon();
    let campaign = TestCampaign::on(&service, plain()).await;
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
    service.clock.advance(Duration::from_secs(1));
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
    let campaign = TestCampaign::on(
        &service,
        common::domain::campaign::Campaign { limits, ..plain() },
    )
    .await;
    let mut outcomes = Vec::new();
    for serial in 0..3 {
        outcomes.push(campaign.outcome(&phone(1), &campaign.code(serial)).await);
    }
    service.clock.advance(Duration::from_secs(1));
    for serial in 3..5 {
        outcomes.push(campaign.outcome(&phone(1), &campaign.code(serial)).await);
    }
    assert_eq!(
        outcomes,
        [
            "entered",
            "entered",
            "daily_limit",
            "entered",
            "entry_limit"
        ]
    );
    assert_eq!(
        campaign.outcome(&phone(2), &campaign.code(2)).await,
        "entered",
        "a refused code stays free"
    );
}

#[tokio::test]
async fn a_blocked_phone_is_refused_until_it_is_unblocked() {
    let campaign = TestCampaign::plain().await;
    let (scope, blocked) = (
        campaign.scope(Environment::Test),
        phone(1).parse().expect("a phone"),
    );
    campaign
        .service
        .set_blocked(&scope, &blocked, true)
        .await
        .expect("blocked");
    assert_eq!(
        campaign.outcome(&phone(1), &campaign.code(0)).await,
        "blocked"
    );
    assert_eq!(
        campaign.outcome(&phone(1), "WRONG").await,
        "blocked",
        "before the code is judged"
    );
    campaign
        .service
        .set_blocked(&scope, &blocked, false)
        .await
        .expect("unblocked");
    campaign.enter(1, 0).await;
}

#[tokio::test]
async fn ten_wrong_codes_within_an_hour_refuse_the_phone_unheard() {
    let service = Service::with_clock(Clock::manual(Timestamp::from_millis(1_800_000_000_000)));
    let campaign = TestCampaign::on(&service, plain()).await;
    for minute in 0..10 {
        assert_eq!(
            campaign.outcome(&phone(1), "WRONG").await,
            "invalid",
            "minute {minute}"
        );
        service.clock.advance(Duration::from_secs(60));
    }
    assert_eq!(campaign.outcome(&phone(1), "WRONG").await, "rate_limited");
    assert_eq!(
        campaign.outcome(&phone(1), &campaign.code(0)).await,
        "rate_limited",
        "a good code as well"
    );
    assert_eq!(
        campaign.outcome(&phone(2), &campaign.code(0)).await,
        "entered",
        "other phones are not touched"
    );
    // Then the first wrong code is an hour old.
    service
        .clock
        .advance(Duration::from_mins(50) - Duration::from_millis(1));
    assert_eq!(
        campaign.outcome(&phone(1), &campaign.code(1)).await,
        "rate_limited"
    );
    service.clock.advance(Duration::from_millis(1));
    assert_eq!(
        campaign.outcome(&phone(1), "WRONG").await,
        "invalid",
        "room for one more"
    );
    assert_eq!(
        campaign.outcome(&phone(1), &campaign.code(1)).await,
        "rate_limited"
    );
    service.clock.advance(Duration::from_secs(60));
    campaign.enter(1, 1).await;
}

#[tokio::test]
async fn used_codes_are_no_guesses() {
    let campaign = TestCampaign::plain().await;
    campaign.enter(1, 0).await;
    for _ in 0..12 {
        assert_eq!(
            campaign.outcome(&phone(2), &campaign.code(0)).await,
            "already_used"
        );
    }
    campaign.enter(2, 1).await;
}

#[tokio::test]
async fn every_refusal_can_be_asked_for_with_a_sentinel() {
    let campaign = TestCampaign::plain().await;
    for key in MessageKey::ALL.iter().filter(|key| key.rejects()) {
        let code = format!("TEST-0-{}", key.as_str().replace('_', "-").to_uppercase());
        let reply = campaign.submit(&phone(1), &code).await;
        assert_eq!(
            (reply.field("state"), reply.field("message_key")),
            (json!("rejected"), json!(key.as_str())),
            "{code}"
        );
    }
    for _ in 0..12 {
        assert_eq!(
            campaign.outcome(&phone(1), "test-0-invalid").await,
            "invalid",
            "a sentinel is no guess"
        );
    }
}

#[tokio::test]
async fn sentinels_enter_each_phone_once_for_each_suffix() {
    let campaign = TestCampaign::with(|config| config.limits.phone_total = Some(2)).await;
    let first = campaign.submit(&phone(1), "TEST-0-VALID").await;
    assert_eq!(first.field("message_key"), "entered");
    let again = campaign.submit(&phone(1), " test-0-valid ").await;
    assert_eq!(
        (again.field("id"), again.field("replayed")),
        (first.field("id"), json!(true))
    );
    assert_eq!(
        campaign.outcome(&phone(2), "TEST-0-VALID").await,
        "entered",
        "phones do not compete"
    );
    let winner = campaign.submit(&phone(1), "TEST-0-INSTANT-WIN.a").await;
    assert_eq!(winner.field("message_key"), "instant_win");
    assert_eq!(
        campaign.outcome(&phone(1), "TEST-0-VALID.b").await,
        "entry_limit",
        "limits are real"
    );
}

#[tokio::test]
async fn a_sentinel_with_a_live_key_leaves_nothing_behind() {
    let campaign = TestCampaign::plain().await;
    let key = service_tests::campaign::fresh_key();
    let send = |code: String| {
        let sending = campaign
            .live("POST", "/api/v1/submissions")
            .header("idempotency-key", &key);
        sending
            .json(&service_tests::campaign::body(&phone(1), &code))
            .send()
    };
    let refused = send("  test-0-valid".to_owned()).await;
    assert_eq!(refused.refusal(), "422 sentinel_with_live_key code");
    assert_eq!(send(campaign.code(0)).await.field("message_key"), "entered");
}
