//! Campaigns take turns at the tax authority and in the partners' queue; unreadable records do not
//! block them.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use common::aws::settle_queue::{self, SettleMessage, SettleQueues};
use common::domain::scope::{Environment, Scope};
use common::domain::settling::Dependency;
use common::domain::timestamp::Timestamp;
use common::runtime::event_handler::EventHandler;
use common::store::partner_leases::PartnerLeases;
use common::store::turns::{Turn, TurnResult, Turns};
use service_tests::campaign::{TestCampaign, phone};
use service_tests::event;
use service_tests::http::Reply;
use service_tests::moments::{NO_CAPS, OpenPlan};
use service_tests::partners::{judged_by, simulated};
use service_tests::receipts::{Settler, hardly_a_photo, id_of, receipts_alone};
use service_tests::service::Service;
use service_tests::text::{fields, parse_json};
use sweep_unsettled::Tick;

use super::{ENTERED, SPEEDUP, enter, service, set_up, status, submit_receipt};
use crate::process::{line_after, start};
use crate::retention::sweeper;

#[tokio::test]
async fn a_hundred_receipts_of_one_campaign_do_not_hold_up_another() {
    let (junk, settler) = set_up(receipts_alone).await;
    let honest = TestCampaign::changed(&junk.service, receipts_alone).await;
    let mut messages = Vec::new();
    for number in 0..100 {
        let submitted = enter(&junk, number, &format!("NONE01{number:04}")).await;
        messages.push(junk.message(&id_of(&submitted)));
    }
    // One message is delivered before the other campaign's receipt arrives.
    settler.deliver(&messages[0]).await;
    let submitted = enter(&honest, 1, "GOOD010001").await;
    for message in &messages[1..3] {
        settler.deliver(message).await;
    }
    assert_eq!(status(&honest, &submitted).await, ENTERED);
    assert_eq!(
        settler.due().await.len(),
        98,
        "the other turns were the first campaign's own"
    );
}

/// A campaign whose only lease is taken, so the queue settles.
async fn left_to_the_queue(service: &Service, url: String) -> TestCampaign {
    let campaign = TestCampaign::changed(service, |config| {
        judged_by(url)(config);
        config.partner.as_mut().expect("it was set").max_in_flight = 1;
    })
    .await;
    let leases = PartnerLeases::from_env(&service.env, &service.dynamodb()).expect("the table");
    let (scope, now) = (campaign.live_scope(), service.clock.now());
    let until = now.after(Duration::from_secs(600));
    let taken = leases
        .take(&scope, 1, until, now, common::random::unit_f64)
        .await
        .expect("it answers");
    assert!(taken.is_some());
    campaign
}

async fn submit_code(campaign: &TestCampaign, number: u32) -> Reply {
    let code = format!("OKAY-{number}");
    let reply = campaign.entry(&phone(number), &code).await;
    assert_eq!(reply.field("state"), "unknown", "{}", reply.text);
    reply
}

#[tokio::test]
async fn many_codes_of_one_partner_do_not_hold_up_another() {
    let partner = simulated(|_| {}).await;
    let (service, deliver_to) = (service(), Dependency::Partner);
    let settler = Settler::new(&service);
    let slow = left_to_the_queue(&service, partner.url()).await;
    let other = left_to_the_queue(&service, partner.url()).await;
    let mut messages = Vec::new();
    for number in 0..20 {
        messages.push(slow.message(&id_of(&submit_code(&slow, number).await)));
    }
    // One message is delivered before the other campaign's code arrives.
    settler.deliver_to(deliver_to, &messages[0]).await;
    let submitted = submit_code(&other, 1).await;
    // Environments look for other campaigns once a second.
    service.clock.advance(Duration::from_secs(1));
    for message in &messages[1..3] {
        settler.deliver_to(deliver_to, message).await;
    }
    assert_eq!(other.shown(&submitted).await.field("state"), "accepted");
    assert_eq!(
        settler.due().await.len(),
        18,
        "the other turns were the first campaign's own"
    );
    // A settled submission's message takes no turn.
    settler.deliver_to(deliver_to, &messages[0]).await;
    assert_eq!(settler.due().await.len(), 18);
    assert_eq!(settler.settle_due().await, 18);
}

