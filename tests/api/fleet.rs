//! Environments of a function as separate processes, which share nothing in memory.

use std::time::Duration;

use common::clock::Clock;
use common::domain::campaign::{Campaign, ConsentText};
use common::domain::codebook::BatchStatus;
use common::domain::scope::Environment;
use common::store::api_keys::KeyHash;
use futures_util::stream::{self, StreamExt};
use local::stack::Options;
use serde_json::Value;
use service_tests::campaign::{TestCampaign, body, fresh_key, phone, plain};
use service_tests::event;
use service_tests::fleet::{Fleet, Routing};
use service_tests::interceptor::{Disturbance, Interceptor};
use service_tests::random::Random;
use service_tests::service::Service;
use service_tests::template::file_text;
use service_tests::text::{fields, parse_json, text_of};

use crate::process::{fleet, line_after, start};

/// Admitted requests of `requests`.
async fn admitted(fleet: &Fleet, environments: usize, key: &str, requests: usize) -> usize {
    fleet.warm_up(environments).await;
    let event = event::of("GET", "/api/v1/campaign", &[], None, key);
    let answers = stream::iter(0..requests)
        .map(|_| fleet.invoke(&event))
        .buffer_unordered(environments.min(4));
    let statuses: Vec<Value> = answers
        .map(|answer| answer.expect("an answer")["statusCode"].clone())
        .collect()
        .await;
    assert!(
        statuses
            .iter()
            .all(|status| *status == 200 || *status == 429),
        "{statuses:?}"
    );
    statuses.iter().filter(|status| **status == 200).count()
}

#[tokio::test]
async fn a_keys_rate_limit_is_shared_by_a_fleet() {
    const PER_MINUTE: u32 = 240;
    let campaign = TestCampaign::plain().await;
    let clock = Clock::system();
    for routing in [Routing::Even, Routing::Skewed] {
        let fleet = fleet("get-campaign", &campaign.service, routing);
        // Again if the minute changed during the count.
        let admitted = loop {
            let key = campaign.issue(Environment::Test, PER_MINUTE).await;
            let minute = clock.now().as_minutes();
            let admitted = admitted(&fleet, 12, &key, 320).await;
            if clock.now().as_minutes() == minute {
                break admitted;
            }
        };
        assert!(
            (228..=240).contains(&admitted),
            "{routing:?}: {admitted} of {PER_MINUTE}"
        );
    }
}

#[tokio::test]
async fn an_entry_takes_three_round_trips_cold_two_idle_and_one_warm() {
    let clock = Clock::manual(Clock::system().now());
    // The secret was fetched at start-up, so the code book costs no round trip.
    let options = Options {
        clock: clock.clone(),
        background: false,
        ..Options::default()
    };
    let (cold, proxy) = Service::shared().intercepted_beside(options).await;
    // Long enough for concurrent calls to overlap.
    proxy.slow_down(Duration::from_millis(200));
    let campaign = TestCampaign::on(&cold, plain()).await;
    let mut number = 0;
    let mut trips = async |outcome: &str, code: u64| {
        number += 1;
        proxy.take_seen();
        let reply = campaign.submit(&phone(number), &campaign.code(code)).await;
        assert_eq!(reply.field("message_key"), outcome, "{}", reply.text);
        proxy.take_seen().round_trips
    };
    assert_eq!(trips("entered", 0).await, 3, "cold");
    // The first waits for a lease. Afterwards the environment is busy, and leases beside its
    // writes.
    let warm = [
        trips("entered", 1).await,
        trips("entered", 2).await,
        trips("entered", 3).await,
    ];
    assert_eq!(warm, [2, 1, 1], "warm");
    clock.advance(Duration::from_secs(6));
    assert_eq!(trips("entered", 4).await, 2, "idle");
    clock.advance(Duration::from_secs(6));
    assert_eq!(
        trips("already_used", 4).await,
        2,
        "a refusal in an idle environment, which reads first"
    );
    let warm = [
        trips("already_used", 4).await,
        trips("already_used", 4).await,
        trips("already_used", 4).await,
    ];
    assert_eq!(
        warm.iter().min(),
        Some(&2),
        "a warm one finds it by the write, and records it: {warm:?}"
    );
}

