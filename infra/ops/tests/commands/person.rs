//! `ops person`.

use std::collections::HashMap;
use std::io::{self, Read as _, Seek, SeekFrom, Write};

use aws_sdk_dynamodb::types::AttributeValue;
use common::aws::Aws;
use common::aws::photos::{self, Photos};
use common::aws::settle_queue::{PARTNER_VARIABLE, TAX_VARIABLE};
use common::config::Env;
use common::domain::campaign::ConsentText;
use common::domain::codebook::BatchStatus;
use common::domain::ids::EntrantId;
use common::domain::scope::Environment;
use common::domain::timestamp::Timestamp;
use local::tables::TABLES;
use ops_core::people;
use ops_core::tables::Tables;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, body, fresh_key, plain};
use service_tests::interceptor::{FaultKind, Interceptor};
use service_tests::receipts::{Settler, TIME, code_and_receipt, id_of};
use service_tests::service::{Service, entrant_id};
use service_tests::text::{parse_json, text_of};

use crate::support::{Ended, run, run_typing};

const PHONE: &str = "0712345678";
const ERASE: &str = "person erase --phone 0712345678 --why asked";

/// Begins like a JPEG.
const PHOTO: &[u8] = b"\xff\xd8\xff\xe0 a receipt of +255712345678";

/// A live person with a code and a photo, then another code and a typed receipt.
async fn entered() -> TestCampaign {
    let service = Service::without_background();
    let mut config = plain();
    code_and_receipt(&mut config);
    config.consent = Some(ConsentText {
        version: "1".into(),
        en: "I agree".into(),
        sw: "Nakubali".into(),
    });
    let campaign = TestCampaign::on(&service, config).await;
    let payload = Some("https://verify.tra.go.tz/GOOD010002_101530");
    let photo = campaign.photo(&campaign.live_key, PHOTO, payload).await;
    let sent = campaign
        .with_receipt(&campaign.live_key, PHONE, &campaign.code(1), &photo)
        .send()
        .await;
    assert_eq!(sent.field("state"), "pending");
    let typed = json!({ "type": "typed", "code": "GOOD010001", "time": TIME });
    let typed = campaign
        .live("POST", "/api/v1/receipts")
        .json(&typed)
        .send()
        .await;
    let mut entry = body(PHONE, &campaign.code(0));
    entry["receipt_id"] = json!(id_of(&typed));
    entry["region"] = json!("Mwanza");
    let sending = campaign
        .live("POST", "/api/v1/submissions")
        .header("idempotency-key", fresh_key());
    assert_eq!(sending.json(&entry).send().await.field("state"), "pending");
    campaign
}

async fn ops(campaign: &TestCampaign, command: impl AsRef<str>) -> Ended {
    crate::support::ops(&campaign.service, command).await
}

/// Runs a command at a terminal, where this is typed.
async fn typing(campaign: &TestCampaign, command: impl AsRef<str>, typed: &str) -> Ended {
    let service = &campaign.service;
    run_typing(command, service.env.clone(), &service.clock, Some(typed)).await
}

async fn erase(campaign: &TestCampaign) -> Ended {
    ops(campaign, format!("{ERASE} --yes")).await.fine()
}

fn tables_of(env: &Env) -> (Tables, Aws) {
    let aws = Aws::for_function(env).expect("credentials");
    (Tables::from_env(env, &aws).expect("the tables"), aws)
}

/// Enters with a live key, and returns the key of the message.
async fn enter(campaign: &TestCampaign, phone: &str, serial: u64) -> Value {
    let sending = campaign
        .live("POST", "/api/v1/submissions")
        .header("idempotency-key", fresh_key());
    let sent = sending.json(&body(phone, &campaign.code(serial)));
    sent.send().await.field("message_key")
}

