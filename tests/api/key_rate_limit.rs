//! The per-minute rate limit of a key.

use std::time::Duration;

use common::clock::Clock;
use common::domain::scope::Environment;
use common::domain::timestamp::Timestamp;
use insta::assert_snapshot;
use local::stack::Options;
use service_tests::campaign::{TestCampaign, plain};
use service_tests::http::crowd;
use service_tests::service::{NOON, Service};

const CAMPAIGN: &str = "/api/v1/campaign";

#[tokio::test]
async fn a_key_over_its_limit_is_told_when_the_next_minute_begins() {
    let campaign = TestCampaign::at_noon().await;
    let key = campaign.issue(Environment::Test, 2).await;
    let other = campaign.issue(Environment::Test, 1).await;
    let read = || campaign.with_key(&key, "GET", CAMPAIGN).send();

    // Invalid requests count; those that name another campaign do not.
    let bad = campaign
        .with_key(&key, "POST", "/api/v1/codes/check")
        .raw("not JSON")
        .await;
    assert_eq!(bad.error_code(), "validation_failed");
    let mismatched = campaign
        .with_key(&key, "GET", CAMPAIGN)
        .header("svc-campaign", "another");
    assert_eq!(mismatched.clone().await.error_code(), "campaign_mismatch");
    assert_eq!(read().await.status, 200);
    campaign.advance(Duration::from_millis(12_500));
    let refused = read().await;
    assert_snapshot!(refused.snapshot(), @r#"
    429 {
      "error": {
        "code": "rate_limited",
        "docs_url": "[docs]",
        "fix": "Wait as long as Retry-After says, then send the request again.",
        "message": "Too many requests. The key has used up its 2 requests of this minute.",
        "request_id": "[request id]"
      }
    }
    "#);
    assert_eq!(
        refused.header("retry-after"),
        Some("48"),
        "47.5 seconds, rounded up"
    );
    assert_eq!(
        campaign.with_key(&other, "GET", CAMPAIGN).await.status,
        200,
        "each key has its own"
    );
    assert_eq!(
        mismatched.await.error_code(),
        "campaign_mismatch",
        "judged before the limit"
    );

    campaign.advance(Duration::from_millis(47_499));
    assert!(read().await.is_rate_limited("1"));
    campaign.advance(Duration::from_millis(1));
    assert_eq!(read().await.status, 200, "the next minute has begun");
    assert_eq!(read().await.status, 200);
    assert!(read().await.is_rate_limited("60"));
}

#[tokio::test]
async fn a_request_over_the_limit_is_not_looked_at_further() {
    let campaign = TestCampaign::at_noon().await;
    let key = campaign.issue(Environment::Test, 1).await;
    assert_eq!(campaign.with_key(&key, "GET", CAMPAIGN).await.status, 200);
    for path in [
        "/api/v1/submissions",
        "/api/v1/submissions/lookup",
        "/api/v1/codes/check",
    ] {
        let reply = campaign.with_key(&key, "POST", path).raw("not JSON").await;
        assert_eq!(reply.error_code(), "rate_limited", "{path}");
    }
}

#[tokio::test]
async fn a_limit_admits_exactly_its_number_also_when_all_come_at_once() {
    let campaign = TestCampaign::at_noon().await;
    for limit in [5, 30] {
        let key = campaign.issue(Environment::Test, limit).await;
        let replies = crowd((0..40).map(|_| campaign.with_key(&key, "GET", CAMPAIGN).send())).await;
        let admitted = replies.iter().filter(|reply| reply.status == 200).count();
        let refused = replies.iter().filter(|reply| reply.status == 429).count();
        assert_eq!(
            (u32::try_from(admitted), admitted + refused),
            (Ok(limit), 40)
        );
    }
}

#[tokio::test]
async fn two_processes_together_admit_no_more_than_the_limit() {
    const CEILING: usize = 40;
    let first = Service::at_noon();
    let second = first.beside(Options {
        clock: first.clock.clone(),
        ..Options::default()
    });
    let campaign = TestCampaign::on(&first, plain()).await;
    let elsewhere = TestCampaign {
        service: second,
        ..campaign.clone()
    };
    let key = campaign.issue(Environment::Test, 40).await;
    let sendings = (0..100).map(|number| {
        let campaign = if number % 2 == 0 {
            &campaign
        } else {
            &elsewhere
        };
        campaign.with_key(&key, "GET", CAMPAIGN).send()
    });
    let replies = crowd(sendings).await;
    let admitted = replies.iter().filter(|reply| reply.status == 200).count();
    assert!((1..=CEILING).contains(&admitted), "{admitted} were let in");
    assert!(
        replies
            .iter()
            .all(|reply| reply.status == 200 || reply.status == 429)
    );
}

#[tokio::test]
async fn fast_clock_takes_from_the_next_minute() {
    const LIMIT: usize = 20;
    let late_in_the_minute = Timestamp::from_millis(NOON.as_millis() + 45_000);
    let service = Service::with_clock(Clock::manual(late_in_the_minute));
    let ahead = service.beside(Options {
        clock: Clock::manual(late_in_the_minute.after(Duration::from_secs(30))),
        ..Options::default()
    });
    let campaign = TestCampaign::on(&service, plain()).await;
    let key = campaign
        .issue(Environment::Test, u32::try_from(LIMIT).expect("small"))
        .await;
    let admitted = async |service: &Service, requests: usize| {
        let campaign = TestCampaign {
            service: service.clone(),
            ..campaign.clone()
        };
        let mut admitted = 0;
        for _ in 0..requests {
            let reply = campaign.with_key(&key, "GET", CAMPAIGN).await;
            assert!(matches!(reply.status.as_u16(), 200 | 429), "{}", reply.text);
            admitted += usize::from(reply.status == 200);
        }
        admitted
    };
    assert_eq!(admitted(&ahead, 8).await, 8);
    assert_eq!(
        admitted(&service, LIMIT + 5).await,
        LIMIT,
        "this minute is whole"
    );
    service.clock.advance(Duration::from_secs(30));
    let rest = admitted(&service, LIMIT + 5).await;
    assert!(
        (8..=LIMIT - 8).contains(&rest),
        "{rest} were left of the next one"
    );
}
