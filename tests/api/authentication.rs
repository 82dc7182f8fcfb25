//! The Authorization header, the API key, and the campaign that a caller names.

use std::time::Duration;

use common::app::auth::{DEFAULT_PER_MINUTE, key_prefix};
use common::domain::scope::Environment;
use insta::{allow_duplicates, assert_snapshot};
use local::stack::Options;
use service_tests::campaign::{TestCampaign, plain};
use service_tests::http::Reply;
use service_tests::service::Service;

const CAMPAIGN: &str = "/api/v1/campaign";

async fn authorized_by(campaign: &TestCampaign, header: impl AsRef<[u8]>) -> Reply {
    campaign
        .test("GET", CAMPAIGN)
        .without("authorization")
        .header("authorization", header)
        .await
}

#[tokio::test]
async fn a_request_without_a_key_is_told_to_send_one() {
    let campaign = TestCampaign::plain().await;
    let reply = campaign
        .test("GET", CAMPAIGN)
        .without("authorization")
        .await;
    assert_snapshot!(reply.snapshot(), @r#"
    401 {
      "error": {
        "code": "key_missing",
        "docs_url": "[docs]",
        "fix": "Send `Authorization: Bearer <API_KEY>` with the key of your campaign, from your server only.",
        "message": "The request has no Authorization header.",
        "request_id": "[request id]"
      }
    }
    "#);
    assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
}

#[tokio::test]
async fn a_header_that_holds_no_key_is_malformed() {
    let campaign = TestCampaign::plain().await;
    let key = &campaign.test_key;
    for header in [
        "",
        "Bearer",
        "Bearer ",
        key,
        &format!("Basic {key}"),
        &format!("Bearer:{key}"),
        &format!("Bearer \"{key}\""),
        &format!("Bearer {key} {key}"),
        &format!("Bearer {key}, Bearer {key}"),
        &format!("Bearer {}", key.to_uppercase()),
        "Bearer svc_prod_0123456789abcdef",
        "Bearer svc_test_",
        "Bearer svc_test_1234567",
        "Bearer svc_test_12345678!",
        &format!("Bearer svc_test_{}", "x".repeat(129)),
    ] {
        let reply = authorized_by(&campaign, header).await;
        assert_eq!(reply.refusal(), "401 key_malformed", "{header:?}");
        assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
    }

    let reply = authorized_by(&campaign, "nonsense").await;
    assert_snapshot!(reply.snapshot(), @r#"
    401 {
      "error": {
        "code": "key_malformed",
        "docs_url": "[docs]",
        "fix": "Send `Authorization: Bearer <API_KEY>`; a key begins with `svc_test_` or `svc_live_`. Check that it was pasted whole.",
        "message": "The Authorization header does not hold an API key.",
        "request_id": "[request id]"
      }
    }
    "#);
}

#[tokio::test]
async fn a_header_that_is_not_ascii_or_comes_twice_is_malformed() {
    let campaign = TestCampaign::plain().await;
    let mut bytes = format!("Bearer {}", campaign.test_key).into_bytes();
    bytes.push(0xe9);
    assert_eq!(
        authorized_by(&campaign, bytes).await.error_code(),
        "key_malformed"
    );
    let twice = campaign
        .test("GET", CAMPAIGN)
        .header("authorization", format!("Bearer {}", campaign.test_key))
        .await;
    assert_eq!(twice.error_code(), "key_malformed");
}

#[tokio::test]
async fn the_scheme_is_taken_in_any_case() {
    let campaign = TestCampaign::plain().await;
    for scheme in ["Bearer", "bearer", "BEARER", "bEaReR"] {
        let reply = authorized_by(&campaign, format!("{scheme} {}", campaign.test_key)).await;
        assert_eq!(reply.status, 200, "{scheme}");
    }
}

#[tokio::test]
async fn well_formed_key_without_a_record_is_unknown() {
    let campaign = TestCampaign::plain().await;
    let other_environment = campaign.test_key.replace("svc_test_", "svc_live_");
    for key in [
        "svc_test_12345678",
        "svc_live_a-b_c-d_",
        &format!("svc_test_{}", "x".repeat(128)),
        &other_environment,
        &format!("{}0", campaign.test_key),
    ] {
        let reply = authorized_by(&campaign, format!("Bearer {key}")).await;
        allow_duplicates!(assert_snapshot!(reply.snapshot(), @r#"
        401 {
          "error": {
            "code": "key_unknown",
            "docs_url": "[docs]",
            "fix": "Check that the key belongs to this deployment, and ask your service operator for a new one if it was lost.",
            "message": "This API key is not known.",
            "request_id": "[request id]"
          }
        }
        "#));
        assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
    }
}

#[tokio::test]
async fn a_revoked_key_is_refused_and_the_campaigns_other_key_works() {
    let campaign = TestCampaign::plain().await;
    let second = campaign.issue(Environment::Test, DEFAULT_PER_MINUTE).await;
    campaign.revoke(&campaign.test_key).await;
    let reply = campaign.test("GET", CAMPAIGN).await;
    assert_snapshot!(reply.snapshot(), @r#"
    403 {
      "error": {
        "code": "key_revoked",
        "docs_url": "[docs]",
        "fix": "Switch to the campaign's other key, or ask your service operator for a new one.",
        "message": "This API key was revoked.",
        "request_id": "[request id]"
      }
    }
    "#);
    assert_eq!(reply.header("www-authenticate"), None);
    assert_eq!(
        campaign.with_key(&second, "GET", CAMPAIGN).await.status,
        200
    );
}

#[tokio::test]
async fn revoking_a_key_takes_effect_within_five_seconds() {
    let service = Service::at_noon();
    let campaign = TestCampaign::on(&service, plain()).await;
    assert_eq!(campaign.test("GET", CAMPAIGN).await.status, 200);
    campaign.revoke(&campaign.test_key).await;
    service.clock.advance(Duration::from_secs(5));
    assert_eq!(
        campaign.test("GET", CAMPAIGN).await.error_code(),
        "key_revoked"
    );
}

#[tokio::test]
async fn a_live_key_works_on_production_alone() {
    let service = Service::with_options(Options {
        stage: "staging",
        ..Options::default()
    });
    let campaign = TestCampaign::on(&service, plain()).await;
    let reply = campaign.live("GET", CAMPAIGN).await;
    assert_snapshot!(reply.snapshot(), @r#"
    401 {
      "error": {
        "code": "key_wrong_environment",
        "docs_url": "[docs]",
        "fix": "Use a test key here; live keys work on production only.",
        "message": "A live key does not work on this deployment.",
        "request_id": "[request id]"
      }
    }
    "#);
    assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
    assert_eq!(campaign.test("GET", CAMPAIGN).await.status, 200);

    // Order of checks: unknown and revoked keys, wrong environment, wrong campaign.
    let mismatched = campaign
        .live("GET", CAMPAIGN)
        .header("svc-campaign", "another")
        .await;
    assert_eq!(mismatched.error_code(), "key_wrong_environment");
    let unknown = format!("{}0123456789abcdef", key_prefix(Environment::Live));
    assert_eq!(
        campaign
            .with_key(&unknown, "GET", CAMPAIGN)
            .await
            .error_code(),
        "key_unknown"
    );
    let revoked = campaign.issue(Environment::Live, DEFAULT_PER_MINUTE).await;
    campaign.revoke(&revoked).await;
    assert_eq!(
        campaign
            .with_key(&revoked, "GET", CAMPAIGN)
            .await
            .error_code(),
        "key_revoked"
    );
}

#[tokio::test]
async fn a_named_campaign_has_to_be_the_keys_own() {
    let campaign = TestCampaign::plain().await;
    let another = TestCampaign::plain().await;
    let own = campaign.config.slug.as_str();
    let named = |name: &str| campaign.test("GET", CAMPAIGN).header("svc-campaign", name);
    assert_eq!(named(own).await.status, 200);
    let reply = named(another.config.slug.as_str()).await;
    assert_snapshot!(reply.snapshot(), @r#"
    422 {
      "error": {
        "code": "campaign_mismatch",
        "docs_url": "[docs]",
        "fix": "Leave SVC-Campaign out, or use a key of the campaign that it names.",
        "message": "The SVC-Campaign header names another campaign than the API key.",
        "request_id": "[request id]"
      }
    }
    "#);
    for other in [
        "",
        "no-such-campaign",
        &own.to_uppercase(),
        &format!("{own},{own}"),
    ] {
        assert_eq!(
            named(other).await.error_code(),
            "campaign_mismatch",
            "{other:?}"
        );
    }
    assert_eq!(
        named(own).header("svc-campaign", own).await.error_code(),
        "campaign_mismatch"
    );
}

#[tokio::test]
async fn a_key_whose_campaign_is_absent_finds_nothing() {
    let absent = TestCampaign {
        service: Service::shared(),
        config: plain(),
        test_key: String::new(),
        live_key: String::new(),
    };
    let key = absent.issue(Environment::Test, DEFAULT_PER_MINUTE).await;
    let reply = absent.with_key(&key, "GET", CAMPAIGN).await;
    assert_eq!(reply.refusal(), "404 not_found");
    let policy = format!("\"key\";q={DEFAULT_PER_MINUTE};w=60");
    assert_eq!(
        reply.header("ratelimit-policy"),
        Some(&*policy),
        "the key's limit is named once"
    );
}

#[tokio::test]
async fn whatever_else_is_wrong_the_key_is_judged_first() {
    let campaign = TestCampaign::plain().await;
    let worst = |path: &str| {
        campaign
            .test("POST", path)
            .without("authorization")
            .header("svc-campaign", "another")
            .raw("not JSON")
    };
    let revoked = campaign.issue(Environment::Test, DEFAULT_PER_MINUTE).await;
    campaign.revoke(&revoked).await;
    for path in [
        "/api/v1/submissions",
        "/api/v1/submissions/lookup",
        "/api/v1/codes/check",
    ] {
        let code_of = async |header: &str| {
            let reply = worst(path).header("authorization", header).await;
            reply.error_code()
        };
        assert_eq!(worst(path).await.error_code(), "key_missing", "{path}");
        assert_eq!(code_of("Bearer x").await, "key_malformed", "{path}");
        assert_eq!(
            code_of("Bearer svc_test_12345678").await,
            "key_unknown",
            "{path}"
        );
        assert_eq!(
            code_of(&format!("Bearer {revoked}")).await,
            "key_revoked",
            "{path}"
        );
        let good = format!("Bearer {}", campaign.test_key);
        assert_eq!(code_of(&good).await, "campaign_mismatch", "{path}");
    }
}
