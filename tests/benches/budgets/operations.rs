//! The measured operations, their budgets and their requests.

use serde_json::{Value, json};
use service_tests::campaign::{body, fresh_key, phone};

use crate::caller::{Ask, Caller};
use crate::world::{Shop, World, never_imported_code};

const SUBMISSIONS: &str = "/api/v1/submissions";
const RECEIPTS: &str = "/api/v1/receipts";

/// Serial numbers from here on are in no batch: well formed, but wrong.
const NEVER_MINTED: u64 = 1_000_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    GetCampaign,
    GetSubmission,
    SubmitMinted,
    SubmitImported,
    SubmitWrongCode,
    SubmitWrongCodeBesideImported,
    SubmitUsedCode,
    SubmitOverLimit,
    ReplayByKey,
    ReplayByCodeAndPhone,
    CheckCode,
    Lookup,
    CreateReceipt,
    GetReceipt,
    RefreshUploadUrl,
    SubmitReceipt,
}

impl Endpoint {
    pub(crate) const ALL: [Self; 16] = [
        Self::GetCampaign,
        Self::GetSubmission,
        Self::SubmitMinted,
        Self::SubmitImported,
        Self::SubmitWrongCode,
        Self::SubmitWrongCodeBesideImported,
        Self::SubmitUsedCode,
        Self::SubmitOverLimit,
        Self::ReplayByKey,
        Self::ReplayByCodeAndPhone,
        Self::CheckCode,
        Self::Lookup,
        Self::CreateReceipt,
        Self::GetReceipt,
        Self::RefreshUploadUrl,
        Self::SubmitReceipt,
    ];