/// True for an erased person's digest with counts.
fn is_kept_limits(item: &HashMap<String, AttributeValue>) -> bool {
    const KEPT: [&str; 4] = ["entrant", "record_version", "erased_at", "entries"];
    let is_count =
        |name: &str| name == "submissions" || name == "open_receipts" || name.starts_with("day:");
    let is_block = |name: &str| name.starts_with("blocked") && name != "blocked_phone";
    item.contains_key("erased_at")
        && item
            .keys()
            .all(|name| KEPT.contains(&name.as_str()) || is_count(name) || is_block(name))
}

/// The text of all records, without erased persons' limits.
async fn records(service: &Service) -> String {
    let mut text = String::new();
    for table in TABLES.iter() {
        let mut items = items(service, table.name).await;
        items.retain(|item| !is_kept_limits(item));
        text.push_str(&format!("{items:?}\n"));
    }
    text
}

async fn items(service: &Service, table: &str) -> Vec<HashMap<String, AttributeValue>> {
    let scan = service.dynamodb().scan().table_name(table);
    let items = scan
        .into_paginator()
        .items()
        .send()
        .collect::<Result<_, _>>();
    items.await.expect("the table")
}

/// Messages of the queues, and objects with content.
async fn messages_and_objects(service: &Service) -> (String, String) {
    let aws = Aws::for_function(&service.env).expect("credentials");
    let variable = |name: &'static str| service.env.required(name).expect("the stack sets it");
    let (mut messages, mut objects) = (String::new(), String::new());
    for queue in [TAX_VARIABLE, PARTNER_VARIABLE] {
        loop {
            let receive = aws
                .sqs()
                .receive_message()
                .queue_url(variable(queue))
                .max_number_of_messages(10);
            let received = receive
                .send()
                .await
                .expect("the queue")
                .messages
                .unwrap_or_default();
            if received.is_empty() {
                break;
            }
            messages.push_str(&format!("{received:?}\n"));
        }
    }
    let bucket = variable(photos::VARIABLE);
    let listed = aws
        .s3()
        .list_objects_v2()
        .bucket(&bucket)
        .send()
        .await
        .expect("the bucket");
    for key in listed.contents().iter().filter_map(|object| object.key()) {
        let object = aws
            .s3()
            .get_object()
            .bucket(&bucket)
            .key(key)
            .send()
            .await
            .expect("it is there");
        let bytes = object.body.collect().await.expect("its content").to_vec();
        objects.push_str(&format!("{key}: {}\n", String::from_utf8_lossy(&bytes)));
    }
    (messages, objects)
}

/// Held data, without erased persons' limits.
async fn found(campaign: &TestCampaign) -> Value {
    let find = format!("person find --phone {PHONE} --json");
    let mut held = ops(campaign, find).await.json()["held"].clone();
    held.as_array_mut()
        .expect("a list")
        .retain(|held| held["erased_at"].is_null());
    held
}

#[tokio::test]
async fn a_person_is_erased_and_their_entry_stays_without_them() {
    let campaign = entered().await;
    let service = &campaign.service;
    let early = ops(&campaign, format!("{ERASE} --yes")).await;
    assert_contains!(early.err, "is not settled and needs the phone");
    Settler::new(service).settle_due().await;

    let unasked = ops(&campaign, ERASE).await;
    assert_contains!(unasked.err, "--yes");
    let refused = typing(&campaign, ERASE, "yes\n").await;
    assert_contains!(refused.err, "type exactly `erase`");
    let scope = campaign.scope(Environment::Live);
    let id = text_of(&found(&campaign).await[0]["submissions"][0]).to_owned();
    let digest = entrant_id(&scope, &PHONE.parse().expect("a phone"));
    assert_contains!(records(service).await, digest.as_str());
    let (messages, objects) = messages_and_objects(service).await;
    // Settling was asked for, and the photo shows the number.
    assert_contains!(messages, scope.campaign.as_str());
    assert_contains!(objects, "712345678");

    let erased = typing(&campaign, ERASE, "erase\n").await;
    assert_eq!(
        erased.out,
        format!("+2557•••••678 is erased from {scope}.\n"),
        "{}",
        erased.err
    );
    assert_eq!(found(&campaign).await, json!([]));
    let (later, objects) = messages_and_objects(service).await;
    for left in [records(service).await, messages, later, objects] {
        assert_lacks!(left, digest.as_str(), "712345678", "Mwanza");
    }
    let entry = campaign
        .live("GET", &format!("/api/v1/submissions/{id}"))
        .send()
        .await;
    assert_eq!(entry.field("state"), "accepted");
    assert_eq!(entry.field("entries"), 1);
    let shown = ops(&campaign, format!("submission show {id}")).await;
    assert_contains!(shown.out, "erased");
    let again = ops(&campaign, format!("{ERASE} --yes")).await;
    assert_contains!(again.out, "The person is erased from");
}

