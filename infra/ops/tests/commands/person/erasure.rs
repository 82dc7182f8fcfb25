//! Erasures that were interrupted, and what they must not leave behind.

use super::*;

#[tokio::test]
async fn interrupted_erasure_is_finished_by_running_it_again() {
    let campaign = settled().await;
    let scope = campaign.live_scope();
    let tables = tables_of(&campaign.service.env);
    let held = people::find(&tables, &phone(), campaign.service.clock.now()).await;
    let held = held.expect("found");
    let id = tables.entrant_id(&scope, &phone()).await.expect("an id");
    // The first erasure ended after noting the phone's replacement, and changing the submission.
    let noted = begin_erasure(&tables.entrants, &scope, &id).await;
    let (submission, _) = &held[0].submissions[0];
    let erased = tables.store.erase(submission, &noted).await;
    assert!(erased.expect("written"));

    erase(&campaign).await;
    assert_eq!(found(&campaign).await, json!([]));
    // The counts stay, and lead to no submission.
    let counts = tables
        .entrants
        .get(&scope, &id, "")
        .await
        .expect("the table");
    assert_eq!((counts.total, counts.entries), (2, 2));
}

#[tokio::test]
async fn erasure_interrupted_before_it_found_records_is_finished() {
    let campaign = TestCampaign::plain().await;
    let scope = campaign.scope(Environment::Test);
    let entrants = &campaign.service.tables.entrants;
    begin_erasure(entrants, &scope, &entrant_id(&scope, &phone())).await;
    erase(&campaign).await;
    assert_eq!(found(&campaign).await, json!([]));
}

/// An erasure dies at each of its calls; running it again leaves nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn erasure_cut_at_any_write_is_finished_by_the_next() {
    /// Every call would take minutes.
    const STRIDE: usize = 2;
    const PEOPLE: usize = 16;
    let service = Service::without_background();
    let campaign = TestCampaign::changed(&service, code_and_receipt).await;
    let phones: Vec<_> = (0..PEOPLE)
        .map(|number| format!("07115550{number:02}"))
        .collect();
    for (number, phone) in (0..).zip(&phones) {
        let photo = [PHOTO, phone.as_bytes()].concat();
        let payload = format!("https://verify.tra.go.tz/GOOD02{number:04}_101530");
        let photo = campaign
            .photo(&campaign.live_key, &photo, Some(&payload))
            .await;
        enter_receipt(&campaign, phone, number, &photo).await;
    }
    Settler::new(&service).settle_due().await;

    let faults = Interceptor::at(0, FaultKind::DiesBefore);
    let aws = ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_S3"];
    let faulty = faults.in_front_of_all(&aws, &service.env).await;
    let mut was_made = true;
    for (number, phone) in phones.iter().enumerate() {
        let (call, how) = (
            number * STRIDE,
            FaultKind::ALL[number % FaultKind::ALL.len()],
        );
        let typed = phone.parse().expect("a phone");
        let digest = entrant_id(&campaign.scope(Environment::Live), &typed);
        let erase = format!("person erase --phone {phone} --why asked --yes");
        faults.arm(call, how);
        faults
            .cut(run(&erase, faulty.clone(), &service.clock))
            .await;
        was_made = faults.was_made();
        faults.disarm();
        ops(&campaign, &erase).await.fine();
        let (_, objects) = messages_and_objects(&service).await;
        let left = [records(&service).await, objects].concat();
        for trace in [digest.as_str(), &phone[1..]] {
            assert!(!left.contains(trace), "{trace} after {how:?} at {call}");
        }
        if !was_made {
            break;
        }
    }
    assert!(!was_made, "there were enough people for every call");
}

#[tokio::test]
async fn what_a_phone_enters_after_it_was_found_is_erased_as_well() {
    let campaign = TestCampaign::plain().await;
    let (env, aws) = (&campaign.service.env, campaign.service.aws());
    let tables = tables_of(env);
    let photos = Photos::from_env(env, &aws).expect("the bucket");
    let now = campaign.service.clock.now();
    campaign.submit(PHONE, &campaign.code(0)).await;
    let held = people::find(&tables, &phone(), now).await.expect("found");
    campaign.submit(PHONE, &campaign.code(1)).await;
    campaign.submit(PHONE, "TEST-0-VALID").await;
    let erased = people::erase(&tables, &photos, &held[0], now).await;
    erased.expect("erased");
    assert_eq!(found(&campaign).await, json!([]));
    let digest = entrant_id(&campaign.scope(Environment::Test), &phone());
    assert_lacks!(records(&campaign.service).await, digest.as_str());
}

/// Keys of sentinels: digests of sentinel and person.
async fn sentinels(campaign: &TestCampaign) -> Vec<String> {
    let of_campaign = campaign.scope(Environment::Test).key("sentinel#");
    let items = items(&campaign.service, "codes").await;
    let keys = items
        .iter()
        .filter_map(|item| item["code"].as_s().ok().cloned());
    keys.filter(|key| key.starts_with(&of_campaign)).collect()
}

#[tokio::test]
async fn erasure_leaves_no_record_of_a_rejected_sentinel() {
    const PHONE: &str = "0712555001";
    let campaign = TestCampaign::plain().await;
    let enter = async |code| id_of(&campaign.submit(PHONE, code).await);
    for (code, command) in [
        ("TEST-0-VALID.kept", "revoke {}"),
        ("TEST-0-VALID.freed", "revoke {} --free-code"),
        ("TEST-0-CHECKING", "settle {} --reject invalid"),
    ] {
        let command = command.replace("{}", &enter(code).await);
        ops(&campaign, format!("submission {command} --why seen"))
            .await
            .fine();
    }
    enter("TEST-0-VALID.freed").await;
    assert_eq!(sentinels(&campaign).await.len(), 3);

    let erase = ERASE.replace("0712345678", PHONE) + " --yes";
    ops(&campaign, erase).await.fine();
    assert_eq!(sentinels(&campaign).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_phone_that_entered_on_hundreds_of_days_is_erased() {
    const DAYS: u32 = 450;
    let service = Service::without_background();
    // Its limits are past.
    let end = service.clock.now().as_millis() - 40 * 24 * 60 * 60 * 1000;
    let end = Some(Timestamp::from_millis(end));
    let campaign = TestCampaign::changed(&service, |config| config.window.end = end).await;
    let scope = campaign.live_scope();
    let digest = entrant_id(&scope, &phone());
    let number = |number: u32| AttributeValue::N(number.to_string());
    let put = service.dynamodb().put_item().table_name("entrants");
    let put = put.item("entrant", AttributeValue::S(scope.key(digest.as_str())));
    let put = put
        .item("submissions", number(DAYS))
        .item("entries", number(DAYS));
    let put = (0..DAYS).fold(put, |put, day| put.item(format!("day:{day}"), number(1)));
    put.send().await.expect("the table");
    let entrants = &service.tables.entrants;
    let tombstone = begin_erasure(entrants, &scope, &digest).await;
    erase(&campaign).await;
    assert_lacks!(records(&service).await, digest.as_str());
    for day in 0..DAYS {
        let counts = entrants.get(&scope, &tombstone, &day.to_string()).await;
        let counts = counts.expect("the table");
        let counts = (counts.total, counts.today, counts.entries);
        assert_eq!(counts, (DAYS, 1, DAYS.into()), "{day}");
    }
}
