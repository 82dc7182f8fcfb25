//! `ops person`.

use std::collections::HashMap;
use std::io::{self, Read as _, Seek, SeekFrom, Write};

use aws_sdk_dynamodb::types::AttributeValue;
use common::aws::Aws;
use common::aws::photos::{self, Photos};
use common::aws::settle_queue::{PARTNER_VARIABLE, TAX_VARIABLE};
use common::domain::campaign::ConsentText;
use common::domain::codebook::BatchStatus;
use common::domain::ids::EntrantId;
use common::domain::scope::Environment;
use common::domain::timestamp::Timestamp;
use local::stack::Options;
use local::tables::TABLES;
use ops_core::people;
use ops_core::tables::Tables;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, body, fresh_key, plain};
use service_tests::interceptor::{FaultKind, Interceptor};
use service_tests::receipts::{Settler, TIME, code_and_receipt, id_of};
use service_tests::service::{Service, entrant_id};

use crate::support::{Ended, run, run_typing};

const PHONE: &str = "0712 345 678";

/// Begins like a JPEG.
const PHOTO: &[u8] = b"\xff\xd8\xff\xe0 a receipt of +255712345678";

/// A live person with a code and a photo, then another code and a typed receipt.
async fn entered() -> TestCampaign {
    let service = Service::with_options(Options {
        background: false,
        ..Options::default()
    });
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

async fn ops(campaign: &TestCampaign, args: &[&str]) -> Ended {
    run(args, campaign.service.env.clone(), &campaign.service.clock).await
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
        let pages = service
            .dynamodb()
            .scan()
            .table_name(table.name)
            .into_paginator()
            .items()
            .send();
        let items = pages
            .collect::<Result<Vec<_>, _>>()
            .await
            .expect("the table");
        let items = items.iter().filter(|item| !is_kept_limits(item));
        text.push_str(&format!("{:?}\n", items.collect::<Vec<_>>()));
    }
    text
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
    let found = ops(campaign, &["person", "find", "--phone", PHONE, "--json"]).await;
    let mut held = serde_json::from_str::<Value>(&found.out).expect("JSON")["held"].clone();
    held.as_array_mut()
        .expect("a list")
        .retain(|held| held["erased_at"].is_null());
    held
}

#[tokio::test]
async fn a_person_is_erased_and_their_entry_stays_without_them() {
    let campaign = entered().await;
    let service = &campaign.service;
    let erase = [
        "person",
        "erase",
        "--phone",
        PHONE,
        "--why",
        "asked by letter",
    ];
    let early = ops(&campaign, &[&erase[..], &["--yes"]].concat()).await;
    assert!(
        early.err.contains("is not settled and needs the phone"),
        "{}",
        early.err
    );
    Settler::new(service).settle_due().await;

    let unasked = ops(&campaign, &erase).await;
    assert!(unasked.err.contains("--yes"), "{}", unasked.err);
    let refused = run_typing(&erase, service.env.clone(), &service.clock, Some("yes\n")).await;
    assert!(
        refused.err.contains("type exactly `erase`"),
        "{}",
        refused.err
    );
    let scope = campaign.scope(Environment::Live);
    let id = found(&campaign).await[0]["submissions"][0]
        .as_str()
        .expect("an id")
        .to_owned();
    let digest = entrant_id(&scope, &PHONE.parse().expect("a phone"));
    assert!(records(service).await.contains(digest.as_str()));
    let (messages, objects) = messages_and_objects(service).await;
    assert!(
        messages.contains(scope.campaign.as_str()),
        "settling was asked for: {messages}"
    );
    assert!(objects.contains("712345678"), "the photo shows the number");

    let erased = run_typing(&erase, service.env.clone(), &service.clock, Some("erase\n")).await;
    assert_eq!(
        erased.out,
        format!("+2557•••••678 is erased from {scope}.\n"),
        "{}",
        erased.err
    );
    assert_eq!(found(&campaign).await, json!([]));
    let (later, objects) = messages_and_objects(service).await;
    for left in [records(service).await, messages, later, objects] {
        for trace in [digest.as_str(), "712345678", "Mwanza"] {
            assert!(!left.contains(trace), "{trace}: {left}");
        }
    }
    let entry = campaign
        .live("GET", &format!("/api/v1/submissions/{id}"))
        .send()
        .await;
    assert_eq!(
        (entry.field("state"), entry.field("entries")),
        (json!("accepted"), json!(1))
    );
    let shown = ops(&campaign, &["submission", "show", &id]).await;
    assert!(shown.out.contains("erased"), "{}{}", shown.out, shown.err);
    let again = ops(&campaign, &[&erase[..], &["--yes"]].concat()).await;
    assert!(
        again.out.contains("The person is erased from"),
        "{}{}",
        again.out,
        again.err
    );
}