/// The entry has consent and an encrypted phone.
#[tokio::test]
async fn a_warm_entry_is_one_call_of_nine_write_units() {
    let (service, proxy) = Service::intercepted().await;
    let consent = ConsentText {
        version: "1".into(),
        en: "I agree".into(),
        sw: "Nakubali".into(),
    };
    let campaign = TestCampaign::changed(&service, |config| config.consent = Some(consent)).await;
    let in_a_day = service
        .clock
        .now()
        .after(Duration::from_hours(24))
        .to_string();
    for with_test_time in [false, true] {
        let mut costs = Vec::new();
        for number in 0..4 {
            let number = number + 4 * u32::from(with_test_time);
            proxy.take_seen();
            let entry = campaign.submission(&phone(number), &campaign.code(number.into()));
            let entry = match with_test_time {
                true => entry.header("svc-test-time", &in_a_day),
                false => entry,
            };
            let reply = entry.await;
            assert_eq!(reply.field("message_key"), "entered", "{}", reply.text);
            let seen = proxy.take_seen();
            costs.push((seen.calls.len(), seen.capacity));
        }
        // The first fills caches, and others lease.
        let cheapest = costs
            .iter()
            .copied()
            .reduce(|one, other| if other.0 < one.0 { other } else { one });
        println!("calls and units of entries: {costs:?}");
        assert_eq!(cheapest, Some((1, 9.0)), "{costs:?}");
    }
}

#[tokio::test]
async fn refusals_and_replays_cost_what_the_capacity_page_says() {
    let options = Options {
        clock: Clock::manual(Clock::system().now()),
        background: false,
        ..Options::default()
    };
    let (service, proxy) = Service::shared().intercepted_beside(options).await;
    let limited = |config: &mut Campaign| config.limits.phone_daily = Some(1);
    let campaign = TestCampaign::changed(&service, limited).await;
    let prizes = campaign.mint("prizes", BatchStatus::Active, Some("A kettle"));
    let first = prizes.await;
    // Warm after the first.
    for number in 0..3 {
        campaign.enter(number, number.into()).await;
    }
    let (page, wrong) = (file_text("infra/docs/capacity.md"), 1_000_000_000_000);
    let (attempt, mut missing) = (fresh_key(), Vec::new());
    for (row, key, number, code, outcome) in [
        (
            "entry with a service code, accepted",
            &attempt,
            3,
            3,
            "entered",
        ),
        (
            "entry with an instant prize",
            &fresh_key(),
            5,
            first,
            "instant_win",
        ),
        (
            "the same, sent again (Idempotency-Key)",
            &attempt,
            3,
            3,
            "entered",
        ),
        (
            "the same, sent again (code and phone)",
            &fresh_key(),
            3,
            3,
            "entered",
        ),
        ("a used code, refused", &fresh_key(), 4, 3, "already_used"),
        ("a wrong code, refused", &fresh_key(), 4, wrong, "invalid"),
        (
            "a code over a limit, refused",
            &fresh_key(),
            3,
            4,
            "daily_limit",
        ),
    ] {
        proxy.take_seen();
        let request = campaign
            .test("POST", "/api/v1/submissions")
            .header("idempotency-key", key.clone());
        let reply = request
            .json(&body(&phone(number), &campaign.code(code)))
            .await;
        assert_eq!(reply.field("message_key"), outcome, "{}", reply.text);
        let seen = proxy.take_seen();
        // The key's limit is told apart: a write unit for each lease.
        let leases = seen.leases();
        let leased = f64::from(u32::try_from(leases).expect("a few"));
        let (calls, writes, reads) = (
            seen.calls.len() - leases,
            seen.write_units - leased,
            seen.capacity - seen.write_units,
        );
        let expected = format!("| {row} | 1 | {calls} | {writes} | {reads} |");
        missing.extend((!page.contains(&expected)).then_some(expected));
    }
    assert_eq!(missing, [""; 0]);
}

#[tokio::test]
async fn every_line_of_the_log_names_whose_request_it_was() {
    let campaign = TestCampaign::plain().await;
    let mut environment = start("create-submission", &campaign.service.variables).await;
    let slug = campaign.config.slug.as_str();
    let mut line = async |key: &str, named: Option<&str>| {
        let mut event = event::entry(&body(&phone(1), &campaign.code(0)), key);
        if let Some(slug) = named {
            event["headers"]["svc-campaign"] = slug.into();
        }
        let answer = environment.invoke(&event).await.expect("an answer");
        let line = parse_json(&environment.next_line().await);
        assert_eq!(
            line["lambda_request_id"],
            "00000000-0000-4000-8000-000000000001"
        );
        assert_eq!(line["gateway_request_id"], "JKJaXmPLvHcESHA=");
        assert_eq!(line["request_id"], answer["headers"]["x-request-id"]);
        line
    };
    let whose = |line: &Value| {
        let named = ["campaign", "environment", "key_id", "outcome"];
        named.map(|name| line[name].as_str().unwrap_or_default().to_owned())
    };
    let key_id = |key: &str| KeyHash::digest(key).key_id().to_owned();
    let [revoked, used_up] = [
        campaign.issue(Environment::Test, 9).await,
        campaign.issue(Environment::Test, 0).await,
    ];
    campaign.revoke(&revoked).await;

    let unknown = line("svc_test_0123456789abcdef", None).await;
    assert_eq!(whose(&unknown), ["", "", "", "key_unknown"]);
    let refused = [
        (line(&revoked, None).await, &revoked, "key_revoked"),
        (line(&used_up, None).await, &used_up, "rate_limited"),
        (
            line(&campaign.test_key, Some("another")).await,
            &campaign.test_key,
            "campaign_mismatch",
        ),
    ];
    for (line, key, outcome) in refused {
        assert_eq!(whose(&line), [slug, "test", &key_id(key), outcome]);
    }
    let entered = line(&campaign.test_key, None).await;
    assert_eq!(
        whose(&entered),
        [slug, "test", &key_id(&campaign.test_key), "entered"]
    );
    let id = text_of(&entered["subject"]);
    assert_eq!(
        campaign.read(&campaign.test_key, id).await.field("state"),
        "accepted"
    );
}

