//! The sweep deletes expired phones and photos.

pub(crate) mod draws;

use std::time::Duration;

use common::domain::campaign::{Campaign, PersonalData, Retention as RetentionDays};
use common::domain::codebook::BatchStatus;
use common::domain::contact_log::{ContactEvent, ContactLog, ContactStep, SkipReason};
use common::domain::draw::contact::Contact;
use common::domain::draw::{Draw, DrawOutcome, FreezeLock, Operator};
use common::domain::scope::{Environment, Scope};
use common::domain::submission::approval::{Approval, ProposedChange};
use common::domain::submission::correction::Correction;
use common::domain::submission::{OperatorDecision, Submission};
use common::domain::timestamp::Timestamp;
use common::runtime::event_handler::EventHandler;
use common::store::draws::Draws;
use common::store::retention::{Deletion, PostponeReason};
use serde_json::json;
use service_tests::campaign::{TestCampaign, body, phone};
use service_tests::counting::{Counter, differences};
use service_tests::interceptor::{AWS, FaultKind, Interceptor};
use service_tests::receipts::{Settler, TIME, code_and_receipt, hardly_a_photo, id_of};
use service_tests::service::Service;
use sweep_unsettled::{SweepUnsettled, Tick};

const DAY: Duration = Duration::from_hours(24);
const MINUTE: Duration = Duration::from_secs(60);

/// A campaign that ends in a day, and keeps phones for two days more and photos for one, without
/// background work.
async fn ending(service: &Service, change: impl FnOnce(&mut Campaign)) -> TestCampaign {
    let end = service.clock.now().after(DAY);
    TestCampaign::changed(service, |config| {
        code_and_receipt(config);
        config.receipt.as_mut().expect("rules").required = false;
        config.window.end = Some(end);
        config.retention = Some(RetentionDays {
            phones_days: Some(2),
            photos_days: Some(1),
        });
        change(config);
    })
    .await
}

pub(crate) fn sweeper(service: &Service) -> SweepUnsettled {
    service.function("sweep-unsettled")
}

/// Sweeps until nothing is left, after the hour in which campaigns are not looked through again.
async fn sweep_an_hour_later(service: &Service) {
    /// One for each environment and kind of data of two campaigns, and some idle.
    const SWEEPS: u32 = 12;
    service.clock.advance(MINUTE * 60);
    let sweeper = sweeper(service);
    for _ in 0..SWEEPS {
        sweeper.handle(Tick::default()).await.expect("it sweeps");
    }
}

/// Enters a phone with code, region and claim; returns the id.
async fn enter_with(campaign: &TestCampaign, key: &str, number: u32, code: &str) -> String {
    let mut entry = body(&phone(number), code);
    entry["region"] = json!("Mwanza");
    entry["claimed"] = json!({ "branch": "kko", "items": [{ "key": "chai-250", "qty": 1 }] });
    let reply = campaign.with_body(key, &entry).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    id_of(&reply)
}

/// Enters a phone with its own live code; returns the id.
async fn enter(campaign: &TestCampaign, number: u32) -> String {
    let code = campaign.code(number.into());
    enter_with(campaign, &campaign.live_key, number, &code).await
}

/// True if a live submission still has its phone.
async fn has_phone(campaign: &TestCampaign, id: &str) -> bool {
    campaign.record(id).await.phone.is_some()
}

/// A submission has lost all that is told of the person.
async fn assert_deleted(campaign: &TestCampaign, environment: Environment, id: &str) -> Submission {
    let after = campaign.record_in(environment, id).await;
    assert_eq!(
        (&after.phone, &after.region, &after.claimed),
        (&None, &None, &None),
        "{id}"
    );
    after
}

/// Records done and left by a live deletion; true if finished.
async fn progress(campaign: &TestCampaign, data: PersonalData) -> (u64, u64, bool) {
    let begun = deletion(campaign, Environment::Live, data).await;
    let begun = begun.expect("it has begun");
    (begun.done, begun.left, begun.finished_at.is_some())
}