#[tokio::test]
async fn erased_phone_has_the_limits_that_it_had() {
    let service = Service::with_options(Options {
        background: false,
        ..Options::default()
    });
    let mut config = plain();
    config.limits.phone_total = Some(1);
    let campaign = TestCampaign::on(&service, config).await;
    let kettles = campaign
        .mint("kettles", BatchStatus::Active, Some("Kettle"))
        .await;
    let enter = async |serial| {
        let sent = campaign
            .live("POST", "/api/v1/submissions")
            .header("idempotency-key", fresh_key());
        sent.json(&body(PHONE, &campaign.code(serial)))
            .send()
            .await
            .field("message_key")
    };
    assert_eq!(enter(kettles).await, "instant_win");
    let erase = ["person", "erase", "--phone", PHONE, "--why", "asked"];
    let asked = run_typing(&erase, service.env.clone(), &service.clock, Some("no\n")).await;
    assert!(
        asked.err.contains("COUNTED") && asked.err.contains("so that the limits hold"),
        "{}",
        asked.err
    );
    let endless = format!("{} has no end: it stays", campaign.config.slug);
    assert!(asked.err.contains(&endless), "{}", asked.err);
    let erased = ops(&campaign, &[&erase[..], &["--yes"]].concat()).await;
    assert_eq!(erased.code, ops_core::EXIT_OK, "{}", erased.err);
    assert_eq!(enter(kettles + 1).await, "entry_limit");

    let again = ops(&campaign, &[&erase[..], &["--yes"]].concat()).await;
    assert_eq!(again.code, ops_core::EXIT_OK, "{}", again.err);
    assert_eq!(
        found(&campaign).await,
        json!([]),
        "what was refused is erased too"
    );
    assert_eq!(enter(kettles + 1).await, "entry_limit");
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
    ops(
        &campaign,
        &[
            "person", "erase", "--phone", PHONE, "--why", "asked", "--yes",
        ],
    )
    .await;
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
    let list = ops(
        &campaign,
        &["phone", "list", "--campaign", slug, "--environment", "live"],
    )
    .await;
    assert!(
        list.out.contains("erased") && list.out.contains("asha"),
        "{}{}",
        list.out,
        list.err
    );
}

#[tokio::test]
async fn everything_that_is_held_on_a_person_is_handed_over() {
    let campaign = entered().await;
    Settler::new(&campaign.service).settle_due().await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("person.zip");
    let export = [
        "person",
        "export",
        "--phone",
        PHONE,
        "--output",
        path.to_str().expect("text"),
    ];
    let exported = ops(&campaign, &export).await;
    assert_eq!(exported.code, ops_core::EXIT_OK, "{}", exported.err);
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
    let data: Value = serde_json::from_str(&text("person.json")).expect("JSON");
    let submission = &data["campaigns"][0]["submissions"][0];
    assert_eq!(
        json!([data["phone"], submission["region"]]),
        json!(["+255712345678", "Mwanza"])
    );
    assert_eq!(
        submission["consent"],
        json!({ "version": "1", "language": "en" })
    );
    assert_eq!(submission["receipt_source"]["code"], "GOOD010001");
    let page = text("person.html");
    assert!(
        page.contains("+255712345678") && page.contains("Mwanza"),
        "{page}"
    );
    let again = ops(&campaign, &export).await;
    assert!(again.err.contains("exists already"), "{}", again.err);
    let unknown = folder.path().join("unknown.zip");
    let unknown = [
        "person",
        "export",
        "--phone",
        "0719999999",
        "--output",
        unknown.to_str().expect("text"),
    ];
    let refused = ops(&campaign, &unknown).await;
    assert_eq!(
        (refused.code, refused.out.as_str()),
        (ops_core::EXIT_FAILURE, "")
    );
    assert!(
        refused.err.contains("nothing is held on +2557•••••999"),
        "{}",
        refused.err
    );
    assert!(
        !folder.path().join("unknown.zip").exists(),
        "no file is written"
    );
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
    let aws = Aws::for_function(&env).expect("credentials");
    let tables = Tables::from_env(&env, &aws).expect("the tables");
    let (phone, now) = (
        PHONE.parse().expect("a phone"),
        campaign.service.clock.now(),
    );
    let held = people::find(&tables, &phone, now).await.expect("found");
    assert_eq!(held[0].photos().count(), 2);
    let disk = FullDisk(io::Cursor::default());
    let full = people::export(&tables, &env, &phone, &held, now, disk).await;
    assert_eq!(full.err().map(|failure| failure.code), Some("file_failed"));
    assert_eq!(faults.calls(), 1, "the second photo is not read");
}

#[tokio::test]
async fn interrupted_erasure_is_finished_by_running_it_again() {
    let campaign = entered().await;
    Settler::new(&campaign.service).settle_due().await;
    let scope = campaign.scope(Environment::Live);
    let aws = Aws::for_function(&campaign.service.env).expect("credentials");
    let tables = Tables::from_env(&campaign.service.env, &aws).expect("the tables");
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

    let erased = ops(
        &campaign,
        &[
            "person", "erase", "--phone", PHONE, "--why", "asked", "--yes",
        ],
    )
    .await;
    assert_eq!(erased.code, ops_core::EXIT_OK, "{}", erased.err);
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
    let erased = ops(
        &campaign,
        &[
            "person", "erase", "--phone", PHONE, "--why", "asked", "--yes",
        ],
    )
    .await;
    assert_eq!(erased.code, ops_core::EXIT_OK, "{}", erased.err);
    assert_eq!(found(&campaign).await, json!([]));
}

