//! Calls with a test key and their own time.

use std::time::Duration;

use common::domain::campaign::PhoneLimits;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, body, fresh_key, phone};
use service_tests::http::{Reply, RequestBuilder};
use service_tests::receipts::id_of;
use service_tests::service::{NOON, Service};

const HEADER: &str = "svc-test-time";

/// An entry at this time.
fn at(campaign: &TestCampaign, time: &str, number: u32, code: &str) -> RequestBuilder {
    campaign
        .submission(&phone(number), code)
        .header(HEADER, time)
}

async fn outcome(campaign: &TestCampaign, time: &str, number: u32, code: &str) -> Value {
    let reply = at(campaign, time, number, code).send().await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.field("message_key")
}

fn later(hours: u64) -> String {
    NOON.after(Duration::from_hours(hours)).to_string()
}

async fn with(change: impl FnOnce(&mut common::domain::campaign::Campaign)) -> TestCampaign {
    TestCampaign::changed(&Service::at_noon(), change).await
}

#[tokio::test]
async fn entry_is_made_at_its_test_time_and_echoes_it() {
    let campaign = with(|_| {}).await;
    let reply = at(&campaign, "2050-12-31T23:59:59+03:00", 1, "TEST-0-VALID")
        .send()
        .await;
    let time = "2050-12-31T20:59:59.000Z";
    assert_eq!(reply.header(HEADER), Some(time));
    assert_eq!(
        reply.fields("created_at updated_at message_key"),
        format!("{time} {time} entered")
    );
    let found = campaign.lookup(&phone(1)).send().await;
    assert_eq!(found.header(HEADER), None);
    assert_eq!(found.field("submissions")[0]["date"], "2050-12-31");
}

#[tokio::test]
async fn daily_limit_starts_anew_at_the_midnight_of_a_test() {
    let limits = PhoneLimits {
        phone_daily: Some(1),
        phone_total: None,
    };
    // In Egypt, 29 October 2026 has 25 hours, and 24 April 2026 begins at one o'clock.
    for (zone, evening, midnight, year) in [
        (
            "Africa/Dar_es_Salaam",
            "2050-06-15T23:59:59.999+03:00",
            "2050-06-16T00:00:00+03:00",
            2050,
        ),
        (
            "Africa/Cairo",
            "2026-10-29T23:59:59.999+02:00",
            "2026-10-30T00:00:00+02:00",
            2026,
        ),
        (
            "Africa/Cairo",
            "2026-04-23T23:59:59.999+02:00",
            "2026-04-24T01:00:00+03:00",
            2026,
        ),
    ] {
        let service = match year {
            2050 => Service::at_noon(),
            _ => Service::with_clock(common::clock::Clock::manual(
                "2026-06-15T12:00:00Z".parse().expect("a time"),
            )),
        };
        let campaign = TestCampaign::changed(&service, |config| {
            config.limits = limits;
            config.timezone = zone.parse().expect("a zone");
        })
        .await;
        let first = outcome(&campaign, evening, 1, &campaign.code(0)).await;
        let second = outcome(&campaign, evening, 1, &campaign.code(1)).await;
        let next_day = outcome(&campaign, midnight, 1, &campaign.code(1)).await;
        assert_eq!(
            [first, second, next_day],
            ["entered", "daily_limit", "entered"],
            "{evening} in {zone}"
        );
    }
}

#[tokio::test]
async fn campaign_is_over_a_millisecond_after_its_end() {
    let campaign = with(|config| {
        config.window.start = Some(NOON);
        config.window.end = Some(NOON.after(Duration::from_hours(24)));
    })
    .await;
    let status = async |time: &str| {
        let page = campaign.test("GET", "/api/v1/campaign");
        page.header(HEADER, time).send().await.field("status")
    };
    for (number, time, expected, key) in [
        (
            0,
            "2050-06-15T11:59:59.999Z",
            "not_started",
            "campaign_not_started",
        ),
        (1, "2050-06-16T11:59:59.999Z", "live", "entered"),
        (2, "2050-06-16T12:00:00.001Z", "ended", "campaign_ended"),
    ] {
        assert_eq!(status(time).await, expected, "{time}");
        let code = campaign.code(number.into());
        assert_eq!(outcome(&campaign, time, number, &code).await, key, "{time}");
    }
}

