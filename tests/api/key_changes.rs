//! An operator's changes to a key in use: another rate limit, and a successor.

use std::time::Duration;

use common::domain::scope::Environment;
use common::store::api_keys::{ApiKeyRecord, KeyHash};
use local::stack::Options;
use serde_json::json;
use service_tests::campaign::{TestCampaign, plain};
use service_tests::service::Service;

const CAMPAIGN: &str = "/api/v1/campaign";
/// How long functions cache a key.
const CACHE_AGE: Duration = Duration::from_secs(5);

async fn admitted(campaign: &TestCampaign, key: &str, requests: usize) -> usize {
    let mut admitted = 0;
    for _ in 0..requests {
        let reply = campaign.with_key(key, "GET", CAMPAIGN).await;
        match reply.status.as_u16() {
            200 => admitted += 1,
            status => assert_eq!(status, 429, "{}", reply.text),
        }
    }
    admitted
}

async fn set(campaign: &TestCampaign, key: &str, per_minute: u32) {
    let keys = &campaign.service.tables.keys;
    assert!(
        keys.set_per_minute(&KeyHash::digest(key), per_minute)
            .await
            .expect("the table"),
        "the key is there"
    );
}

#[tokio::test]
async fn raised_limit_is_in_force_within_five_seconds() {
    let campaign = TestCampaign::at_noon().await;
    let key = campaign.issue(Environment::Test, 10).await;
    assert_eq!(admitted(&campaign, &key, 20).await, 10);
    set(&campaign, &key, 25).await;
    campaign.advance(CACHE_AGE);
    assert_eq!(
        admitted(&campaign, &key, 30).await,
        15,
        "25 in this minute, with those before"
    );
    campaign.advance(Duration::from_secs(55));
    assert_eq!(admitted(&campaign, &key, 30).await, 25);
}

#[tokio::test]
async fn lowered_limit_binds_leased_requests_within_five_seconds() {
    let campaign = TestCampaign::at_noon().await;
    let key = campaign.issue(Environment::Test, 600).await;
    assert_eq!(
        admitted(&campaign, &key, 30).await,
        30,
        "and more are leased"
    );
    set(&campaign, &key, 5).await;
    campaign.advance(CACHE_AGE);
    assert_eq!(
        admitted(&campaign, &key, 5).await,
        0,
        "more than 5 are leased in this minute"
    );
    campaign.advance(Duration::from_secs(55));
    assert_eq!(admitted(&campaign, &key, 10).await, 5);
}

#[tokio::test]
async fn processes_between_two_limits_admit_the_larger_at_most() {
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
    for (before, after) in [(20, 40), (40, 20)] {
        let key = campaign.issue(Environment::Test, before).await;
        let mut all = admitted(&campaign, &key, 5).await;
        set(&campaign, &key, after).await;
        // The second process reads the change; the first has the key cached.
        all += admitted(&elsewhere, &key, 30).await + admitted(&campaign, &key, 30).await;
        first.clock.advance(CACHE_AGE);
        all += admitted(&campaign, &key, 30).await + admitted(&elsewhere, &key, 30).await;
        assert!(all <= 40, "{all} from {before} to {after}");
        if after > before {
            assert_eq!(all, 40, "and all of it, once both know");
        }
        first.clock.advance(Duration::from_secs(60));
    }
}

#[tokio::test]
async fn rolled_key_works_until_its_time_is_over() {
    let campaign = TestCampaign::at_noon().await;
    let old = campaign.issue(Environment::Test, 600).await;
    let new = "svc_test_the-successor-of-a-key".to_owned();
    let (old_hash, new_hash) = (KeyHash::digest(&old), KeyHash::digest(&new));
    let keys = &campaign.service.tables.keys;
    let listed = keys.list(&campaign.config.slug).await.expect("the table");
    let record = listed
        .into_iter()
        .find(|key| key.key_id == old_hash.key_id())
        .expect("a key");
    let record = ApiKeyRecord {
        key_id: new_hash.key_id().to_owned(),
        ..record
    };
    let until = campaign
        .service
        .clock
        .now()
        .after(Duration::from_secs(3_600));
    let read = |key: &str| campaign.with_key(key, "GET", CAMPAIGN);
    assert_eq!(read(&old).await.status, 200);
    // The second time, it has a successor already.
    for is_first in [true, false] {
        let rolled = keys.roll(&old_hash, until, new_hash.clone(), record.clone());
        assert_eq!(rolled.await.expect("the table"), is_first);
    }
    assert_eq!(read(&new).await.status, 200, "at once");
    campaign.advance(Duration::from_secs(3_599));
    assert_eq!(read(&old).await.status, 200);
    campaign.advance(Duration::from_secs(1));
    assert_eq!(read(&old).await.refusal(), "403 key_revoked");
    assert_eq!(read(&new).await.field("slug"), json!(campaign.config.slug));
}
