//! This build reads records that the previous release wrote (`tests/records`): over HTTP, in background functions, and
//! in commands.

use std::path::PathBuf;

use common::clock::Clock;
use common::domain::cipher::SecretKey;
use common::domain::codebook::{CodeBook, DEFAULT_CODE_SYMBOLS};
use common::domain::scope::{Environment, Scope};
use common::domain::timestamp::Timestamp;
use local::stack::Options;
use local::tables::TABLES;
use serde_json::{Value, json};
use service_tests::campaign::{body, phone};
use service_tests::http::{Reply, request, request_to_storage};
use service_tests::receipts::{Settler, TIME, id_of};
use service_tests::service::{LAST_RELEASE, NOON, Service};

use crate::support::{Ended, run};

/// When its records were written: half a minute after noon of 2050-06-15.
const WRITTEN: Timestamp = Timestamp::from_millis(NOON.as_millis() + 31_000);

/// A stack with the records of the previous release.
struct Restored {
    service: Service,
    known: Value,
}

fn read(name: &str) -> Option<Value> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/records").join(LAST_RELEASE);
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).ok()?;
    Some(serde_json::from_str(&text).expect("JSON"))
}

impl Restored {
    async fn start() -> Self {
        let clock = Clock::manual(WRITTEN);
        let service = Service::with_options(Options { clock, background: false, ..Options::default() });
        let restored = Self { service, known: read("known").expect("a file") };
        for table in TABLES {
            // A table that the previous release did not have stays empty.
            for item in read(table.name).unwrap_or_else(|| json!([])).as_array().expect("a list") {
                let put = json!({ "TableName": table.name, "Item": item });
                assert_eq!(restored.database("PutItem", &put).await.status, 200, "{item}");
            }
        }
        restored
    }

    /// Sends a raw request to DynamoDB.
    async fn database(&self, operation: &str, body: &Value) -> Reply {
        let database = self.service.env.required("AWS_ENDPOINT_URL_DYNAMODB").expect("the stack sets it");
        let credential = "Credential=local/20260101/af-south-1/dynamodb/aws4_request";
        request_to_storage("POST", format!("{database}/"))
            .header("x-amz-target", format!("DynamoDB_20120810.{operation}"))
            .header("content-type", "application/x-amz-json-1.0")
            .header("x-amz-date", "20260101T000000Z")
            .header(
                "authorization",
                format!("AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=00"),
            )
            .raw(body.to_string())
            .send()
            .await
    }

    async fn ops(&self, args: &[&str]) -> Ended {
        let operator = [("OPS_BY".to_owned(), "asha".to_owned())].into_iter().collect();
        run(args, self.service.env.clone().overridden_by(operator), &self.service.clock).await
    }

    async fn check_that_no_phone_is_in_clear(&self) {
        // Counters of look-ups expire within minutes.
        for table in TABLES.iter().filter(|table| table.name != "rate_limits") {
            let records = self.database("Scan", &json!({ "TableName": table.name })).await;
            assert!(!records.text.contains("+25571"), "{} holds a phone in clear", table.name);
        }
    }

    fn known_as(&self, kind: &str, name: &str) -> &str {
        self.known.pointer(&format!("/{kind}/{name}")).and_then(Value::as_str).expect("it is known")
    }

    fn id(&self, name: &str) -> &str {
        self.known_as("ids", name)
    }

    fn code(&self, name: &str) -> &str {
        self.known_as("codes", name)
    }

    fn sending(&self, key: &str, method: &str, path: &str) -> service_tests::http::RequestBuilder {
        let key = self.known_as("keys", key);
        let sending = request(method, format!("{}{path}", self.service.base_url));
        sending.header("authorization", format!("Bearer {key}"))
    }

    async fn get(&self, key: &str, path: &str) -> Reply {
        self.sending(key, "GET", path).send().await
    }

    async fn submit(&self, number: u32, code: &str, attempt: &str) -> Reply {
        let sending = self.sending("codes-2026", "POST", "/api/v1/submissions");
        sending.header("idempotency-key", attempt).json(&body(&phone(number), code)).send().await
    }

    async fn submission(&self, key: &str, name: &str) -> Value {
        let reply = self.get(key, &format!("/api/v1/submissions/{}", self.id(name))).await;
        json!([reply.field("state"), reply.field("review_status")])
    }
}

