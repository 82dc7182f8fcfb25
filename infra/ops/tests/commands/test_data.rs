//! `ops campaign clear-test-data`.

use common::aws::Aws;
use common::domain::scope::Environment;
use serde_json::json;
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::counting::Counter;
use service_tests::receipts::code_and_receipt;
use service_tests::service::Service;

use crate::support::{ops, run_typing};

const PHOTO: &[u8] = b"\xff\xd8\xff\xe0 a photo";

/// Keys of an environment's records, from all tables of entries.
async fn keys(campaign: &TestCampaign, environment: Environment) -> Vec<String> {
    let service = &campaign.service;
    let mut keys = Vec::new();
    for (variable, key) in [
        ("SUBMISSIONS_TABLE", "id"),
        ("ENTRANTS_TABLE", "entrant"),
        ("CODES_TABLE", "code"),
        ("RECEIPTS_TABLE", "id"),
        ("IDEMPOTENCY_KEYS_TABLE", "request"),
    ] {
        let table = service.env.required(variable).expect("the stack sets it");
        let items = service
            .dynamodb()
            .scan()
            .table_name(table)
            .send()
            .await
            .expect("it answers")
            .items;
        let of_scope = items.unwrap_or_default().into_iter().filter_map(|item| {
            let key = item.get(key)?.as_s().ok()?.clone();
            key.starts_with(&campaign.scope(environment).key(""))
                .then_some(key)
        });
        keys.extend(of_scope);
    }
    keys.sort();
    keys
}

async fn photos(campaign: &TestCampaign) -> usize {
    let s3 = Aws::for_operator(&campaign.service.env)
        .expect("all variables")
        .s3();
    let bucket = campaign
        .service
        .env
        .required("PHOTOS_BUCKET")
        .expect("the stack sets it");
    let prefix = format!("{}/test/", campaign.config.slug);
    let listed = s3
        .list_objects_v2()
        .bucket(bucket)
        .prefix(prefix)
        .send()
        .await
        .expect("it answers");
    listed.contents().len()
}

/// Entries in both environments, a photo, a blocked phone and an imported code.
async fn used() -> TestCampaign {
    let service = Service::without_background();
    let mut config = plain();
    code_and_receipt(&mut config);
    config.receipt.as_mut().expect("rules").required = false;
    let campaign = TestCampaign::on(&service, config).await;
    campaign
        .import(
            "printed",
            common::domain::codebook::BatchStatus::Active,
            None,
            &["CHAI2026"],
        )
        .await;
    for (key, number) in [(&campaign.test_key, 1), (&campaign.live_key, 2)] {
        let photo = campaign.photo(key, PHOTO, None).await;
        for (code, receipt) in [
            (campaign.code(1), Some(photo)),
            (campaign.code(2), None),
            ("CHAI2026".to_owned(), None),
        ] {
            let body = json!({ "phone": phone(number), "code": code, "consent": true, "receipt_id": receipt });
            let sending = campaign.with_key(key, "POST", "/api/v1/submissions");
            let sent = sending
                .header("idempotency-key", service_tests::campaign::fresh_key())
                .json(&body)
                .await;
            assert_eq!(sent.status, 200, "{}", sent.text);
        }
    }
    campaign
        .typed(&campaign.test_key, "AB12CD3456", "10:15")
        .await;
    let slug = campaign.config.slug.to_string();
    let why = "--why 'Sells codes' --by asha";
    let block = format!("phone block --campaign {slug} {}", phone(1));
    let blocked = ops(&service, format!("{block} {why}")).await;
    assert_eq!(blocked.code, ops_core::EXIT_OK, "{}", blocked.err);
    campaign
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn test_data_goes_and_live_data_stays() {
    let campaign = used().await;
    let service = &campaign.service;
    let mut counter = Counter::new(&service.env, &service.clock);
    counter.count_all().await;
    let slug = campaign.config.slug.as_str();
    let live = keys(&campaign, Environment::Live).await;
    assert_eq!(photos(&campaign).await, 1);
    let args = format!("campaign clear-test-data {slug}");
    let refused = run_typing(&args, service.env.clone(), &service.clock, Some("y\n"));
    assert_contains!(refused.await.failed(), "reads five whole tables");
    let typed = format!("{slug}\n");
    let no_bucket = [("PHOTOS_BUCKET".to_owned(), String::new())];
    let no_storage = service
        .env
        .clone()
        .overridden_by(no_bucket.into_iter().collect());
    let refused = run_typing(&args, no_storage, &service.clock, Some(&typed)).await;
    assert_contains!(refused.failed(), "PHOTOS_BUCKET");
    assert!(
        keys(&campaign, Environment::Test).await.len() > 8,
        "nothing was deleted"
    );

    let cleared = run_typing(&args, service.env.clone(), &service.clock, Some(&typed)).await;
    assert_eq!(
        cleared.out,
        "cleared:\n0 openings of draws\n3 idempotency keys\n3 used codes\n1 entrants\n2 receipts\n0 instant prizes\n3 submissions\n",
        "{}",
        cleared.err
    );
    let left = keys(&campaign, Environment::Test).await;
    assert_eq!(
        left.len(),
        2,
        "the blocked phone and the imported code: {left:?}"
    );
    assert_eq!(photos(&campaign).await, 0);
    assert_eq!(keys(&campaign, Environment::Live).await, live);
    assert!(
        service
            .holds(&campaign.scope(Environment::Test))
            .await
            .is_empty()
    );
    counter.count_all().await;
    let verify = format!("numbers verify --campaign {slug} --environment test --yes");
    let verified = ops(service, &verify).await;
    assert_eq!(
        verified.out, "1 records give 0 numbers.\nAll numbers are right.\n",
        "{}",
        verified.err
    );
    assert_eq!(
        campaign.outcome(&phone(3), &campaign.code(1)).await,
        "entered"
    );
    assert_eq!(campaign.outcome(&phone(3), "CHAI2026").await, "entered");
    assert_eq!(
        campaign.outcome(&phone(1), &campaign.code(2)).await,
        "blocked"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clearing_that_was_cut_short_is_finished_by_running_it_again() {
    let campaign = used().await;
    let service = &campaign.service;
    let scope = campaign.scope(Environment::Test);
    // As far as it got.
    service
        .tables
        .codes
        .clear(&scope)
        .await
        .expect("it answers");
    service
        .tables
        .entrants
        .clear(&scope)
        .await
        .expect("it answers");
    let slug = campaign.config.slug.as_str();
    let clear = format!("campaign clear-test-data {slug} --yes");
    ops(service, &clear).await.fine();
    assert_eq!(keys(&campaign, Environment::Test).await.len(), 2);
    let nothing = ops(service, &clear).await;
    assert!(
        nothing
            .out
            .ends_with("0 entrants\n0 receipts\n0 instant prizes\n0 submissions\n"),
        "{}",
        nothing.out
    );
}
