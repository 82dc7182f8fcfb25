//! `ops person`.

mod erasure;

use std::collections::HashMap;
use std::io::{self, Read as _, Seek, SeekFrom, Write};
use std::sync::LazyLock;

use aws_sdk_dynamodb::types::AttributeValue;
use common::aws::photos::{self, Photos};
use common::aws::settle_queue::{PARTNER_VARIABLE, TAX_VARIABLE};
use common::domain::campaign::{Campaign, ConsentText};
use common::domain::codebook::BatchStatus;
use common::domain::ids::EntrantId;
use common::domain::phone::Phone;
use common::domain::scope::{Environment, Scope};
use common::domain::timestamp::Timestamp;
use common::store::entrants::Entrants;
use local::tables::TABLES;
use ops_core::people;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, body};
use service_tests::interceptor::{FaultKind, Interceptor};
use service_tests::receipts::{Settler, TIME, code_and_receipt, id_of};
use service_tests::service::{Service, entrant_id};
use service_tests::text::{fields, text_of};

use crate::support::{Ended, run, run_typing, tables_of};

const PHONE: &str = "0712345678";
const ERASE: &str = "person erase --phone 0712345678 --why asked";

/// Stands in place of a phone after an interrupted erasure.
static TOMBSTONE: LazyLock<EntrantId> = LazyLock::new(|| EntrantId::tombstone([7; 16]));

/// Begins like a JPEG.
const PHOTO: &[u8] = b"\xff\xd8\xff\xe0 a receipt of +255712345678";

/// A live person with a code and a photo, then another code and a typed receipt.
async fn entered() -> TestCampaign {
    let campaign = TestCampaign::changed(&Service::without_background(), |config| {
        code_and_receipt(config);
        config.consent = Some(ConsentText {
            version: "1".into(),
            en: "I agree".into(),
            sw: "Nakubali".into(),
        });
    })
    .await;
    let key = &campaign.live_key;
    let payload = Some("https://verify.tra.go.tz/GOOD010002_101530");
    let photo = campaign.photo(key, PHOTO, payload).await;
    enter_receipt(&campaign, PHONE, 1, &photo).await;
    let typed = campaign.typed(key, "GOOD010001", TIME).await;
    let mut entry = body(PHONE, &campaign.code(0));
    entry["receipt_id"] = json!(typed);
    entry["region"] = json!("Mwanza");
    let sent = campaign.entry("", "").json(&entry).await;
    assert_eq!(sent.field("state"), "pending");
    campaign
}

/// [`entered`] and settled.
async fn settled() -> TestCampaign {
    let campaign = entered().await;
    Settler::new(&campaign.service).settle_due().await;
    campaign
}

async fn enter_receipt(campaign: &TestCampaign, phone: &str, serial: u64, receipt: &str) {
    let code = campaign.code(serial);
    let sending = campaign.with_receipt(&campaign.live_key, phone, &code, receipt);
    assert_eq!(sending.await.field("state"), "pending");
}

fn phone() -> Phone {
    PHONE.parse().expect("a phone")
}