#[tokio::test]
async fn keys_codes_and_phones_of_the_release_before_are_what_they_were_once_the_books_are_moved() {
    let restored = Restored::start().await;
    assert_eq!(restored.get("codes-2026", "/api/v1/campaign").await.field("slug"), "codes-2026");
    assert_eq!(restored.get("revoked", "/api/v1/campaign").await.error_code(), "key_revoked");
    let moved = restored.ops(&["migrate", "--json"]).await;
    assert_eq!(moved.out.trim(), json!({ "code_books": 6, "phones": 36 }).to_string(), "{}", moved.err);
    let left = restored.database("Scan", &json!({ "TableName": "codes" })).await;
    assert!(!left.text.contains("minting_key"), "no key is left in clear");
    restored.check_that_no_phone_is_in_clear().await;
    assert!(restored.ops(&["migrate"]).await.out.contains("already"), "a second time changes nothing");

    let list = ["phone", "list", "--campaign", "codes-2026", "--environment", "live", "--json"];
    let listed: Value = serde_json::from_str(&restored.ops(&list).await.out).expect("JSON");
    let blocked =
        json!([{ "phone": "+2557•••••004", "at": "2050-06-15T12:00:00.000Z", "by": null, "why": null }]);
    assert_eq!(listed["phones"], blocked, "what was blocked before is listed");

    let (minted, free, prize) = (restored.code("minted"), restored.code("free"), restored.code("prize"));
    let again = restored.submit(1, minted, "records-minted-01").await;
    assert_eq!(
        (id_of(&again).as_str(), again.header("idempotent-replayed")),
        (restored.id("minted"), Some("true"))
    );
    let other = restored.submit(1, minted, "another-attempt-1").await;
    assert_eq!((id_of(&other).as_str(), &other.field("replayed")), (restored.id("minted"), &json!(true)));
    for (number, code, attempt, expected) in [
        (5, minted, "another-attempt-2", "already_used"),
        (5, prize, "another-attempt-3", "already_used"),
        (5, "CHAI-2026", "another-attempt-4", "already_used"),
        (5, "CHAI-2028", "another-attempt-5", "invalid"),
        (5, free, "another-attempt-6", "entered"),
        (5, "CHAI-2027", "another-attempt-7", "instant_win"),
        (3, "CHAI-2027", "another-attempt-8", "rate_limited"),
        (4, "CHAI-2027", "another-attempt-9", "blocked"),
    ] {
        let reply = restored.submit(number, code, attempt).await;
        assert_eq!(reply.field("message_key"), expected, "{code} {}", reply.text);
    }
    let lookup = restored.sending("codes-2026", "POST", "/api/v1/submissions/lookup");
    let lookup = lookup.json(&json!({ "phone": phone(1) })).send().await;
    assert!(lookup.text.contains(restored.id("minted")) && lookup.text.contains(restored.id("prize")));
    let sentinel = restored.submission("codes-2026-test", "sentinel").await;
    assert_eq!(sentinel, json!(["accepted", null]));
}

#[tokio::test]
async fn what_a_phone_sends_before_the_migration_counts_together_with_what_it_sent_earlier() {
    let restored = Restored::start().await;
    let scope = "codes-2026#live".parse().expect("a scope");
    let counts = async || {
        let found = restored.service.entrant(&scope, &phone(1).parse().expect("a phone"), "2050-06-15").await;
        let entrant = found.expect("read");
        (entrant.total, entrant.today, entrant.entries)
    };
    let entered = restored.submit(1, restored.code("free"), "before-migration-1").await;
    assert_eq!((entered.field("message_key"), counts().await), (json!("entered"), (1, 1, 1)));
    restored.ops(&["migrate"]).await;
    assert_eq!(counts().await, (3, 3, 3));
}

#[tokio::test]
async fn receipts_and_partners_work_of_the_release_before_goes_on() {
    let restored = Restored::start().await;
    assert_eq!(
        restored.submission("receipts-2026", "receipt-accepted").await,
        json!(["accepted", "verified"])
    );
    let awaiting = format!("/api/v1/receipts/{}", restored.id("receipt-awaiting"));
    let awaiting = restored.get("receipts-2026", &awaiting).await;
    assert_eq!(awaiting.field("state"), "awaiting_upload");
    assert_eq!(restored.submission("partner-2026", "partner-accepted").await, json!(["accepted", null]));
    assert_eq!(restored.submission("partner-2026", "partner-unknown").await, json!(["unknown", null]));

    let settler = Settler::new(&restored.service);
    settler.settle_due().await;
    assert_eq!(restored.submission("receipts-2026", "pending").await, json!(["accepted", "verified"]));
    // The purchase still belongs to the first submission.
    let typed = restored.sending("receipts-2026", "POST", "/api/v1/receipts");
    let typed = typed.json(&json!({ "type": "typed", "code": "GOOD010001", "time": TIME })).send().await;
    let sending = restored.sending("receipts-2026", "POST", "/api/v1/submissions");
    let sending = sending.header("idempotency-key", "another-attempt-1");
    let used = json!({ "phone": phone(9), "consent": true, "receipt_id": id_of(&typed) });
    let used = sending.json(&used).send().await;
    settler.settle_due().await;
    let used = restored.get("receipts-2026", &format!("/api/v1/submissions/{}", id_of(&used))).await;
    assert_eq!(used.field("message_key"), "receipt_already_used");

    let id = restored.id("under-review");
    let settled =
        ["submission", "settle", id, "--accept", "--without-receipt-code", "--why", "I can read it"];
    let settled = restored.ops(&settled).await;
    assert_eq!(settled.code, ops_core::EXIT_OK, "{}", settled.err);
    assert_eq!(restored.submission("receipts-2026", "under-review").await, json!(["accepted", "verified"]));
    let listed =
        restored.ops(&["submission", "list", "--campaign", "partner-2026", "--unsettled", "--json"]).await;
    assert!(listed.out.contains(restored.id("partner-unknown")), "{}{}", listed.out, listed.err);
    let keys = restored.ops(&["key", "list", "--campaign", "codes-2026", "--json"]).await;
    let keys: Value = serde_json::from_str(&keys.out).expect("JSON");
    assert_eq!(keys["keys"].as_array().map(Vec::len), Some(3));
    // Also of what this build has settled before.
    restored.ops(&["migrate"]).await;
    restored.check_that_no_phone_is_in_clear().await;
}