async fn postponed(campaign: &TestCampaign) -> Option<PostponeReason> {
    let begun = deletion(campaign, Environment::Live, PersonalData::Phones).await;
    Some(begun?.postponed?.reason)
}

async fn deletion(
    campaign: &TestCampaign,
    environment: Environment,
    data: PersonalData,
) -> Option<Deletion> {
    let retention = campaign
        .service
        .tables
        .retention
        .get(&campaign.config.slug)
        .await;
    let retention = retention.expect("it answers").value;
    retention
        .deletion(&campaign.config, environment, data)
        .cloned()
}

async fn photos(campaign: &TestCampaign) -> usize {
    let (service, scope) = (&campaign.service, campaign.live_scope());
    let list = service
        .aws()
        .s3()
        .list_objects_v2()
        .bucket(service.variable("PHOTOS_BUCKET"));
    let prefix = format!("{}/{}/", scope.campaign, scope.environment);
    let listed = list.prefix(prefix).send().await.expect("it answers");
    listed.contents().len()
}

/// The numbers agree with the records.
async fn assert_counted(counter: &mut Counter, campaign: &TestCampaign) {
    counter.count_all().await;
    let differing = differences(&campaign.service.env, &campaign.live_scope()).await;
    assert!(differing.is_empty(), "{differing:?}");
}