    pub(crate) fn name(self) -> &'static str {
        self.facts().0
    }

    /// Most DynamoDB calls of a warm request, without leases.
    pub(crate) fn budget(self) -> f64 {
        self.facts().1
    }

    /// Name, budget, and a field of the expected reply.
    fn facts(self) -> (&'static str, f64, (&'static str, Value)) {
        let entered = || ("/message_key", json!("entered"));
        let awaits = || ("/state", json!("awaiting_upload"));
        let message = |key: &str| ("/message_key", json!(key));
        match self {
            // Key and campaign come from a cache.
            Self::GetCampaign => ("GET campaign", 0.0, ("/status", json!("live"))),
            Self::GetSubmission => ("GET submission", 1.0, entered()),
            // One transaction.
            Self::SubmitMinted => ("POST submissions: accepted, minted code", 1.0, entered()),
            Self::SubmitImported => ("POST submissions: accepted, imported code", 1.0, entered()),
            // The transaction returns the conflicting record, or it is read; a second write records
            // the rejection.
            Self::SubmitWrongCode => (
                "POST submissions: refused, wrong code",
                2.0,
                message("invalid"),
            ),
            // The transaction shows that the code was not imported; then wrong codes are read.
            Self::SubmitWrongCodeBesideImported => (
                "POST submissions: refused, wrong code, imported ones exist",
                3.0,
                message("invalid"),
            ),
            Self::SubmitUsedCode => (
                "POST submissions: refused, used code",
                2.0,
                message("already_used"),
            ),
            Self::SubmitOverLimit => (
                "POST submissions: refused, daily limit",
                2.0,
                message("daily_limit"),
            ),
            // The transaction returns the stored request; then the submission is read.
            Self::ReplayByKey => (
                "POST submissions: replayed by Idempotency-Key",
                2.0,
                entered(),
            ),
            // The same, and the new key is stored.
            Self::ReplayByCodeAndPhone => (
                "POST submissions: replayed by code and phone",
                3.0,
                ("/replayed", json!(true)),
            ),
            // Counts, and reads the code.
            Self::CheckCode => ("POST codes/check", 2.0, ("/precheck", json!("valid"))),
            // Counts; reads submissions and entrant concurrently.
            Self::Lookup => ("POST submissions/lookup", 3.0, ("/total_entries", json!(1))),
            // One transaction with the Idempotency-Key.
            Self::CreateReceipt => ("POST receipts", 1.0, awaits()),
            Self::GetReceipt => ("GET receipt", 1.0, awaits()),
            Self::RefreshUploadUrl => ("POST receipts/{id}/upload-url", 1.0, awaits()),
            // One batch reads everything; then one transaction.
            Self::SubmitReceipt => (
                "POST submissions: received, with a receipt",
                2.0,
                message("receipt_received"),
            ),
        }
    }

    pub(crate) fn shop(self, world: &World) -> &Shop {
        match self {
            Self::SubmitImported | Self::SubmitWrongCodeBesideImported => &world.importing,
            Self::SubmitOverLimit => &world.limited,
            Self::CreateReceipt
            | Self::GetReceipt
            | Self::RefreshUploadUrl
            | Self::SubmitReceipt => &world.receipts,
            _ => &world.plain,
        }
    }

    /// Creates a request's records, and returns the request.
    pub(crate) async fn prepare(self, world: &World, caller: &Caller) -> Ask {
        let shop = self.shop(world);
        let number = world.fresh();
        let code = |number: u32| shop.campaign.code(u64::from(number));
        let submit = |number: u32| submission(&phone(number), &code(number));
        let send = async |ask: Ask| caller.send(&shop.free_key, &ask).await;
        let id = |reply: Value| reply["id"].as_str().expect("an id").to_owned();
        match self {
            Self::GetCampaign => Ask::get("/api/v1/campaign"),
            Self::GetSubmission => {
                let id = id(send(submit(number)).await);
                Ask::get(format!("{SUBMISSIONS}/{id}"))
            }
            Self::SubmitMinted => submit(number),
            Self::SubmitImported => submission(&phone(number), &shop.fresh_imported_code()),
            Self::SubmitWrongCode => {
                let wrong = shop.campaign.code(NEVER_MINTED + u64::from(number));
                submission(&phone(number), &wrong)
            }
            Self::SubmitWrongCodeBesideImported => {
                submission(&phone(number), &never_imported_code(number))
            }
            Self::SubmitUsedCode => {
                send(submit(number)).await;
                submission(&phone(world.fresh()), &code(number))
            }
            Self::SubmitOverLimit => {
                send(submit(number)).await;
                submission(&phone(number), &code(world.fresh()))
            }
            Self::ReplayByKey => {
                let ask = submit(number);
                send(ask.clone()).await;
                ask
            }
            Self::ReplayByCodeAndPhone => {
                send(submit(number)).await;
                submit(number)
            }
            Self::CheckCode => {
                let body = json!({ "code": code(number), "phone": phone(number) });
                from_somewhere_else(Ask::post("/api/v1/codes/check", body), number)
            }
            Self::Lookup => {
                send(submit(number)).await;
                let body = json!({ "phone": phone(number) });
                from_somewhere_else(Ask::post("/api/v1/submissions/lookup", body), number)
            }
            Self::CreateReceipt => photo().header("idempotency-key", fresh_key()),
            Self::GetReceipt => {
                let id = id(send(photo()).await);
                Ask::get(format!("{RECEIPTS}/{id}"))
            }
            Self::RefreshUploadUrl => {
                let id = id(send(photo()).await);
                Ask::post(&format!("{RECEIPTS}/{id}/upload-url"), json!({}))
            }
            Self::SubmitReceipt => {
                let typed = json!({ "type": "typed", "code": "TEST0VERIFIED", "time": "10:15" });
                let id = id(send(Ask::post(RECEIPTS, typed)).await);
                let body = json!({ "phone": phone(number), "consent": true, "receipt_id": id });
                Ask::post(SUBMISSIONS, body).header("idempotency-key", fresh_key())
            }
        }
    }

    /// Panics on an unexpected reply.
    pub(crate) fn confirm(self, reply: &Value) {
        let (name, _, (field, expected)) = self.facts();
        assert_eq!(reply.pointer(field), Some(&expected), "{name}: {reply}");
    }
}

/// Has a fresh Idempotency-Key.
pub(crate) fn submission(phone: &str, code: &str) -> Ask {
    Ask::post(SUBMISSIONS, body(phone, code)).header("idempotency-key", fresh_key())
}

fn photo() -> Ask {
    Ask::post(
        RECEIPTS,
        json!({ "type": "photo", "content_type": "image/jpeg", "size_bytes": 400_000 }),
    )
}

/// Limits count address ranges, so each request has another.
fn from_somewhere_else(ask: Ask, number: u32) -> Ask {
    let [_, high, middle, low] = number.to_be_bytes();
    ask.header("svc-client-ip", format!("{}.{middle}.{low}.1", 11 + high))
}