#[tokio::test]
async fn erased_phone_has_the_limits_that_it_had() {
    let service = Service::without_background();
    let mut config = plain();
    config.limits.phone_total = Some(1);
    let campaign = TestCampaign::on(&service, config).await;
    let kettles = campaign
        .mint("kettles", BatchStatus::Active, Some("Kettle"))
        .await;
    assert_eq!(enter(&campaign, PHONE, kettles).await, "instant_win");
    let asked = typing(&campaign, ERASE, "no\n").await;
    assert_contains!(asked.err, "COUNTED", "so that the limits hold");
    let endless = format!("{} has no end: it stays", campaign.config.slug);
    assert_contains!(asked.err, endless);
    erase(&campaign).await;
    assert_eq!(enter(&campaign, PHONE, kettles + 1).await, "entry_limit");

    erase(&campaign).await;
    assert_eq!(
        found(&campaign).await,
        json!([]),
        "what was refused is erased too"
    );
    assert_eq!(enter(&campaign, PHONE, kettles + 1).await, "entry_limit");
}

#[tokio::test]
async fn a_blocked_number_stays_blocked_after_its_erasure() {
    let campaign = entered().await;
    Settler::new(&campaign.service).settle_due().await;
    let scope = campaign.scope(Environment::Live);
    let phone = PHONE.parse().expect("a phone");
    campaign
        .service
        .set_blocked(&scope, &phone, true)
        .await
        .expect("blocked");
    erase(&campaign).await;
    let entrant = campaign
        .service
        .entrant(&scope, &phone, "")
        .await
        .expect("the table");
    assert_eq!(
        (entrant.blocked, entrant.total, entrant.entries),
        (true, 2, 2)
    );
    let slug = scope.campaign.as_str();
    let list = format!("phone list --campaign {slug} --environment live");
    let list = ops(&campaign, list).await;
    assert_contains!(list.out, "erased", "asha");
}

#[tokio::test]
async fn everything_that_is_held_on_a_person_is_handed_over() {
    let campaign = entered().await;
    Settler::new(&campaign.service).settle_due().await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("person.zip");
    let export = format!(
        "person export --phone {PHONE} --output {}",
        path.to_str().expect("text")
    );
    ops(&campaign, &export).await.fine();
    let mut zip =
        zip::ZipArchive::new(std::fs::File::open(&path).expect("a file")).expect("a ZIP file");
    let mut names = zip
        .file_names()
        .map(|name| name.expect("text").into_owned());
    let photo = names
        .find(|name| name.starts_with("photos/"))
        .expect("a photo");
    drop(names);
    assert!(photo.ends_with(".jpg"), "{photo}");
    let mut bytes = Vec::new();
    zip.by_name(&photo)
        .expect("it is there")
        .read_to_end(&mut bytes)
        .expect("its content");
    assert_eq!(bytes, PHOTO);
    let mut text = |name: &str| {
        let mut text = String::new();
        zip.by_name(name)
            .expect("it is there")
            .read_to_string(&mut text)
            .expect("text");
        text
    };
    let data = parse_json(&text("person.json"));
    let submission = &data["campaigns"][0]["submissions"][0];
    assert_eq!(data["phone"], "+255712345678");
    assert_eq!(submission["region"], "Mwanza");
    assert_eq!(
        submission["consent"],
        json!({ "version": "1", "language": "en" })
    );
    assert_eq!(submission["receipt_source"]["code"], "GOOD010001");
    let page = text("person.html");
    assert_contains!(page, "+255712345678", "Mwanza");
    let again = ops(&campaign, &export).await;
    assert_contains!(again.err, "exists already");
    let unknown = folder.path().join("unknown.zip");
    let unknown = format!(
        "person export --phone 0719999999 --output {}",
        unknown.to_str().expect("text")
    );
    let refused = ops(&campaign, &unknown).await.failed();
    assert_contains!(refused, "nothing is held on +2557•••••999");
    assert!(!folder.path().join("unknown.zip").exists());
}

