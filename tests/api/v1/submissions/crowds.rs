//! `POST /api/v1/submissions`: concurrent requests, whose sums must be right in any order.

use std::collections::{BTreeMap, BTreeSet};

use common::domain::scope::Environment;
use serde_json::Value;
use service_tests::campaign::{TestCampaign, phone};
use service_tests::http::{Reply, RequestBuilder, crowd};

use crate::load::turn;

/// Retries under the same key until answered, as callers do: a slow machine may need more than ten
/// seconds.
pub(super) async fn answered(request: RequestBuilder) -> Reply {
    loop {
        let reply = request.clone().await;
        if !matches!(reply.status.as_u16(), 409 | 503) {
            return reply;
        }
    }
}

pub(super) fn count(replies: &[Reply]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for reply in replies {
        assert_eq!(reply.status, 200, "{}", reply.text);
        *counts
            .entry(
                reply
                    .field("message_key")
                    .as_str()
                    .expect("a key")
                    .to_owned(),
            )
            .or_default() += 1;
    }
    counts
}

fn counts(expected: &[(&str, usize)]) -> BTreeMap<String, usize> {
    expected
        .iter()
        .map(|(key, count)| ((*key).to_owned(), *count))
        .collect()
}

#[tokio::test]
async fn two_hundred_phones_with_one_code_are_one_winner() {
    let _turn = turn().await;
    let campaign = TestCampaign::plain().await;
    let code = campaign.code(0);
    let submitted = (0..200).map(|number| answered(campaign.submission(&phone(number), &code)));
    let replies = crowd(submitted).await;
    assert_eq!(
        count(&replies),
        counts(&[("entered", 1), ("already_used", 199)])
    );
}

#[tokio::test]
async fn fifty_codes_of_one_phone_pass_a_limit_of_three_three_times() {
    let _turn = turn().await;
    let campaign = TestCampaign::with(|config| config.limits.phone_total = Some(3)).await;
    let submitted =
        (0..50).map(|serial| answered(campaign.submission(&phone(1), &campaign.code(serial))));
    let replies = crowd(submitted).await;
    assert_eq!(
        count(&replies),
        counts(&[("entered", 3), ("entry_limit", 47)])
    );
    let scope = campaign.scope(Environment::Test);
    let phone = phone(1).parse().expect("a phone");
    let today = campaign
        .service
        .clock
        .now()
        .day_in(campaign.config.timezone);
    let entrant = campaign
        .service
        .entrant(&scope, &phone, &today)
        .await
        .expect("read");
    assert_eq!((entrant.total, entrant.entries), (3, 3));
}

#[tokio::test]
async fn fifty_requests_with_one_key_are_one_submission() {
    let _turn = turn().await;
    let campaign = TestCampaign::with(|config| config.limits.phone_total = Some(1)).await;
    let request = campaign.submission(&phone(1), &campaign.code(0));
    let replies = crowd((0..50).map(|_| answered(request.clone()))).await;
    assert_eq!(count(&replies), counts(&[("entered", 50)]));
    let ids: BTreeSet<String> = replies
        .iter()
        .map(|reply| reply.field("id").to_string())
        .collect();
    assert_eq!(ids.len(), 1);
    let first = replies
        .iter()
        .filter(|reply| reply.header("idempotent-replayed").is_none())
        .count();
    assert_eq!(first, 1, "one made it, all others were answered with it");
}

#[tokio::test]
async fn fifty_new_keys_for_one_code_and_phone_are_one_submission() {
    let _turn = turn().await;
    let campaign = TestCampaign::with(|config| config.limits.phone_total = Some(1)).await;
    let code = campaign.code(0);
    let phone = phone(1);
    let replies = crowd((0..50).map(|_| answered(campaign.submission(&phone, &code)))).await;
    assert_eq!(count(&replies), counts(&[("entered", 50)]));
    let fresh = replies
        .iter()
        .filter(|reply| reply.field("replayed") == Value::Bool(false))
        .count();
    assert_eq!(fresh, 1);
}

#[tokio::test]
async fn forty_guesses_at_once_are_ten_heard_and_thirty_not() {
    let _turn = turn().await;
    let campaign = TestCampaign::plain().await;
    let guess = |number| answered(campaign.submission(&phone(1), &format!("WRONG{number}")));
    let replies = crowd((0..40).map(guess)).await;
    assert_eq!(
        count(&replies),
        counts(&[("invalid", 10), ("rate_limited", 30)])
    );
}

#[tokio::test]
async fn everything_at_once_adds_up() {
    let _turn = turn().await;
    let campaign = TestCampaign::with(|config| config.limits.phone_total = Some(4)).await;
    // Six phones compete for twelve codes; each request is sent twice.
    let mut requests = Vec::new();
    for number in 0..6 {
        for serial in 0..12 {
            let request = campaign.submission(&phone(number), &campaign.code(serial));
            requests.push(request.clone());
            requests.push(request);
        }
    }
    let replies = crowd(requests.into_iter().map(answered)).await;
    let mut winners: BTreeMap<String, usize> = BTreeMap::new();
    for reply in &replies {
        assert_eq!(reply.status, 200, "{}", reply.text);
        if reply.field("state") == "accepted" {
            *winners.entry(reply.field("id").to_string()).or_default() += 1;
        }
    }
    assert_eq!(
        winners.len(),
        12,
        "every code was redeemed, by one phone each"
    );
    assert!(
        winners.values().all(|answers| *answers == 2),
        "and both tries of a key saw the same"
    );

    let mut total = 0;
    for number in 0..6 {
        let entrant = campaign.entrant(Environment::Test, number).await;
        assert!(entrant.total <= 4, "a phone passed its limit");
        assert_eq!(u64::from(entrant.total), entrant.entries);
        total += entrant.total;
    }
    assert_eq!(total, 12, "counts equal what is recorded");
}
