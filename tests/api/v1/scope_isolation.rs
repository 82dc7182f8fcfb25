//! Routes show a record to its own campaign and environment alone.

use common::domain::campaign::{Campaign, PhoneLimits};
use common::domain::scope::Environment;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, body, fresh_key, phone};
use service_tests::http::Reply;
use service_tests::text::{fields, len_of};

struct Caller<'a> {
    campaign: &'a TestCampaign,
    key: &'a str,
}

impl Caller<'_> {
    async fn submit(&self, idempotency_key: &str, body: &Value) -> Reply {
        let sending = self
            .campaign
            .with_key(self.key, "POST", "/api/v1/submissions");
        sending
            .header("idempotency-key", idempotency_key)
            .json(body)
            .await
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        let reply = self
            .campaign
            .with_key(self.key, "POST", path)
            .json(body)
            .await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.json()
    }

    async fn get(&self, path: &str) -> Reply {
        self.campaign.with_key(self.key, "GET", path).await
    }
}

/// The caller who enters, then one of the other environment and one of another campaign.
fn callers<'a>(
    campaign: &'a TestCampaign,
    another: &'a TestCampaign,
) -> (Caller<'a>, [Caller<'a>; 2]) {
    let caller = |campaign, key| Caller { campaign, key };
    let live = caller(campaign, &campaign.live_key);
    let elsewhere = caller(another, &another.test_key);
    (caller(campaign, &campaign.test_key), [live, elsewhere])
}

#[tokio::test]
async fn a_submission_is_read_by_its_own_scope_alone() {
    let (campaign, another) = (TestCampaign::plain().await, TestCampaign::plain().await);
    let (own, others) = callers(&campaign, &another);
    let created = own
        .submit(&fresh_key(), &body(&phone(1), &campaign.code(1)))
        .await;
    let path = format!("/api/v1/submissions/{}", created.fields("id"));
    assert_eq!(own.get(&path).await.json(), created.json());
    for other in others {
        let hidden = other.get(&path).await;
        assert_eq!(hidden.refusal(), "404 not_found");
        let none = other
            .get("/api/v1/submissions/00000000-0000-8000-8000-000000000000")
            .await;
        assert_eq!(hidden.snapshot(), none.snapshot(), "as if there were none");
    }
}

#[tokio::test]
async fn a_look_up_lists_its_own_scope_alone() {
    let (campaign, another) = (TestCampaign::plain().await, TestCampaign::plain().await);
    let (own, others) = callers(&campaign, &another);
    own.submit(&fresh_key(), &body(&phone(1), &campaign.code(1)))
        .await;
    let lookup = async |caller: &Caller<'_>| {
        let reply = caller
            .post("/api/v1/submissions/lookup", &json!({ "phone": phone(1) }))
            .await;
        (
            len_of(&reply["submissions"]),
            fields(&reply, "total_entries"),
        )
    };
    assert_eq!(lookup(&own).await, (1, "1".to_owned()));
    for other in others {
        assert_eq!(lookup(&other).await, (0, "0".to_owned()));
    }
}

#[tokio::test]
async fn a_code_is_used_in_its_own_scope_alone() {
    let (campaign, another) = (TestCampaign::plain().await, TestCampaign::plain().await);
    let (own, others) = callers(&campaign, &another);
    let code = campaign.code(1);
    own.submit(&fresh_key(), &body(&phone(1), &code)).await;
    let precheck = async |caller: &Caller<'_>| {
        caller
            .post("/api/v1/codes/check", &json!({ "code": code }))
            .await["precheck"]
            .clone()
    };
    assert_eq!(precheck(&own).await, "already_used");
    for other in others {
        assert_eq!(precheck(&other).await, "valid");
        // By another phone, even.
        let entered = other.submit(&fresh_key(), &body(&phone(2), &code)).await;
        assert_eq!(entered.field("message_key"), "entered");
    }
}

#[tokio::test]
async fn keys_and_codes_are_remembered_in_their_scope_alone() {
    let (campaign, another) = (TestCampaign::plain().await, TestCampaign::plain().await);
    let (own, others) = callers(&campaign, &another);
    let key = fresh_key();
    let body = body(&phone(1), &campaign.code(1));
    let first = own.submit(&key, &body).await;
    assert_eq!(
        own.submit(&key, &body).await.header("idempotent-replayed"),
        Some("true")
    );
    let mut ids = vec![first.field("id")];
    for other in others {
        let reply = other.submit(&key, &body).await;
        assert_eq!(reply.header("idempotent-replayed"), None);
        assert_eq!(reply.fields("message_key replayed"), "entered false");
        assert!(!ids.contains(&reply.field("id")));
        ids.push(reply.field("id"));
    }
}

#[tokio::test]
async fn limits_and_blocklist_count_in_their_scope_alone() {
    let limit = |config: &mut Campaign| {
        config.limits = PhoneLimits {
            phone_daily: None,
            phone_total: Some(1),
        };
        config.wrong_codes.count = 1;
    };
    let (campaign, another) = (
        TestCampaign::with(limit).await,
        TestCampaign::with(limit).await,
    );
    let (own, others) = callers(&campaign, &another);
    campaign.set_blocked(Environment::Test, 3, true).await;
    let outcome = async |caller: &Caller<'_>, number: u32, code: &str| {
        caller
            .submit(&fresh_key(), &body(&phone(number), code))
            .await
            .field("message_key")
    };

    for (number, code, expected) in [
        (1, &campaign.code(1), "entered"),
        (1, &campaign.code(2), "entry_limit"),
        (2, &"no such code".to_owned(), "invalid"),
        (2, &campaign.code(3), "rate_limited"),
        (3, &campaign.code(4), "blocked"),
    ] {
        assert_eq!(outcome(&own, number, code).await, expected);
    }
    for other in &others {
        for number in 1..=3 {
            let code = campaign.code(u64::from(number));
            assert_eq!(outcome(other, number, &code).await, "entered");
        }
    }
}

#[tokio::test]
async fn a_key_reads_its_own_campaign_and_environment() {
    let (campaign, another) = (TestCampaign::plain().await, TestCampaign::plain().await);
    let (own, others) = callers(&campaign, &another);
    let [live, elsewhere] = &others;
    for (caller, livemode) in [(&own, false), (live, true), (elsewhere, false)] {
        let read = caller.get("/api/v1/campaign").await;
        let expected = format!("{} {livemode}", caller.campaign.config.slug);
        assert_eq!(read.fields("slug livemode"), expected);
    }
}
