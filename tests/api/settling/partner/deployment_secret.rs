//! The deployment's secret in `settle-partners`: decrypts the phone that the partner is told.

use common::aws::deployment_secret;
use service_tests::interceptor::Interceptor;

use super::*;
use crate::process::start;

const ENDPOINT: &str = "AWS_ENDPOINT_URL_SECRETS_MANAGER";

#[tokio::test]
async fn settle_functions_fetch_their_secrets_at_start() {
    let service = Service::shared();
    let secrets = Interceptor::default();
    let mut variables = service.variables.clone();
    let url = secrets.in_front_of(&variables[ENDPOINT]).await;
    variables.insert(ENDPOINT.to_owned(), url);
    assert!(variables.contains_key(deployment_secret::VARIABLE));
    let functions = [
        ("count-changes", 0),
        // That of winning moments.
        ("settle-receipts", 1),
        ("sweep-unsettled", 1),
        ("settle-partners", 3),
    ];
    for (function, calls) in functions {
        start(function, &variables)
            .await
            .first_poll()
            .await
            .expect("it starts");
        assert_eq!(secrets.calls(), calls, "{function}");
    }
}

#[tokio::test]
async fn step_without_the_secret_asks_nothing_and_is_settled_later() {
    let (partner, campaign, _) = judged().await;
    let reply = submit(&campaign, 1, "DOWN-1").await;
    let id = id_of(&reply);
    let asked = partner.asked(&id);

    let secrets = Interceptor::default();
    secrets.deny(true);
    let service = campaign.service.behind(&secrets, &[ENDPOINT]).await;
    let settler = Settler::new(&service);
    for _ in 0..2 {
        service.clock.advance(Duration::from_secs(60));
        assert_eq!(settler.due().await.len(), 1);
        let message = campaign.message(&id);
        let answer = settler.deliver_to(Dependency::Partner, &message).await;
        assert_eq!(answer.batch_item_failures.len(), 1);
        assert_eq!(status(&campaign, &reply).await, UNKNOWN);
    }
    assert_eq!(partner.asked(&id), asked, "no partner gets an empty phone");

    secrets.deny(false);
    for _ in 0..10 {
        settler.settle_after(Duration::from_secs(60)).await;
    }
    assert_eq!(status(&campaign, &reply).await, "accepted null entered 2");
    assert_eq!(partner.redeemed(&id), 1);
}
