//! `ops smoke`.

use std::time::Duration;

use common::clock::Clock;
use common::config::Env;
use common::domain::scope::CampaignSlug;
use local::stack::{Options, Stack as Local};
use serde_json::{Value, json};
use service_tests::text::{len_of, list_of, text_of};
use tokio::net::TcpSocket;

use crate::support::{Ended, run};

async fn ran(env: &Env, command: &str) -> Ended {
    run(command, env.clone(), &Clock::system()).await
}

async fn json(env: &Env, command: &str) -> Value {
    ran(env, &format!("{command} --json")).await.json()
}

/// Asserts that the campaign is archived and takes no entries.
async fn assert_archived(env: &Env) {
    let shown = json(env, "campaign show smoke-test").await;
    assert_eq!(shown["archived"], true);
    assert_eq!(shown["status"], "ended");
    assert_eq!(json(env, "campaign list").await["campaigns"], json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn walk_leaves_no_key_and_no_listed_campaign_behind() {
    let local = Local::start(Options::default()).await.expect("it starts");
    let env: Env = local.env().clone().into_iter().collect();
    let smoke = format!(
        "smoke --url {}",
        local.base_url().trim_start_matches("http://")
    );
    let walked = json(&env, &smoke).await;
    assert_eq!(len_of(&walked["steps"]), 23);

    let slug: CampaignSlug = "smoke-test".parse().expect("a slug");
    let tables = ops_core::connection::tables(&env)
        .await
        .expect("all variables");
    let keys = tables.api_keys.list(&slug).await.expect("it answers");
    assert_eq!(
        (keys.len(), keys.iter().all(|key| key.revoked_at.is_some())),
        (1, true)
    );
    let until = keys
        .iter()
        .filter_map(|key| Some(key.valid_until?.since(key.created_at)));
    assert_eq!(
        until.collect::<Vec<_>>(),
        [Duration::from_hours(1)],
        "also if the test is interrupted"
    );
    assert_archived(&env).await;
    let rows = json(&env, "audit list").await;
    let walk = [
        "campaign.apply",
        "key.issue",
        "key.revoke",
        "campaign.archive",
    ];
    let actions = list_of(&rows["rows"]).iter();
    let actions: Vec<_> = actions.map(|row| text_of(&row["action"])).collect();
    assert_eq!(actions, walk);
    assert_eq!(
        tables.code_books.scopes().await.expect("it answers"),
        [],
        "test codes are in no book"
    );
    let shown = json(&env, "campaign show smoke-test").await;
    assert_eq!(shown["codes"], json!({ "test": null, "live": null }));

    json(&env, &smoke).await;
    assert_archived(&env).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_as_it_should_be_is_named() {
    let local = Local::start(Options::default()).await.expect("it starts");
    let env: Env = local.env().clone().into_iter().collect();
    let storage = env
        .required("AWS_ENDPOINT_URL_S3")
        .expect("the stack sets it");
    let ended = ran(&env, &format!("smoke --url {storage}")).await;
    assert_eq!(ended.code, ops_core::EXIT_FAILURE);
    assert_contains!(
        ended.err,
        "reading the campaign: the status should be 200, and the reply is ",
        "logs name the causes"
    );
    assert_archived(&env).await;
    for url in ["ftp://entry.example.com", "nope"] {
        let ended = ran(&env, &format!("smoke --url {url}")).await;
        assert_contains!(ended.err, "--url must be where the API is");
    }
    // Held and not listened on, it refuses connections.
    let held = TcpSocket::new_v4().expect("a socket");
    held.bind(([127, 0, 0, 1], 0).into()).expect("a port");
    let address = held.local_addr().expect("an address").to_string();
    let ended = ran(&env, &format!("smoke --url {address}")).await;
    assert_contains!(ended.err, "reading the campaign: ");
    assert_lacks!(ended.err, "logs");
    let stopped = [(
        "AWS_ENDPOINT_URL_DYNAMODB".to_owned(),
        format!("http://{address}"),
    )]
    .into_iter()
    .collect();
    let ended = ran(&env.overridden_by(stopped), "campaign list").await;
    assert_contains!(ended.err, "nothing answers at this address");
}