#[tokio::test]
async fn throttle_is_over_after_an_hour_of_test_time() {
    let campaign = with(|_| {}).await;
    for _ in 0..10 {
        assert_eq!(outcome(&campaign, &later(0), 1, "WRONG").await, "invalid");
    }
    let throttled = outcome(&campaign, &later(0), 1, &campaign.code(0)).await;
    let real = campaign.outcome(&phone(1), &campaign.code(0)).await;
    assert_eq!(
        (throttled, real),
        (json!("rate_limited"), "rate_limited".to_owned())
    );
    let over = NOON.after(Duration::from_mins(61)).to_string();
    assert_eq!(
        outcome(&campaign, &over, 1, &campaign.code(0)).await,
        "entered"
    );
}

#[tokio::test]
async fn header_that_cannot_count_is_refused() {
    let campaign = with(|_| {}).await;
    let edge = |hours| NOON.after(Duration::from_hours(hours));
    let wrong = [
        "",
        "now",
        "2050-06-15",
        "2050-06-15T12:00:00",
        "2050-06-15T12:00:00Z, 2050-06-15T12:00:00Z",
        "2053-01-01T00:00:00Z",
        "2047-01-01T00:00:00Z",
        &edge(731 * 24).after(Duration::from_millis(1)).to_string(),
    ];
    for time in wrong {
        let reply = at(&campaign, time, 1, &campaign.code(0)).send().await;
        assert_eq!(
            reply.refusal(),
            "422 validation_failed SVC-Test-Time",
            "{time}"
        );
        assert_eq!(reply.header(HEADER), None, "{time}");
    }
    let bytes = campaign
        .test("GET", "/api/v1/campaign")
        .header(HEADER, b"\xe9");
    assert_eq!(
        bytes.send().await.refusal(),
        "422 validation_failed SVC-Test-Time"
    );
    let live = campaign
        .entry(&phone(1), &campaign.code(0))
        .header(HEADER, later(1));
    assert_eq!(
        live.send().await.refusal(),
        "422 validation_failed SVC-Test-Time"
    );
    let last = edge(731 * 24).to_string();
    assert_eq!(
        outcome(&campaign, &last, 1, &campaign.code(0)).await,
        "entered"
    );
}

#[tokio::test]
async fn replay_keeps_the_first_time() {
    let campaign = with(|_| {}).await;
    let key = fresh_key();
    let send = async |time: &str| {
        let sending = campaign
            .test("POST", "/api/v1/submissions")
            .header("idempotency-key", &key);
        let sending = sending.json(&body(&phone(1), &campaign.code(0)));
        sending.header(HEADER, time).send().await
    };
    let first = send(&later(5)).await;
    for hours in [0, 9, 10_000] {
        let again: Reply = send(&later(hours)).await;
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!(again.header(HEADER), Some(later(hours).as_str()));
        assert_eq!(
            again.fields("id created_at"),
            format!("{} {}", id_of(&first), later(5))
        );
    }
}

#[tokio::test]
async fn two_testers_do_not_disturb_each_other() {
    let campaign = with(|config| {
        config.limits.phone_daily = Some(2);
    })
    .await;
    let (early, late) = (later(0), later(24 * 400));
    for (serial, time) in [(0, &early), (1, &late), (2, &early), (3, &late)] {
        let number = u32::from(*time == late);
        let outcome = outcome(&campaign, time, number, &campaign.code(serial)).await;
        assert_eq!(outcome, "entered", "{time}");
    }
    for (number, time) in [(0, &early), (1, &late)] {
        assert_eq!(
            outcome(&campaign, time, number, &campaign.code(4)).await,
            "daily_limit"
        );
    }
    let next_day = outcome(&campaign, &later(24), 0, &campaign.code(4)).await;
    assert_eq!(next_day, "entered");
    let found = campaign.lookup(&phone(1)).send().await;
    assert_eq!(found.field("submissions")[0]["date"], late[..10]);
}