/// Full as soon as a photo comes.
struct FullDisk(io::Cursor<Vec<u8>>);

impl Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.starts_with(b"\xff\xd8") {
            Err(io::ErrorKind::StorageFull.into())
        } else {
            self.0.write(bytes)
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Seek for FullDisk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

#[tokio::test]
async fn a_photo_is_written_before_the_next_one_is_read() {
    let campaign = entered().await;
    let another = campaign
        .photo(
            &campaign.live_key,
            b"\xff\xd8\xff\xe0 another receipt",
            None,
        )
        .await;
    let sent = campaign
        .with_receipt(&campaign.live_key, PHONE, &campaign.code(2), &another)
        .send()
        .await;
    assert_eq!(sent.field("state"), "pending");
    Settler::new(&campaign.service).settle_due().await;
    let faults = Interceptor::at(usize::MAX, FaultKind::Refused);
    let env = faults
        .in_front_of_all(&["AWS_ENDPOINT_URL_S3"], &campaign.service.env)
        .await;
    let (tables, _) = tables_of(&env);
    let (phone, now) = (
        PHONE.parse().expect("a phone"),
        campaign.service.clock.now(),
    );
    let held = people::find(&tables, &phone, now).await.expect("found");
    assert_eq!(held[0].photos().count(), 2);
    let disk = FullDisk(io::Cursor::default());
    let full = people::export(&tables, &phone, &held, now, disk).await;
    assert_eq!(full.err().map(|failure| failure.code), Some("file_failed"));
    assert_eq!(faults.calls(), 1, "the second photo is not read");
}

#[tokio::test]
async fn interrupted_erasure_is_finished_by_running_it_again() {
    let campaign = entered().await;
    Settler::new(&campaign.service).settle_due().await;
    let scope = campaign.scope(Environment::Live);
    let (tables, _) = tables_of(&campaign.service.env);
    let phone = PHONE.parse().expect("a phone");
    let held = people::find(&tables, &phone, campaign.service.clock.now())
        .await
        .expect("found");
    let id = tables.entrant_id(&scope, &phone).await.expect("an id");
    // The first erasure ended after noting the phone's replacement, and changing the submission.
    let tombstone = EntrantId::tombstone([7; 16]);
    let noted = tables
        .entrants
        .begin_erasure(&scope, &id, &tombstone)
        .await
        .expect("noted");
    let (submission, _) = &held[0].submissions[0];
    assert!(
        tables
            .store
            .erase(submission, &noted)
            .await
            .expect("written")
    );

    erase(&campaign).await;
    assert_eq!(found(&campaign).await, json!([]));
    let counts = tables
        .entrants
        .get(&scope, &id, "")
        .await
        .expect("the table");
    assert_eq!(
        (counts.total, counts.entries),
        (2, 2),
        "the counts stay, and lead to no submission"
    );
}

#[tokio::test]
async fn erasure_interrupted_before_it_found_records_is_finished() {
    let campaign = TestCampaign::plain().await;
    let scope = campaign.scope(Environment::Test);
    let digest = entrant_id(&scope, &PHONE.parse().expect("a phone"));
    let tombstone = EntrantId::tombstone([7; 16]);
    campaign
        .service
        .tables
        .entrants
        .begin_erasure(&scope, &digest, &tombstone)
        .await
        .expect("noted");
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
    let mut config = plain();
    code_and_receipt(&mut config);
    let campaign = TestCampaign::on(&service, config).await;
    let phones: Vec<_> = (0..PEOPLE)
        .map(|number| format!("07115550{number:02}"))
        .collect();
    for (number, phone) in (0..).zip(&phones) {
        let photo = [PHOTO, phone.as_bytes()].concat();
        let payload = format!("https://verify.tra.go.tz/GOOD02{number:04}_101530");
        let photo = campaign
            .photo(&campaign.live_key, &photo, Some(&payload))
            .await;
        let code = campaign.code(number);
        let sent = campaign
            .with_receipt(&campaign.live_key, phone, &code, &photo)
            .send()
            .await;
        assert_eq!(sent.field("state"), "pending");
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
        tokio::select! {
            _ = run(&erase, faulty.clone(), &service.clock) => {}
            () = faults.death() => {}
        }
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
    let (tables, aws) = tables_of(&campaign.service.env);
    let photos = Photos::from_env(&campaign.service.env, &aws).expect("the bucket");
    let phone = PHONE.parse().expect("a phone");
    campaign.submit(PHONE, &campaign.code(0)).await;
    let held = people::find(&tables, &phone, campaign.service.clock.now())
        .await
        .expect("found");
    campaign.submit(PHONE, &campaign.code(1)).await;
    campaign.submit(PHONE, "TEST-0-VALID").await;
    people::erase(&tables, &photos, &held[0], campaign.service.clock.now())
        .await
        .expect("erased");
    assert_eq!(found(&campaign).await, json!([]));
    let digest = entrant_id(&campaign.scope(Environment::Test), &phone);
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
async fn erasure_warns_of_instant_prizes_to_hand_over() {
    const PHONE: &str = "0712555002";
    let campaign = TestCampaign::plain().await;
    let serial = campaign
        .mint("kettles", BatchStatus::Active, Some("Kettle"))
        .await;
    assert_eq!(enter(&campaign, PHONE, serial).await, "instant_win");
    let erase = ERASE.replace("0712345678", PHONE);
    let asked = typing(&campaign, &erase, "no\n").await;
    assert_contains!(
        asked.err,
        "Won instantly: Kettle. The winner cannot be called after the erasure"
    );
    let erased = ops(&campaign, erase + " --yes").await;
    assert_contains!(erased.err, "the phone had won instantly: Kettle;");
}

#[tokio::test]
async fn a_phone_that_entered_on_hundreds_of_days_is_erased() {
    const DAYS: u32 = 450;
    let service = Service::without_background();
    let mut config = plain();
    // Its limits are past.
    let end = service.clock.now().as_millis() - 40 * 24 * 60 * 60 * 1000;
    config.window.end = Some(Timestamp::from_millis(end));
    let campaign = TestCampaign::on(&service, config).await;
    let scope = campaign.scope(Environment::Live);
    let digest = entrant_id(&scope, &PHONE.parse().expect("a phone"));
    let number = |number: u32| AttributeValue::N(number.to_string());
    let put = campaign
        .service
        .dynamodb()
        .put_item()
        .table_name("entrants");
    let put = put.item("entrant", AttributeValue::S(scope.key(digest.as_str())));
    let put = put
        .item("submissions", number(DAYS))
        .item("entries", number(DAYS));
    let put = (0..DAYS).fold(put, |put, day| put.item(format!("day:{day}"), number(1)));
    put.send().await.expect("the table");
    let tombstone = EntrantId::tombstone([7; 16]);
    let entrants = &campaign.service.tables.entrants;
    entrants
        .begin_erasure(&scope, &digest, &tombstone)
        .await
        .expect("noted");
    erase(&campaign).await;
    assert_lacks!(records(&campaign.service).await, digest.as_str());
    for day in 0..DAYS {
        let counts = entrants
            .get(&scope, &tombstone, &day.to_string())
            .await
            .expect("the table");
        assert_eq!(
            (counts.total, counts.today, counts.entries),
            (DAYS, 1, DAYS.into()),
            "{day}"
        );
    }
}