/// The start of an erasure.
async fn begin_erasure(entrants: &Entrants, scope: &Scope, id: &EntrantId) -> EntrantId {
    let noted = entrants.begin_erasure(scope, id, &TOMBSTONE).await;
    noted.expect("noted")
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

/// Enters with a live key, and returns the key of the message.
async fn enter(campaign: &TestCampaign, phone: &str, serial: u64) -> Value {
    let sent = campaign.entry(phone, &campaign.code(serial)).await;
    sent.field("message_key")
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
    let (aws, bucket) = (service.aws(), service.variable(photos::VARIABLE));
    let (mut messages, mut objects) = (String::new(), String::new());
    for queue in [TAX_VARIABLE, PARTNER_VARIABLE] {
        loop {
            let receive = aws.sqs().receive_message().max_number_of_messages(10);
            let received = receive.queue_url(service.variable(queue)).send().await;
            let received = received.expect("the queue").messages.unwrap_or_default();
            if received.is_empty() {
                break;
            }
            messages.push_str(&format!("{received:?}\n"));
        }
    }
    let listed = aws.s3().list_objects_v2().bucket(&bucket).send().await;
    let listed = listed.expect("the bucket");
    for key in listed.contents().iter().filter_map(|object| object.key()) {
        let object = aws.s3().get_object().bucket(&bucket).key(key).send().await;
        let body = object.expect("it is there").body.collect().await;
        let bytes = body.expect("its content").to_vec();
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
    let digest = entrant_id(&scope, &phone());
    assert_contains!(records(service).await, digest.as_str());
    let (messages, objects) = messages_and_objects(service).await;
    // Settling was asked for, and the photo shows the number.
    assert_contains!(messages, scope.campaign.as_str());
    assert_contains!(objects, "712345678");

    let erased = typing(&campaign, ERASE, "erase\n").await;
    assert_eq!(
        erased.out,
        format!("+2557•••••678 is erased from {scope}.\n")
    );
    assert_eq!(found(&campaign).await, json!([]));
    let (later, objects) = messages_and_objects(service).await;
    for left in [records(service).await, messages, later, objects] {
        assert_lacks!(left, digest.as_str(), "712345678", "Mwanza");
    }
    let entry = campaign.read(&campaign.live_key, &id).await;
    assert_eq!(entry.fields("state entries"), "accepted 1");
    let shown = ops(&campaign, format!("submission show {id}")).await;
    assert_contains!(shown.out, "erased");
    let again = ops(&campaign, format!("{ERASE} --yes")).await;
    assert_contains!(again.out, "The person is erased from");
}

#[tokio::test]
async fn erased_phone_has_the_limits_that_it_had() {
    let limited = |config: &mut Campaign| config.limits.phone_total = Some(1);
    let campaign = TestCampaign::changed(&Service::without_background(), limited).await;
    assert_eq!(enter(&campaign, PHONE, 0).await, "entered");
    let asked = typing(&campaign, ERASE, "no\n").await;
    assert_contains!(asked.err, "COUNTED", "so that the limits hold");
    let endless = format!("{} has no end: it stays", campaign.config.slug);
    assert_contains!(asked.err, endless);
    erase(&campaign).await;
    assert_eq!(enter(&campaign, PHONE, 1).await, "entry_limit");

    // What was refused is erased too.
    erase(&campaign).await;
    assert_eq!(found(&campaign).await, json!([]));
    assert_eq!(enter(&campaign, PHONE, 1).await, "entry_limit");
}

#[tokio::test]
async fn a_blocked_number_stays_blocked_after_its_erasure() {
    let campaign = settled().await;
    let (service, scope) = (&campaign.service, campaign.live_scope());
    let blocked = service.set_blocked(&scope, &phone(), true).await;
    blocked.expect("blocked");
    erase(&campaign).await;
    let entrant = service.entrant(&scope, &phone(), "").await;
    let entrant = entrant.expect("the table");
    let counts = (entrant.blocked, entrant.total, entrant.entries);
    assert_eq!(counts, (true, 2, 2));
    let slug = scope.campaign.as_str();
    let list = format!("phone list --campaign {slug} --environment live");
    let list = ops(&campaign, list).await;
    assert_contains!(list.out, "erased", "asha");
}

#[tokio::test]
async fn everything_that_is_held_on_a_person_is_handed_over() {
    let campaign = settled().await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("person.zip");
    let export = format!("person export --phone {PHONE} --output {}", path.display());
    ops(&campaign, &export).await.fine();
    let file = std::fs::File::open(&path).expect("a file");
    let mut zip = zip::ZipArchive::new(file).expect("a ZIP file");
    let mut names = zip
        .file_names()
        .map(|name| name.expect("text").into_owned());
    let photo = names.find(|name| name.starts_with("photos/") && name.ends_with(".jpg"));
    drop(names);
    let mut content = |name: &str| {
        let mut bytes = Vec::new();
        let mut file = zip.by_name(name).expect("it is there");
        file.read_to_end(&mut bytes).expect("its content");
        bytes
    };
    assert_eq!(content(&photo.expect("a photo")), PHOTO);
    let data: Value = serde_json::from_slice(&content("person.json")).expect("JSON");
    assert_eq!(data["phone"], "+255712345678");
    assert_eq!(
        fields(
            &data["campaigns"][0]["submissions"][0],
            "region consent.version consent.language receipt_source.code"
        ),
        "Mwanza 1 en GOOD010001"
    );
    let page = content("person.html");
    assert_contains!(String::from_utf8_lossy(&page), "+255712345678", "Mwanza");
    let again = ops(&campaign, &export).await;
    assert_contains!(again.err, "exists already");
    let unknown = folder.path().join("unknown.zip");
    let export = format!(
        "person export --phone 0719999999 --output {}",
        unknown.display()
    );
    let refused = ops(&campaign, &export).await.failed();
    assert_contains!(refused, "nothing is held on +2557•••••999");
    assert!(!unknown.exists());
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
    let another = b"\xff\xd8\xff\xe0 another receipt";
    let another = campaign.photo(&campaign.live_key, another, None).await;
    enter_receipt(&campaign, PHONE, 2, &another).await;
    Settler::new(&campaign.service).settle_due().await;
    let faults = Interceptor::at(usize::MAX, FaultKind::Refused);
    let service = campaign
        .service
        .behind(&faults, &["AWS_ENDPOINT_URL_S3"])
        .await;
    let tables = tables_of(&service.env);
    let now = service.clock.now();
    let held = people::find(&tables, &phone(), now).await.expect("found");
    assert_eq!(held[0].photos().count(), 2);
    let disk = FullDisk(io::Cursor::default());
    let full = people::export(&tables, &phone(), &held, now, disk).await;
    assert_eq!(full.err().map(|failure| failure.code), Some("file_failed"));
    assert_eq!(faults.calls(), 1, "the second photo is not read");
}

#[tokio::test]
async fn erasure_waits_until_an_instant_prize_is_handed_over() {
    const PHONE: &str = "0712555002";
    let campaign = TestCampaign::plain().await;
    let serial = campaign
        .mint("kettles", BatchStatus::Active, Some("Kettle"))
        .await;
    // A prize of the test environment is none.
    campaign.submit(PHONE, &campaign.code(serial)).await;
    let sent = campaign.entry(PHONE, &campaign.code(serial)).await;
    let won = campaign.record(&id_of(&sent)).await.reference();
    let erase = format!("{} --yes", ERASE.replace("0712345678", PHONE));
    let refused = ops(&campaign, format!("{erase} --json")).await;
    let refused = refused.refused("prize_claimed");
    assert_contains!(refused.message, format!("Kettle of {won}, won instantly"));
    let forfeit = format!("prize forfeit {won} --reason excluded --inspector Neema --yes");
    ops(&campaign, forfeit).await.fine();
    ops(&campaign, erase).await.fine();
}