/// An erasure dies at each of its calls; running it again leaves nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn erasure_cut_at_any_write_is_finished_by_the_next() {
    /// Every call would take minutes.
    const STRIDE: usize = 2;
    const PEOPLE: usize = 16;
    let service = Service::with_options(Options {
        background: false,
        ..Options::default()
    });
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
        let erase = [
            "person",
            "erase",
            "--phone",
            phone,
            "--why",
            "asked by letter",
            "--yes",
        ];
        faults.arm(call, how);
        tokio::select! {
            _ = run(&erase, faulty.clone(), &service.clock) => {}
            () = faults.death() => {}
        }
        was_made = faults.was_made();
        faults.disarm();
        let erased = ops(&campaign, &erase).await;
        assert_eq!(
            erased.code,
            ops_core::EXIT_OK,
            "{how:?} at {call}: {}",
            erased.err
        );
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
    let aws = Aws::for_function(&campaign.service.env).expect("credentials");
    let tables = Tables::from_env(&campaign.service.env, &aws).expect("the tables");
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
    assert!(!records(&campaign.service).await.contains(digest.as_str()));
}

/// Keys of sentinels: digests of sentinel and person.
async fn sentinels(campaign: &TestCampaign) -> Vec<String> {
    let of_campaign = campaign.scope(Environment::Test).key("sentinel#");
    let pages = campaign
        .service
        .dynamodb()
        .scan()
        .table_name("codes")
        .into_paginator()
        .items()
        .send();
    let items = pages
        .collect::<Result<Vec<_>, _>>()
        .await
        .expect("the table");
    let keys = items
        .iter()
        .filter_map(|item| item["code"].as_s().ok().cloned());
    keys.filter(|key| key.starts_with(&of_campaign)).collect()
}

#[tokio::test]
async fn erasure_leaves_no_record_of_a_rejected_sentinel() {
    const PHONE: &str = "0712 555 001";
    let campaign = TestCampaign::plain().await;
    let correct = async |args: &[&str]| {
        let ended = ops(
            &campaign,
            &[&["submission"], args, &["--why", "seen"]].concat(),
        )
        .await;
        assert_eq!(ended.code, ops_core::EXIT_OK, "{}", ended.err);
    };
    let enter = async |code| id_of(&campaign.submit(PHONE, code).await);
    correct(&["revoke", &enter("TEST-0-VALID.kept").await]).await;
    correct(&["revoke", &enter("TEST-0-VALID.freed").await, "--free-code"]).await;
    correct(&[
        "settle",
        &enter("TEST-0-CHECKING").await,
        "--reject",
        "invalid",
    ])
    .await;
    enter("TEST-0-VALID.freed").await;
    assert_eq!(sentinels(&campaign).await.len(), 3);

    let erased = ops(
        &campaign,
        &[
            "person", "erase", "--phone", PHONE, "--why", "asked", "--yes",
        ],
    )
    .await;
    assert_eq!(erased.code, ops_core::EXIT_OK, "{}", erased.err);
    assert_eq!(sentinels(&campaign).await, Vec::<String>::new());
}

#[tokio::test]
async fn erasure_warns_of_instant_prizes_to_hand_over() {
    const PHONE: &str = "0712 555 002";
    let campaign = TestCampaign::plain().await;
    let serial = campaign
        .mint("kettles", BatchStatus::Active, Some("Kettle"))
        .await;
    let sent = campaign
        .live("POST", "/api/v1/submissions")
        .header("idempotency-key", fresh_key());
    let sent = sent.json(&body(PHONE, &campaign.code(serial))).send().await;
    assert_eq!(sent.field("message_key"), "instant_win");
    let erase = ["person", "erase", "--phone", PHONE, "--why", "asked"];
    let asked = run_typing(
        &erase,
        campaign.service.env.clone(),
        &campaign.service.clock,
        Some("no\n"),
    )
    .await;
    assert!(
        asked
            .err
            .contains("Won instantly: Kettle. The winner cannot be called after the erasure"),
        "{}",
        asked.err
    );
    let erased = ops(&campaign, &[&erase[..], &["--yes"]].concat()).await;
    assert!(
        erased.err.contains("the phone had won instantly: Kettle;"),
        "{}",
        erased.err
    );
}

#[tokio::test]
async fn a_phone_that_entered_on_hundreds_of_days_is_erased() {
    const DAYS: u32 = 450;
    let service = Service::with_options(Options {
        background: false,
        ..Options::default()
    });
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
    let erased = ops(
        &campaign,
        &[
            "person", "erase", "--phone", PHONE, "--why", "asked", "--yes",
        ],
    )
    .await;
    assert_eq!(erased.code, ops_core::EXIT_OK, "{}", erased.err);
    assert!(!records(&campaign.service).await.contains(digest.as_str()));
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
