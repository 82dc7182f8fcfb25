//! `POST /api/v1/submissions`: each entry that wins has a record in the prize log, and no other.

use std::collections::BTreeSet;
use std::time::Duration;

use common::domain::codebook::BatchStatus;
use common::domain::scope::Environment;
use common::domain::win::{Win, WinSource, WinStatus};
use service_tests::campaign::{TestCampaign, phone};
use service_tests::database_faults::Fault;
use service_tests::http::{Reply, crowd};
use service_tests::partners::{judged_by, simulated};
use service_tests::receipts::{Settler, TIME, code_and_receipt, id_of};
use service_tests::service::Service;

use super::crowds::answered;

const PRIZE: &str = "A kettle";

async fn prizes(campaign: &TestCampaign) -> u64 {
    let mint = campaign.mint("prizes", BatchStatus::Active, Some(PRIZE));
    mint.await
}

async fn wins(campaign: &TestCampaign, environment: Environment) -> Vec<Win> {
    let store = &campaign.service.tables.store;
    let listed = store.wins().list(&campaign.scope(environment)).await;
    listed.expect("it answers")
}

fn ids(wins: &[Win]) -> BTreeSet<String> {
    wins.iter()
        .map(|win| win.submission_id.to_string())
        .collect()
}

#[tokio::test]
async fn each_winner_of_a_crowd_has_one_record() {
    let campaign = TestCampaign::plain().await;
    let first = prizes(&campaign).await;
    // Ten codes with a prize and ten without, each from three phones and twice under each key.
    let codes = (0..10).flat_map(|code| [first + code, code]);
    let requests = codes.zip((0..).step_by(3)).flat_map(|(code, number)| {
        let of_phone = |number| campaign.submission(&phone(number), &campaign.code(code));
        let requests = (number..number + 3).map(of_phone);
        requests
            .flat_map(|request| [request.clone(), request])
            .collect::<Vec<_>>()
    });
    let replies = crowd(requests.map(answered)).await;
    let has_won = |reply: &&Reply| reply.field("instant_win") == PRIZE;
    let winners: BTreeSet<_> = replies.iter().filter(has_won).map(id_of).collect();
    assert_eq!(winners.len(), 10);
    let wins = wins(&campaign, Environment::Test).await;
    assert_eq!((wins.len(), ids(&wins)), (10, winners));
    for win in &wins {
        assert_eq!(win.reference, win.submission_id.reference());
        assert_eq!(
            (win.prize.as_str(), win.source, win.status()),
            (PRIZE, WinSource::Batch, WinStatus::Won)
        );
    }
}

#[tokio::test]
async fn a_lost_answer_replays_the_prize() {
    let (service, proxy) = Service::intercepted().await;
    let campaign = TestCampaign::changed(&service, |_| {}).await;
    let code = campaign.code(prizes(&campaign).await);
    proxy.play([Fault::AnswerLost]);
    let sending = campaign.submission(&phone(1), &code);
    let first = sending.clone().await;
    assert_eq!(proxy.faults_left(), 0, "the answer was lost");
    let under_another_key = campaign.submission(&phone(1), &code).await;
    for reply in [&first, &sending.await, &under_another_key] {
        assert_eq!(reply.field("instant_win"), PRIZE, "{}", reply.text);
        assert_eq!(reply.field("id"), first.field("id"));
    }
    let wins = wins(&campaign, Environment::Test).await;
    assert_eq!(ids(&wins), BTreeSet::from([id_of(&first)]));
}

#[tokio::test]
async fn settling_records_the_prize_of_a_partner() {
    let service = Service::still();
    let partner = simulated(|_| {}).await;
    let campaign = TestCampaign::changed(&service, judged_by(partner.url())).await;
    let mut won = BTreeSet::new();
    for (number, code) in [(1, "WINS-1"), (2, "OKAY-1"), (3, "DNWN-1")] {
        let reply = campaign.entry(&phone(number), code).await;
        won.extend((number != 2).then(|| id_of(&reply)));
    }
    let is_settled = async || wins(&campaign, Environment::Live).await.len() == 2;
    let settler = Settler::new(&service);
    while !is_settled().await {
        settler.settle_after(Duration::from_secs(60)).await;
    }
    let wins = wins(&campaign, Environment::Live).await;
    assert_eq!(ids(&wins), won);
    assert!(wins.iter().all(|win| win.source == WinSource::Partner));
}

#[tokio::test]
async fn settling_records_the_prize_of_a_receipts_code() {
    let service = Service::still();
    let campaign = TestCampaign::changed(&service, code_and_receipt).await;
    let first = prizes(&campaign).await;
    let key = &campaign.test_key;
    let mut won = BTreeSet::new();
    for (number, code, outcome) in [
        (1, first, "TEST0VERIFIED"),
        (2, first + 1, "TEST0WRONGSHOP"),
        (3, 0, "TEST0VERIFIED"),
    ] {
        let typed = format!("{outcome}.{number}");
        let receipt = campaign.typed(key, &typed, TIME).await;
        let code = campaign.code(code);
        let sent = campaign.with_receipt(key, &phone(number), &code, &receipt);
        won.extend((number == 1).then_some(id_of(&sent.await)));
    }
    assert!(wins(&campaign, Environment::Test).await.is_empty());
    Settler::new(&service).settle_due().await;
    let wins = wins(&campaign, Environment::Test).await;
    assert_eq!(ids(&wins), won);
}