#[tokio::test]
async fn applying_a_campaign_is_refused_until_its_books_are_moved_and_finds_its_codes_afterwards() {
    let restored = Restored::start().await;
    let file = tempfile::NamedTempFile::with_suffix(".yaml").expect("a file");
    let yaml = "slug: codes-2026\nname: A\nbrand: B\ntimezone: Africa/Dar_es_Salaam\nwindow: { start: null, end: null }\n\
                code: { checked_by: service }\nentries_per_submission: 1\n";
    std::fs::write(file.path(), yaml).expect("a disk");
    let path = file.path().display().to_string();
    let refused = restored.ops(&["campaign", "apply", "--yes", &path]).await;
    assert_eq!(refused.code, ops_core::EXIT_FAILURE);
    assert!(refused.err.contains("run `ops migrate` first"), "{}", refused.err);
    // As the release before this check left it: applied, with an empty book in front of the old one.
    let scope = Scope { campaign: "codes-2026".parse().expect("a slug"), environment: Environment::Live };
    let keys = CodeBook {
        minting_keys: vec![SecretKey::from_random([7; 32])],
        digest_key: SecretKey::from_random([8; 32]),
        symbols: DEFAULT_CODE_SYMBOLS,
        minted: 0,
        batches: Vec::new(),
    };
    restored.service.tables.code_books.start(&scope, keys).await.expect("a book");
    let moved = restored.ops(&["migrate"]).await;
    assert!(moved.out.starts_with("6 code books"), "{}{}", moved.out, moved.err);
    let applied = restored.ops(&["campaign", "apply", "--yes", &path]).await;
    assert_eq!(applied.code, ops_core::EXIT_OK, "{}", applied.err);
    let entered = restored.submit(5, restored.code("free"), "another-attempt-1").await;
    assert_eq!(entered.field("message_key"), "entered");
    let history = restored.ops(&["campaign", "history", "codes-2026", "--json"]).await;
    let history: Value = serde_json::from_str(&history.out).expect("JSON");
    assert_eq!(history["history"].as_array().map(Vec::len), Some(2), "what it was before is kept: {history}");
}

#[tokio::test]
async fn a_record_of_a_later_version_is_left_alone() {
    let restored = Restored::start().await;
    let scope = format!("receipts-2026#{}", Environment::Live);
    let key = json!({ "id": { "S": format!("{scope}#{}", restored.id("pending")) } });
    let update = json!({
        "TableName": "submissions", "Key": key, "UpdateExpression": "SET record_version = :later",
        "ExpressionAttributeValues": { ":later": { "N": "3" } },
    });
    assert_eq!(restored.database("UpdateItem", &update).await.status, 200);
    let path = format!("/api/v1/submissions/{}", restored.id("pending"));
    let refused = restored.get("receipts-2026", &path).await;
    assert_eq!((refused.status.as_u16(), refused.error_code()), (500, "internal_error".to_owned()));
    let settler = Settler::new(&restored.service);
    let due = settler.due().await;
    for due in &due {
        let (scope, submission_id) = (due.scope.clone(), due.submission_id);
        settler.deliver(&common::aws::settle_queue::SettleMessage { scope, submission_id }).await;
    }
    assert!(settler.due().await.len() < due.len(), "it is put off, so that it holds up no other");
    let found = restored.database("GetItem", &json!({ "TableName": "submissions", "Key": key })).await;
    assert_eq!(found.json()["Item"]["record_version"]["N"], "3");
}