#[tokio::test]
async fn two_campaigns_of_fast_partners_get_every_other_step() {
    let partner = simulated(|_| {}).await;
    let service = service();
    let settler = Settler::new(&service);
    let first = left_to_the_queue(&service, partner.url()).await;
    let second = left_to_the_queue(&service, partner.url()).await;
    let (mut messages, mut of_second) = (Vec::new(), Vec::new());
    for number in 0..6 {
        messages.push(first.message(&id_of(&submit_code(&first, number).await)));
        // A partner redeems each code once.
        of_second.push(submit_code(&second, number + 10).await);
    }
    for message in &messages {
        settler.deliver_to(Dependency::Partner, message).await;
    }
    let mut settled = 0;
    for submitted in &of_second {
        settled += usize::from(second.shown(submitted).await.field("state") == "accepted");
    }
    assert_eq!((settled, settler.due().await.len()), (3, 6));
}

#[tokio::test]
async fn one_of_two_workers_gets_the_turn_that_both_have_seen() {
    let service = service();
    let client = service.dynamodb();
    let turns = Turns::from_env(&service.env, &client, Dependency::Partner).expect("the table");
    let scope = |slug: &str| Scope {
        campaign: slug.parse().expect("a slug"),
        environment: Environment::Live,
    };
    let (first, second, now) = (scope("first"), scope("second"), service.clock.now());
    assert_eq!(turns.last().await.expect("it answers"), None);
    let take =
        async |last: Option<&Turn>, next| turns.take(last, next, now).await.expect("it answers");
    let TurnResult::Taken(one) = take(None, &first).await else {
        panic!("the turn was free")
    };
    let missed = TurnResult::Missed(Some(one.clone()));
    assert_eq!(take(None, &second).await, missed, "it was passed meanwhile");
    let TurnResult::Taken(two) = take(Some(&one), &second).await else {
        panic!("the turn was free")
    };
    let missed = TurnResult::Missed(Some(two.clone()));
    assert_eq!(take(Some(&one), &second).await, missed);
    assert_eq!(two.scope.as_ref(), Some(&second));
    assert_eq!(turns.last().await.expect("it answers"), Some(two));
}

#[tokio::test]
async fn a_sweep_whose_first_queue_fails_fills_the_second_and_counts() {
    let service = Service::without_background();
    // Never asked.
    let campaign = left_to_the_queue(&service, "http://127.0.0.1:1/redeem".to_owned()).await;
    submit_code(&campaign, 1).await;
    let receipts = TestCampaign::changed(&service, receipts_alone).await;
    enter(&receipts, 1, "GOOD010001").await;
    let mut variables = service.variables.clone();
    variables
        .get_mut(settle_queue::TAX_VARIABLE)
        .expect("the stack sets it")
        .push_str("-gone");
    let mut environment = start("sweep-unsettled", &variables).await;
    assert_eq!(
        environment.invoke(&event::of_schedule()).await,
        None,
        "the sweep failed"
    );
    let line = parse_json(&environment.next_line().await);
    let metrics = "Failed Due Hinted OldestReviewSeconds";
    assert_eq!(fields(&line, metrics), "1 1 1 0");
    assert_eq!(line["OldestDueSeconds"].as_u64(), None);
}

#[tokio::test]
async fn sweep_counts_plans_that_are_not_armed() {
    // Thousands of years, so that it is a day of the plan by every clock.
    const DAY: Duration = Duration::from_secs(200_000_000_000);
    let (campaign, _) = set_up(receipts_alone).await;
    let plan = OpenPlan::over(
        &campaign,
        Timestamp::from_millis(0),
        (DAY, &[1]),
        &[1],
        NO_CAPS,
    )
    .await;
    let mut environment = start("sweep-unsettled", &campaign.service.variables).await;
    for counted in [0, 1] {
        let line = line_after(&mut environment, &event::of_schedule()).await;
        assert_eq!(line["PlansNotArmed"], counted, "{line}");
        plan.change(|state| state.round = None).await;
    }
}

#[tokio::test]
async fn sweep_counts_what_stood_in_the_audit_log_without_ops() {
    let (campaign, _) = set_up(receipts_alone).await;
    let service = &campaign.service;
    let mut environment = start("sweep-unsettled", &service.variables).await;
    // A future time is within the hour.
    for (skipped_at, counted) in [("0", 0), ("9999999999999", 1)] {
        let number = |value: &str| AttributeValue::N(value.to_owned());
        let head = service.dynamodb().put_item().table_name("audit");
        let head = head
            .item("day", AttributeValue::S("head".to_owned()))
            .item("sequence", number("0"));
        head.item("skipped_at", number(skipped_at))
            .send()
            .await
            .expect("the table");
        let line = line_after(&mut environment, &event::of_schedule()).await;
        assert_eq!(line["AuditRowsPassedBy"], counted, "{line}");
    }
}

