//! `POST /api/v1/submissions/lookup`: limits of 5 per phone and 30 per address range in 10 minutes.

use std::time::Duration;

use insta::assert_snapshot;
use serde_json::json;
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::http::{RequestBuilder, crowd};

const PER_PHONE: usize = 5;
const PER_RANGE: u32 = 30;

fn from(campaign: &TestCampaign, address: &str, number: u32) -> RequestBuilder {
    campaign
        .lookup(&phone(number))
        .header("svc-client-ip", address)
}

#[tokio::test]
async fn the_sixth_of_a_phone_is_told_when_there_is_room_again() {
    let campaign = TestCampaign::at_noon().await;
    assert_eq!(
        campaign.lookup(&phone(1)).count_successes(PER_PHONE).await,
        PER_PHONE
    );
    let refused = campaign.lookup(&phone(1)).await;
    assert_snapshot!(refused.snapshot(), @r#"
    429 {
      "error": {
        "code": "rate_limited",
        "docs_url": "[docs]",
        "fix": "Wait as long as Retry-After says, then send the request again.",
        "message": "Too many requests. This phone has used up its 5 look-ups of 10 minutes.",
        "request_id": "[request id]"
      }
    }
    "#);
    assert_eq!(refused.header("retry-after"), Some("600"));
    campaign.advance(Duration::from_secs(599));
    assert!(
        campaign.lookup(&phone(1)).await.is_rate_limited("1"),
        "a second early"
    );
    campaign.advance(Duration::from_secs(1));
    assert_eq!(
        campaign
            .lookup(&phone(1))
            .count_successes(PER_PHONE + 1)
            .await,
        PER_PHONE
    );
}

#[tokio::test]
async fn a_phone_is_counted_however_it_is_typed_and_from_wherever() {
    let campaign = TestCampaign::at_noon().await;
    let spellings = [
        "0712345678",
        "255712345678",
        "+255712345678",
        "0712 345 678",
        "(0712) 345-678",
    ];
    for (typed, host) in spellings.into_iter().zip(1..) {
        let lookup = campaign
            .lookup(typed)
            .header("svc-client-ip", format!("41.59.{host}.7"));
        assert_eq!(lookup.await.status, 200, "{typed}");
    }
    let elsewhere = campaign
        .lookup("0712.345.678")
        .header("svc-client-ip", "41.60.1.7")
        .await;
    assert!(elsewhere.is_rate_limited("600"));
    assert_eq!(
        campaign.lookup("0712345679").await.status,
        200,
        "another phone"
    );
}

#[tokio::test]
async fn the_thirty_first_of_a_range_is_refused_whatever_its_phone() {
    let campaign = TestCampaign::at_noon().await;
    for number in 0..PER_RANGE {
        let address = format!("41.59.13.{number}");
        assert_eq!(
            from(&campaign, &address, number).await.status,
            200,
            "{number}"
        );
    }
    let refused = from(&campaign, "41.59.13.255", 99).await;
    assert!(refused.is_rate_limited("600"));
    let message = "Too many requests. This address range has used up its 30 look-ups of 10 minutes. Without \
                   SVC-Client-IP, all calls of your server count together.";
    assert_eq!(refused.json()["error"]["message"], message);
    assert_eq!(
        from(&campaign, "41.59.14.0", 99).await.status,
        200,
        "another range"
    );
    assert_eq!(
        campaign.lookup(&phone(99)).await.status,
        200,
        "the calling server's own count"
    );
    let another = TestCampaign::on(&campaign.service, plain()).await;
    assert_eq!(
        from(&another, "41.59.13.1", 1).await.status,
        200,
        "another campaign"
    );
    let live = campaign
        .live("POST", "/api/v1/submissions/lookup")
        .json(&json!({ "phone": phone(1) }));
    let live = live.header("svc-client-ip", "41.59.13.1");
    assert_eq!(live.await.status, 200, "another environment");
    let check = campaign.check("x").header("svc-client-ip", "41.59.13.1");
    assert_eq!(check.await.status, 200, "another endpoint");
}

#[tokio::test]
async fn lookup_refused_for_its_phone_does_not_count_for_its_range() {
    let campaign = TestCampaign::at_noon().await;
    assert_eq!(
        from(&campaign, "41.59.13.7", 1).count_successes(40).await,
        PER_PHONE
    );
    for number in 2..=26 {
        assert_eq!(
            from(&campaign, "41.59.13.7", number).await.status,
            200,
            "{number}"
        );
    }
    assert_eq!(
        from(&campaign, "41.59.13.7", 27).await.status,
        429,
        "5 and 25 are 30"
    );
}

#[tokio::test]
async fn lookup_refused_for_its_range_does_not_count_for_its_phone() {
    let campaign = TestCampaign::at_noon().await;
    for number in 0..PER_RANGE {
        assert_eq!(from(&campaign, "41.59.13.7", number).await.status, 200);
    }
    assert_eq!(
        from(&campaign, "41.59.13.7", 99).count_successes(10).await,
        0
    );
    assert_eq!(
        from(&campaign, "41.60.1.1", 99)
            .count_successes(PER_PHONE + 1)
            .await,
        PER_PHONE
    );
}

#[tokio::test]
async fn of_two_full_limits_the_longer_wait_is_told() {
    let campaign = TestCampaign::at_noon().await;
    assert_eq!(
        from(&campaign, "41.60.1.1", 1)
            .count_successes(PER_PHONE)
            .await,
        PER_PHONE
    );
    campaign.advance(Duration::from_secs(100));
    for number in 2..2 + PER_RANGE {
        assert_eq!(from(&campaign, "41.59.13.7", number).await.status, 200);
    }
    let refused = from(&campaign, "41.59.13.7", 1).await;
    assert!(
        refused.is_rate_limited("600"),
        "the phone has room in 500 s, the range in 600: {refused:?}"
    );
    campaign.advance(Duration::from_secs(600));
    assert_eq!(from(&campaign, "41.59.13.7", 1).await.status, 200);
}

#[tokio::test]
async fn many_at_once_are_no_more_than_the_limits() {
    let campaign = TestCampaign::at_noon().await;
    let replies = crowd((0..20).map(|_| from(&campaign, "41.59.13.7", 1).send())).await;
    assert_eq!(
        replies.iter().filter(|reply| reply.status == 200).count(),
        PER_PHONE
    );
    let replies = crowd((2..62).map(|number| from(&campaign, "41.59.14.7", number).send())).await;
    let with = |status: u16| {
        replies
            .iter()
            .filter(|reply| reply.status == status)
            .count()
    };
    assert_eq!((with(200), with(429)), (30, 30));
}

#[tokio::test]
async fn a_request_at_fault_does_not_count() {
    let campaign = TestCampaign::at_noon().await;
    for _ in 0..=PER_RANGE {
        let bad = campaign
            .lookup("0812345678")
            .header("svc-client-ip", "41.59.13.7")
            .await;
        assert_eq!(bad.error_code(), "phone_invalid");
    }
    assert_eq!(
        from(&campaign, "41.59.13.7", 1)
            .count_successes(PER_PHONE + 1)
            .await,
        PER_PHONE
    );
}
