//! `ops smoke`.

use common::clock::Clock;
use common::domain::scope::CampaignSlug;
use local::stack::{Options, Stack as Local};
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use crate::support::run;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_walk_goes_through_every_operation_and_leaves_no_key_behind() {
    let local = Local::start(Options::default()).await.expect("it starts");
    let env: common::config::Env = local.env().clone().into_iter().collect();
    let without_scheme = local.base_url().trim_start_matches("http://");
    let ended = run(&["smoke", "--url", without_scheme, "--json"], env.clone(), &Clock::system()).await;
    assert_eq!(ended.code, ops_core::EXIT_OK, "{}", ended.err);
    let document: Value = serde_json::from_str(&ended.out).expect("one JSON document");
    assert_eq!(document["steps"].as_array().map(Vec::len), Some(23));

    let slug: CampaignSlug = "smoke-test".parse().expect("a slug");
    let tables = ops_core::connection::tables(&env).await.expect("all variables");
    let keys = tables.api_keys.list(&slug).await.expect("it answers");
    assert_eq!((keys.len(), keys.iter().all(|key| key.revoked_at.is_some())), (1, true));
    assert!(tables.campaign(&slug).await.expect("it is there").paused, "it takes no entries by itself");
    assert_eq!(tables.code_books.scopes().await.expect("it answers"), [], "test codes are in no book");
    let shown = run(&["campaign", "show", "smoke-test", "--json"], env, &Clock::system()).await;
    assert_eq!(shown.code, ops_core::EXIT_OK, "{}", shown.err);
    let shown: Value = serde_json::from_str(&shown.out).expect("one JSON document");
    assert_eq!(shown["codes"], json!({ "test": null, "live": null }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_as_it_should_be_is_named() {
    let local = Local::start(Options::default()).await.expect("it starts");
    let env: common::config::Env = local.env().clone().into_iter().collect();
    let storage = env.required("AWS_ENDPOINT_URL_S3").expect("the stack sets it");
    let ended = run(&["smoke", "--url", &storage], env.clone(), &Clock::system()).await;
    assert_eq!(ended.code, ops_core::EXIT_FAILURE);
    assert!(
        ended.err.contains("reading the campaign: the status should be 200, and the reply is "),
        "{}",
        ended.err
    );
    assert!(ended.err.contains("logs name the causes"), "{}", ended.err);
    for url in ["ftp://entry.example.com", "nope"] {
        let ended = run(&["smoke", "--url", url], env.clone(), &Clock::system()).await;
        assert!(ended.err.contains("--url must be where the API is"), "{}", ended.err);
    }
    // A port that is held and not listened on refuses connections.
    let held = TcpSocket::new_v4().expect("a socket");
    held.bind(([127, 0, 0, 1], 0).into()).expect("a port");
    let address = held.local_addr().expect("an address").to_string();
    let ended = run(&["smoke", "--url", &address], env, &Clock::system()).await;
    assert!(ended.err.contains("reading the campaign: ") && !ended.err.contains("logs"), "{}", ended.err);
}