#[tokio::test]
async fn a_sweep_sends_no_message_to_a_queue_that_is_full() {
    let (campaign, settler) = set_up(receipts_alone).await;
    enter(&campaign, 1, "GOOD010001").await;
    let (service, tax) = (&campaign.service, Dependency::TaxAuthority);
    let queues = SettleQueues::from_env(&[tax], &service.env, &service.aws());
    let queues = queues.expect("the stack sets every variable");
    let waiting = async || queues.count_waiting(tax).await.expect("the queue");
    let sweeper = sweeper(service);
    sweeper.handle(Tick::default()).await.expect("it sweeps");
    assert_eq!(
        waiting().await,
        2,
        "one of the submission, one of the sweep"
    );
    let due = settler.due().await.remove(0);
    let message = SettleMessage::new(&due.scope, due.submission_id);
    queues
        .wake_all(tax, &vec![message; 46])
        .await
        .expect("the queue");
    sweeper.handle(Tick::default()).await.expect("it sweeps");
    assert_eq!(waiting().await, 48);
}

#[tokio::test]
async fn unreadable_photos_take_turns_with_another_campaigns() {
    let (first, settler) = set_up(receipts_alone).await;
    let second = TestCampaign::changed(&first.service, receipts_alone).await;
    for campaign in [&first, &second] {
        for number in 0..4 {
            let photo = campaign
                .photo(&campaign.live_key, &hardly_a_photo(), None)
                .await;
            assert_eq!(submit_receipt(campaign, number, &photo).await.status, 200);
        }
    }
    let mut due = settler.due().await;
    for delivered in 1..=4 {
        // Photos need no look-up, so they take no slot.
        let next = due.pop().expect("something is due");
        settler
            .deliver(&SettleMessage::new(&next.scope, next.submission_id))
            .await;
        due = settler.due().await;
        let left = |campaign: &TestCampaign| {
            let scope = campaign.live_scope();
            due.iter().filter(|due| due.scope == scope).count()
        };
        let (first, second) = (left(&first), left(&second));
        assert_eq!(first + second, 8 - delivered);
        assert!(first.abs_diff(second) <= 1, "{first} and {second} are left");
    }
}

#[tokio::test]
async fn unreadable_submissions_are_put_off_with_growing_waits() {
    let (campaign, settler) = set_up(receipts_alone).await;
    for number in 0..8 {
        let odd = id_of(&enter(&campaign, number, &format!("GOOD0100{number:02}")).await);
        campaign.make_unreadable(&odd).await;
        // It fails until it reaches the dead letters, which have an alarm.
        let reply = settler.deliver(&campaign.message(&odd)).await;
        assert_eq!(reply.batch_item_failures.len(), 1);
        assert_eq!(settler.due().await, [], "it is not due any more");
    }
    let good = enter(&campaign, 9, "GOOD010099").await;
    assert_eq!(settler.settle_due().await, 1);
    assert_eq!(status(&campaign, &good).await, ENTERED);

    let waits = [15, 60, 180, 360, 360].map(|minutes| Duration::from_mins(minutes) / SPEEDUP);
    for wait in waits {
        campaign.advance(wait - Duration::from_millis(1));
        assert_eq!(settler.due().await, [], "before {wait:?}");
        campaign.advance(Duration::from_millis(1));
        let due = settler.due().await;
        assert_eq!(due.len(), 8, "after {wait:?}");
        for due in due {
            let message = SettleMessage::new(&due.scope, due.submission_id);
            assert_eq!(settler.deliver(&message).await.batch_item_failures.len(), 1);
        }
    }
}

#[tokio::test]
async fn an_entry_of_the_index_that_is_not_understood_hides_no_other() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let good = enter(&campaign, 1, "GOOD010001").await;
    let table = campaign.service.variable("SUBMISSIONS_TABLE");
    let text = |text: &str| AttributeValue::S(text.to_owned());
    for shard in 0..4 {
        let put = campaign.service.dynamodb().put_item().table_name(&table);
        let put = put.item("id", text(&format!("of a newer build {shard}")));
        let put = put.item("unsettled", text(&format!("tax#{shard}")));
        put.item("scope_and_next_step", text("!"))
            .send()
            .await
            .expect("the table");
    }
    assert_eq!(settler.settle_due().await, 1);
    assert_eq!(status(&campaign, &good).await, ENTERED);
}