async fn upload(campaign: &TestCampaign) {
    campaign
        .photo(&campaign.live_key, &hardly_a_photo(), None)
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn phones_and_photos_go_on_their_days_and_the_entries_stay() {
    let service = Service::still();
    let campaign = ending(&service, |_| {}).await;
    let other = ending(&service, |config| config.retention = None).await;
    let entered = enter(&campaign, 1).await;
    let refused = enter_with(&campaign, &campaign.live_key, 1, "K7M2-Q9XD-K7M2").await;
    let tested = enter_with(&campaign, &campaign.test_key, 2, "TEST-0-VALID").await;
    let kept = enter(&other, 1).await;
    upload(&campaign).await;
    upload(&other).await;

    service.clock.advance(DAY * 2 - MINUTE * 61);
    sweep_an_hour_later(&service).await;
    assert_eq!(
        photos(&campaign).await,
        1,
        "a day after the end has not passed"
    );
    sweep_an_hour_later(&service).await;
    assert_eq!((photos(&campaign).await, photos(&other).await), (0, 1));
    assert_eq!(
        progress(&campaign, PersonalData::Photos).await,
        (1, 0, true)
    );
    let phones = deletion(&campaign, Environment::Live, PersonalData::Phones);
    assert_eq!(phones.await, None);
    assert!(has_phone(&campaign, &entered).await);

    let mut counter = Counter::new(&service.env, &service.clock);
    counter.count_all().await;
    service.clock.advance(DAY);
    sweep_an_hour_later(&service).await;
    for (environment, id) in [
        (Environment::Live, &entered),
        (Environment::Live, &refused),
        (Environment::Test, &tested),
    ] {
        assert_deleted(&campaign, environment, id).await;
    }
    let after = campaign.record(&entered).await;
    assert_eq!((after.status.entries(), after.revision), (1, 1));
    assert!(has_phone(&other, &kept).await, "it says nothing of phones");
    assert_eq!(
        progress(&campaign, PersonalData::Phones).await,
        (2, 0, true)
    );
    let shown = campaign.read(&campaign.live_key, &entered).await;
    assert_eq!(shown.fields("state entries"), "accepted 1");
    assert_counted(&mut counter, &campaign).await;
    sweep_an_hour_later(&service).await;
    assert_eq!(campaign.record(&entered).await.revision, 1, "written once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_of_erased_persons_go_30_days_after_the_end() {
    let service = Service::still();
    let campaign = ending(&service, |config| config.retention = None).await;
    for number in [1, 2] {
        enter(&campaign, number).await;
    }
    let id = campaign.entrant_id(Environment::Live, 1);
    let entrants = &service.tables.entrants;
    let scope = campaign.live_scope();
    let kept = entrants.keep_limits(&scope, &id, service.clock.now());
    kept.await.expect("it answers");
    let totals = async || {
        let total = async |number| campaign.entrant(Environment::Live, number).await.total;
        [total(1).await, total(2).await]
    };
    let mut counter = Counter::new(&service.env, &service.clock);
    counter.count_all().await;
    service.clock.advance(DAY * 31 - MINUTE * 61);
    sweep_an_hour_later(&service).await;
    assert_eq!(totals().await, [1, 1]);
    sweep_an_hour_later(&service).await;
    assert_eq!(totals().await, [0, 1], "the other was not erased");
    assert_eq!(
        progress(&campaign, PersonalData::Limits).await,
        (1, 0, true)
    );
    assert_counted(&mut counter, &campaign).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entry_after_phone_deletion_is_recorded_without_the_person() {
    let service = Service::still();
    let campaign = ending(&service, |_| {}).await;
    service.clock.advance(DAY * 3 - MINUTE * 2);
    let early = enter(&campaign, 1).await;
    assert!(has_phone(&campaign, &early).await);
    service.clock.advance(MINUTE);
    let just_before = enter(&campaign, 2).await;
    sweep_an_hour_later(&service).await;
    assert_eq!(
        progress(&campaign, PersonalData::Phones).await,
        (2, 0, true)
    );
    let late = enter(&campaign, 3).await;
    for (id, revision) in [(&early, 1), (&just_before, 0), (&late, 0)] {
        let after = assert_deleted(&campaign, Environment::Live, id).await;
        assert_eq!(
            (after.status.message_key().as_str(), after.revision),
            ("campaign_ended", revision)
        );
        assert!(after.consent.is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn photos_that_are_sent_after_their_deletion_go_within_a_week() {
    let service = Service::still();
    let campaign = ending(&service, |_| {}).await;
    service.clock.advance(DAY * 2);
    sweep_an_hour_later(&service).await;
    upload(&campaign).await;
    for (wait, left) in [(DAY, 1), (DAY * 6, 0)] {
        service.clock.advance(wait);
        sweep_an_hour_later(&service).await;
        assert_eq!(photos(&campaign).await, left);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_goes_while_unsettled_or_without_an_end() {
    let service = Service::still();
    let campaign = ending(&service, |_| {}).await;
    let endless = ending(&service, |config| config.window.end = None).await;
    let entered = enter(&campaign, 1).await;
    let kept = enter(&endless, 1).await;
    upload(&campaign).await;
    let typed = campaign.typed(&campaign.live_key, "GOOD010001", TIME).await;
    let pending = campaign
        .with_receipt(&campaign.live_key, &phone(2), &campaign.code(2), &typed)
        .await;
    assert_eq!(pending.field("state"), "pending");
    service.clock.advance(DAY * 4);
    sweep_an_hour_later(&service).await;
    assert!(has_phone(&campaign, &entered).await);
    assert_eq!(photos(&campaign).await, 1);
    assert_eq!(postponed(&campaign).await, Some(PostponeReason::Unsettled));
    assert!(!progress(&campaign, PersonalData::Phones).await.2);
    // The other environment does not wait.
    let test = deletion(&campaign, Environment::Test, PersonalData::Phones).await;
    assert!(test.expect("it has begun").finished_at.is_some());

    Settler::new(&service).settle_due().await;
    let submissions = service.tables.store.submissions();
    let unsettled = submissions.count_unsettled(&campaign.live_scope()).await;
    assert_eq!(unsettled.expect("it answers"), 0);
    sweep_an_hour_later(&service).await;
    assert!(!has_phone(&campaign, &entered).await);
    assert!(!has_phone(&campaign, &id_of(&pending)).await);
    assert_eq!(photos(&campaign).await, 0);
    assert!(has_phone(&endless, &kept).await);
    let begun = deletion(&endless, Environment::Live, PersonalData::Phones);
    assert_eq!(begun.await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_for_a_second_person_is_left_and_found_a_day_later() {
    let service = Service::still();
    let campaign = ending(&service, |_| {}).await;
    let (first, second) = (enter(&campaign, 1).await, enter(&campaign, 2).await);
    let before = campaign.record(&first).await;
    let approval = Approval {
        change: ProposedChange::Correct(Correction::Reopen),
        decision: OperatorDecision {
            by: "asha".to_owned(),
            at: before.created_at,
            why: None,
            confirmed: None,
            identity: None,
        },
    };
    let proposed = Submission {
        approval: Some(approval),
        revision: 1,
        ..before.clone()
    };
    let annotated = service.tables.store.annotate(&before, &proposed).await;
    assert!(annotated.expect("it answers"));
    service.clock.advance(DAY * 4);
    sweep_an_hour_later(&service).await;
    assert_eq!(campaign.record(&first).await, proposed);
    assert!(!has_phone(&campaign, &second).await);
    assert_eq!(
        progress(&campaign, PersonalData::Phones).await,
        (1, 1, false)
    );
    let reason = PostponeReason::SubmissionsLeft;
    assert_eq!(postponed(&campaign).await, Some(reason));

    let decided = Submission {
        approval: None,
        revision: 2,
        ..proposed.clone()
    };
    let annotated = service.tables.store.annotate(&proposed, &decided).await;
    assert!(annotated.expect("it answers"));
    service.clock.advance(DAY);
    sweep_an_hour_later(&service).await;
    assert!(!has_phone(&campaign, &first).await);
    assert_eq!(
        progress(&campaign, PersonalData::Phones).await,
        (2, 0, true)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prolonged_campaign_keeps_its_phones_until_it_ends_again() {
    let service = Service::still();
    let mut campaign = ending(&service, |_| {}).await;
    let entered = enter(&campaign, 1).await;
    service.clock.advance(DAY * 4);
    campaign.config.window.end = Some(service.clock.now().after(DAY));
    campaign.apply().await;
    sweep_an_hour_later(&service).await;
    assert!(has_phone(&campaign, &entered).await);
    service.clock.advance(DAY * 3);
    sweep_an_hour_later(&service).await;
    assert!(!has_phone(&campaign, &entered).await);
}

/// A sweep dies at each of its calls; the next finish it, and nothing is counted twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_sweep_is_finished_by_the_next() {
    /// Every call would take minutes. Most read the index's partitions, whose number is no multiple
    /// of it.
    const STRIDE: usize = 11;
    let service = Service::still();
    let faults = Interceptor::at(0, FaultKind::DiesBefore);
    let faulty = service.behind(&faults, &AWS).await;
    for (number, call) in (0..).step_by(STRIDE).enumerate() {
        let phones = |config: &mut Campaign| {
            config.retention = Some(RetentionDays {
                phones_days: Some(1),
                photos_days: None,
            });
        };
        let campaign = ending(&service, phones).await;
        let (first, second) = (enter(&campaign, 1).await, enter(&campaign, 2).await);
        service.clock.advance(DAY * 3);
        let how = FaultKind::ALL[number % FaultKind::ALL.len()];
        faults.arm(call, how);
        for _ in 0..3 {
            let dying = sweeper(&faulty);
            tokio::select! {
                // The alarm finds a failed sweep, and the next comes anyway.
                _ = dying.handle(Tick::default()) => {}
                () = faults.death() => break,
            }
        }
        let was_made = faults.was_made();
        faults.disarm();
        for _ in 0..4 {
            let swept = sweeper(&service).handle(Tick::default()).await;
            swept.expect("it sweeps");
        }
        for id in [&first, &second] {
            let after = campaign.record(id).await;
            assert_eq!(
                (after.phone, after.revision),
                (None, 1),
                "{how:?} at {call}"
            );
        }
        let progress = progress(&campaign, PersonalData::Phones).await;
        assert_eq!(progress, (2, 0, true), "{how:?} at {call}");
        if !was_made {
            return;
        }
    }
}
