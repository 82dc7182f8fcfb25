//! Routes show a record to its own campaign and environment alone.

use common::domain::campaign::{Campaign, PhoneLimits};
use common::domain::scope::Environment;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, body, fresh_key, phone};
use service_tests::http::Reply;
use service_tests::text::list_of;

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
            .send()
            .await
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        let reply = self
            .campaign
            .with_key(self.key, "POST", path)
            .json(body)
            .send()
            .await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.json()
    }

    async fn get(&self, path: &str) -> Reply {
        self.campaign.with_key(self.key, "GET", path).send().await
    }
}

/// The caller who enters, then one of the other environment and one of another campaign.
fn callers<'a>(
    campaign: &'a TestCampaign,
    another: &'a TestCampaign,
) -> (Caller<'a>, [Caller<'a>; 2]) {
    let own = Caller {
        campaign,
        key: &campaign.test_key,
    };
    let live = Caller {
        campaign,
        key: &campaign.live_key,
    };
    (
        own,
        [
            live,
            Caller {
                campaign: another,
                key: &another.test_key,
            },
        ],
    )
}

#[tokio::test]
async fn a_submission_is_read_by_its_own_scope_alone() {
    let (campaign, another) = (TestCampaign::plain().await, TestCampaign::plain().await);
    let (own, others) = callers(&campaign, &another);
    let created = own
        .submit(&fresh_key(), &body(&phone(1), &campaign.code(1)))
        .await;
    let path = format!(
        "/api/v1/submissions/{}",
        created.field("id").as_str().expect("an id")
    );
    assert_eq!(own.get(&path).await.json(), created.json());
    for other in others {
        let hidden = other.get(&path).await;
        assert_eq!(hidden.refusal(), "404 not_found");
        let none = other
            .get("/api/v1/submissions/00000000-0000-8000-8000-000000000000")
            .await;
        assert_eq!(hidden.redacted(), none.redacted(), "as if there were none");
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
            list_of(&reply["submissions"]).len(),
            reply["total_entries"].clone(),
        )
    };
    assert_eq!(lookup(&own).await, (1, json!(1)));
    for other in others {
        assert_eq!(lookup(&other).await, (0, json!(0)));
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
        let entered = other.submit(&fresh_key(), &body(&phone(2), &code)).await;
        assert_eq!(
            entered.field("message_key"),
            "entered",
            "by another phone, even"
        );
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
        assert_eq!(reply.field("message_key"), "entered");
        assert_eq!(reply.field("replayed"), false);
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
    let blocked = phone(3).parse().expect("a phone");
    let scope = campaign.scope(Environment::Test);
    campaign
        .service
        .set_blocked(&scope, &blocked, true)
        .await
        .expect("blocked");
    let outcome = async |caller: &Caller<'_>, number: u32, code: &str| {
        caller
            .submit(&fresh_key(), &body(&phone(number), code))
            .await
            .field("message_key")
    };

    assert_eq!(outcome(&own, 1, &campaign.code(1)).await, "entered");
    assert_eq!(outcome(&own, 1, &campaign.code(2)).await, "entry_limit");
    assert_eq!(outcome(&own, 2, "no such code").await, "invalid");
    assert_eq!(outcome(&own, 2, &campaign.code(3)).await, "rate_limited");
    assert_eq!(outcome(&own, 3, &campaign.code(4)).await, "blocked");
    for other in &others {
        for number in [1, 2, 3] {
            assert_eq!(
                outcome(other, number, &campaign.code(u64::from(number))).await,
                "entered"
            );
        }
    }
}

#[tokio::test]
async fn a_key_reads_its_own_campaign_and_environment() {
    let (campaign, another) = (TestCampaign::plain().await, TestCampaign::plain().await);
    let (own, others) = callers(&campaign, &another);
    let read = async |caller: &Caller<'_>| {
        let campaign = caller.get("/api/v1/campaign").await.json();
        (campaign["slug"].clone(), campaign["livemode"].clone())
    };
    let (own_slug, other_slug) = (json!(campaign.config.slug), json!(another.config.slug));
    assert_eq!(read(&own).await, (own_slug.clone(), json!(false)));
    assert_eq!(read(&others[0]).await, (own_slug, json!(true)));
    assert_eq!(read(&others[1]).await, (other_slug, json!(false)));
}
