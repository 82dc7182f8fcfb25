//! `POST /api/v1/codes/check`: limit of 30 per address range in 10 minutes.

use std::time::Duration;

use insta::assert_snapshot;
use serde_json::json;
use service_tests::campaign::{TestCampaign, plain};
use service_tests::http::{RequestBuilder, crowd};

const LIMIT: usize = 30;

fn from(campaign: &TestCampaign, address: &str) -> RequestBuilder {
    campaign.check("x").header("svc-client-ip", address)
}

#[tokio::test]
async fn thirty_first_check_is_told_when_there_is_room_again() {
    let campaign = TestCampaign::at_noon().await;
    let check = from(&campaign, "41.59.13.7");
    assert_eq!(check.count_successes(LIMIT).await, LIMIT);
    let refused = check.clone().await;
    assert_snapshot!(refused.snapshot(), @r#"
    429 {
      "error": {
        "code": "rate_limited",
        "docs_url": "[docs]",
        "fix": "Wait as long as Retry-After says, then send the request again.",
        "message": "Too many requests. This address range has used up its 30 pre-checks of 10 minutes. Without SVC-Client-IP, all calls of your server count together.",
        "request_id": "[request id]"
      }
    }
    "#);
    assert_eq!(refused.header("retry-after"), Some("600"));

    campaign.advance(Duration::from_secs(599));
    assert!(check.clone().await.is_rate_limited("1"), "a second early");
    campaign.advance(Duration::from_secs(1));
    assert_eq!(
        check.count_successes(LIMIT + 1).await,
        LIMIT,
        "it opens exactly then, for as many as before"
    );
}

#[tokio::test]
async fn refused_ones_do_not_prolong_the_wait() {
    let campaign = TestCampaign::at_noon().await;
    let check = from(&campaign, "41.59.13.7");
    assert_eq!(check.count_successes(LIMIT).await, LIMIT);
    campaign.advance(Duration::from_secs(300));
    assert_eq!(check.count_successes(10).await, 0);
    campaign.advance(Duration::from_secs(300));
    assert_eq!(check.count_successes(LIMIT).await, LIMIT);
}

#[tokio::test]
async fn consumers_of_one_range_are_counted_together() {
    let campaign = TestCampaign::at_noon().await;
    assert_eq!(
        from(&campaign, "41.59.13.0")
            .count_successes(LIMIT - 1)
            .await,
        LIMIT - 1
    );
    assert_eq!(
        from(&campaign, " 41.59.13.255 ").count_successes(1).await,
        1
    );
    for same in ["41.59.13.0", "41.59.13.128", "::ffff:41.59.13.9"] {
        assert_eq!(from(&campaign, same).await.status, 429, "{same}");
    }
    for other in ["41.59.12.255", "41.59.14.0", "13.59.41.7", "2c0f:fe38:1::1"] {
        assert_eq!(from(&campaign, other).await.status, 200, "{other}");
    }
}

#[tokio::test]
async fn without_a_consumers_address_the_calling_server_is_counted() {
    let campaign = TestCampaign::at_noon().await;
    let bare = campaign.check("x");
    assert_eq!(bare.count_successes(LIMIT - 2).await, LIMIT - 2);
    // Without a valid consumer's address, the server is counted.
    assert_eq!(from(&campaign, "41.59.13").count_successes(1).await, 1);
    assert_eq!(
        from(&campaign, "unknown, 41.59.13.7")
            .count_successes(1)
            .await,
        1
    );
    for unstated in [
        "",
        "unknown",
        ", 41.59.13.7",
        "41.59.13.7:no-port",
        "[2c0f:fe38::1",
        "2c0f::fe38::1",
    ] {
        assert_eq!(from(&campaign, unstated).await.status, 429, "{unstated}");
    }
    assert_eq!(bare.await.status, 429);
    // It is counted apart from consumers in its range.
    assert_eq!(from(&campaign, "127.0.0.1").await.status, 200);
}

#[tokio::test]
async fn of_sixty_thirty_are_taken() {
    let campaign = TestCampaign::at_noon().await;
    let replies = crowd((0..60).map(|_| from(&campaign, "41.59.13.7").send())).await;
    let with = |status: u16| {
        replies
            .iter()
            .filter(|reply| reply.status == status)
            .count()
    };
    assert_eq!((with(200), with(429)), (LIMIT, 60 - LIMIT));
}

#[tokio::test]
async fn each_environment_and_campaign_has_a_count_of_its_own() {
    let campaign = TestCampaign::at_noon().await;
    let another = TestCampaign::on(&campaign.service, plain()).await;
    assert_eq!(
        from(&campaign, "41.59.13.7")
            .count_successes(LIMIT + 1)
            .await,
        LIMIT
    );
    assert_eq!(from(&another, "41.59.13.7").await.status, 200);
    let live = campaign
        .live("POST", "/api/v1/codes/check")
        .json(&json!({ "code": "x" }));
    assert_eq!(live.header("svc-client-ip", "41.59.13.7").await.status, 200);
}

#[tokio::test]
async fn a_request_at_fault_does_not_count() {
    let campaign = TestCampaign::at_noon().await;
    for _ in 0..LIMIT {
        let bad = campaign.check("").header("svc-client-ip", "41.59.13.7");
        assert_eq!(bad.await.error_code(), "validation_failed");
    }
    assert_eq!(
        from(&campaign, "41.59.13.7")
            .count_successes(LIMIT + 1)
            .await,
        LIMIT
    );
    let bad = campaign
        .check("")
        .header("svc-client-ip", "41.59.13.7")
        .await;
    assert_eq!(
        bad.error_code(),
        "validation_failed",
        "what is wrong with a request is said first"
    );
}