#[tokio::test]
async fn requests_beyond_a_keys_rate_limit_are_not_counted_as_guesses() {
    let campaign = TestCampaign::plain().await;
    let mut environment = start("get-campaign", &campaign.service.variables).await;
    let used_up = campaign.issue(Environment::Live, 0).await;
    let event = event::of("GET", "/api/v1/campaign", &[], None, &used_up);
    let line = line_after(&mut environment, &event).await;
    assert_eq!(fields(&line, "environment outcome"), "live rate_limited");
    for metric in ["RateLimited", "LiveRequests"] {
        assert_eq!(line.get(metric), None);
    }
}

#[tokio::test]
async fn wrong_codes_are_counted_among_live_requests_alone() {
    let campaign = TestCampaign::plain().await;
    let mut environment = start("create-submission", &campaign.service.variables).await;
    let [wrong, right] = [campaign.code(1_000_000_000_000), campaign.code(1)];
    let unknown = "svc_live_0123456789abcdef".to_owned();
    for (key, code, counted) in [
        (&campaign.live_key, &wrong, [Some(1), Some(1)]),
        (&campaign.live_key, &right, [None, Some(1)]),
        (&campaign.test_key, &wrong, [None, None]),
        (&unknown, &wrong, [None, None]),
    ] {
        let event = event::entry(&body(&phone(1), code), key);
        let line = line_after(&mut environment, &event).await;
        let found =
            ["WrongCode", "LiveRequests"].map(|metric| line.get(metric).and_then(Value::as_u64));
        assert_eq!(found, counted, "{line}");
    }
}

#[tokio::test]
async fn nothing_is_lost_when_environments_die_amid_throttling() {
    let _turn = crate::load::turn().await;
    const CLIENTS: u32 = 40;
    let campaign = TestCampaign::plain().await;
    let proxy = Interceptor::default();
    let disturbance = Disturbance {
        throttled_percent: 10,
        lost_percent: 10,
        ..Disturbance::default()
    };
    proxy.disturb(Random::new(7), disturbance);
    let mut service = campaign.service.clone();
    let url = proxy.in_front_of(&service.database_url()).await;
    let variable = "AWS_ENDPOINT_URL_DYNAMODB".to_owned();
    service.variables.insert(variable, url);
    let fleet = fleet("create-submission", &service, Routing::Even);
    fleet.warm_up(4).await;
    let enter = async |number: u32| {
        // Pairs of phones compete for one code.
        let (phone, code) = (phone(number), campaign.code(u64::from(number / 2)));
        let event = event::entry(&body(&phone, &code), &campaign.test_key);
        if number.is_multiple_of(5) {
            fleet
                .kill_during(
                    &event,
                    tokio::time::sleep(Duration::from_millis(u64::from(number % 7))),
                )
                .await;
        }
        loop {
            let answer = fleet.invoke(&event).await.expect("an answer");
            match answer["statusCode"].as_u64() {
                Some(200) => {
                    let body = text_of(&answer["body"]);
                    break parse_json(body)["message_key"].clone();
                }
                // Retried, as callers do.
                Some(409 | 500 | 503) => {}
                _ => panic!("{answer}"),
            }
        }
    };
    let outcomes = stream::iter(0..CLIENTS)
        .map(enter)
        .buffered(4)
        .collect::<Vec<Value>>()
        .await;
    for (pair, outcomes) in outcomes.chunks(2).enumerate() {
        let mut outcomes: Vec<_> = outcomes.iter().filter_map(Value::as_str).collect();
        outcomes.sort_unstable();
        assert_eq!(
            outcomes,
            ["already_used", "entered"],
            "the phones of code {pair}"
        );
    }
    let mut entries = 0;
    for number in 0..CLIENTS {
        entries += campaign.entrant(Environment::Test, number).await.entries;
    }
    let holds = campaign
        .service
        .holds(&campaign.scope(Environment::Test))
        .await;
    assert_eq!((entries, holds.len()), (20, 20));
}
