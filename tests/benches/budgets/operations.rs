//! The measured operations, their budgets and their requests.

use serde_json::{Value, json};
use service_tests::campaign::{body, fresh_key, phone};

use crate::caller::{Ask, Caller};
use crate::world::{Shop, World};

const SUBMISSIONS: &str = "/api/v1/submissions";
const RECEIPTS: &str = "/api/v1/receipts";

/// Serial numbers from here on are in no batch, so their codes are well formed and wrong.
const NEVER_MINTED: u64 = 1_000_000_000_000;

/// An operation with its own budget.
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
    LookUp,
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
        Self::LookUp,
        Self::CreateReceipt,
        Self::GetReceipt,
        Self::RefreshUploadUrl,
        Self::SubmitReceipt,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::GetCampaign => "GET campaign",
            Self::GetSubmission => "GET submission",
            Self::SubmitMinted => "POST submissions: accepted, minted code",
            Self::SubmitImported => "POST submissions: accepted, imported code",
            Self::SubmitWrongCode => "POST submissions: refused, wrong code",
            Self::SubmitWrongCodeBesideImported => {
                "POST submissions: refused, wrong code, imported ones exist"
            }
            Self::SubmitUsedCode => "POST submissions: refused, used code",
            Self::SubmitOverLimit => "POST submissions: refused, daily limit",
            Self::ReplayByKey => "POST submissions: replayed by Idempotency-Key",
            Self::ReplayByCodeAndPhone => "POST submissions: replayed by code and phone",
            Self::CheckCode => "POST codes/check",
            Self::LookUp => "POST submissions/lookup",
            Self::CreateReceipt => "POST receipts",
            Self::GetReceipt => "GET receipt",
            Self::RefreshUploadUrl => "POST receipts/{id}/upload-url",
            Self::SubmitReceipt => "POST submissions: received, with a receipt",
        }
    }

    /// The most DynamoDB calls of one warm request, without leases on the key's rate limit.
    pub(crate) fn budget(self) -> f64 {
        match self {
            // Key and campaign come from a cache.
            Self::GetCampaign => 0.0,
            Self::GetSubmission => 1.0,
            // One transaction.
            Self::SubmitMinted | Self::SubmitImported => 1.0,
            // The transaction returns the conflicting record, or it is read; another write records the rejection.
            Self::SubmitWrongCode | Self::SubmitUsedCode | Self::SubmitOverLimit => 2.0,
            // Only the transaction shows that the code was not imported; then the phone's wrong codes are read.
            Self::SubmitWrongCodeBesideImported => 3.0,
            // The transaction returns the stored request; the submission is read.
            Self::ReplayByKey => 2.0,
            // The same, and the new key is stored.
            Self::ReplayByCodeAndPhone => 3.0,
            // The look-up is counted and the code is read.
            Self::CheckCode => 2.0,
            // Look-ups are counted; submissions and entrant are read concurrently.
            Self::LookUp => 3.0,
            // One transaction, which includes the Idempotency-Key.
            Self::CreateReceipt => 1.0,
            Self::GetReceipt | Self::RefreshUploadUrl => 1.0,
            // One batch reads the receipt and the rest; then one transaction.
            Self::SubmitReceipt => 2.0,
        }
    }

    /// The campaign that the operation uses.
    pub(crate) fn shop(self, world: &World) -> &Shop {
        match self {
            Self::SubmitImported | Self::SubmitWrongCodeBesideImported => &world.importing,
            Self::SubmitOverLimit => &world.limited,
            Self::CreateReceipt
            | Self::GetReceipt
            | Self::RefreshUploadUrl
            | Self::SubmitReceipt => &world.receipts,
            Self::GetCampaign
            | Self::GetSubmission
            | Self::SubmitMinted
            | Self::SubmitWrongCode
            | Self::SubmitUsedCode
            | Self::ReplayByKey
            | Self::ReplayByCodeAndPhone
            | Self::CheckCode
            | Self::LookUp => &world.plain,
        }
    }

    /// Creates the records that one request needs, and returns the request.
    pub(crate) async fn prepare(self, world: &World, caller: &Caller) -> Ask {
        let shop = self.shop(world);
        let number = world.fresh();
        let code = |number: u32| shop.campaign.code(u64::from(number));
        let submit = |number: u32| submission(&phone(number), &code(number));
        match self {
            Self::GetCampaign => Ask::get("/api/v1/campaign"),
            Self::GetSubmission => {
                let reply = caller.send(&shop.free_key, &submit(number)).await;
                Ask::get(format!(
                    "{SUBMISSIONS}/{}",
                    reply["id"].as_str().expect("an id")
                ))
            }
            Self::SubmitMinted => submit(number),
            Self::SubmitImported => submission(&phone(number), &shop.fresh_imported_code()),
            Self::SubmitWrongCode | Self::SubmitWrongCodeBesideImported => {
                let wrong = shop.campaign.code(NEVER_MINTED + u64::from(number));
                submission(&phone(number), &wrong)
            }
            Self::SubmitUsedCode => {
                caller.send(&shop.free_key, &submit(number)).await;
                submission(&phone(world.fresh()), &code(number))
            }
            Self::SubmitOverLimit => {
                caller.send(&shop.free_key, &submit(number)).await;
                submission(&phone(number), &code(world.fresh()))
            }
            Self::ReplayByKey => {
                let ask = submit(number);
                caller.send(&shop.free_key, &ask).await;
                ask
            }
            Self::ReplayByCodeAndPhone => {
                caller.send(&shop.free_key, &submit(number)).await;
                submit(number)
            }
            Self::CheckCode => {
                let body = json!({ "code": code(number), "phone": phone(number) });
                from_somewhere_else(Ask::post("/api/v1/codes/check", body), number)
            }
            Self::LookUp => {
                caller.send(&shop.free_key, &submit(number)).await;
                let body = json!({ "phone": phone(number) });
                from_somewhere_else(Ask::post("/api/v1/submissions/lookup", body), number)
            }
            Self::CreateReceipt => photo().header("idempotency-key", fresh_key()),
            Self::GetReceipt => {
                let reply = caller.send(&shop.free_key, &photo()).await;
                Ask::get(format!(
                    "{RECEIPTS}/{}",
                    reply["id"].as_str().expect("an id")
                ))
            }
            Self::RefreshUploadUrl => {
                let reply = caller.send(&shop.free_key, &photo()).await;
                let path = format!(
                    "{RECEIPTS}/{}/upload-url",
                    reply["id"].as_str().expect("an id")
                );
                Ask::post(&path, json!({}))
            }
            Self::SubmitReceipt => {
                let typed = json!({ "type": "typed", "code": "TEST0VERIFIED", "time": "10:15" });
                let reply = caller
                    .send(&shop.free_key, &Ask::post(RECEIPTS, typed))
                    .await;
                let body =
                    json!({ "phone": phone(number), "consent": true, "receipt_id": reply["id"] });
                Ask::post(SUBMISSIONS, body).header("idempotency-key", fresh_key())
            }
        }
    }

    /// Panics on an unexpected reply, because the measurement would be of something else.
    pub(crate) fn confirm(self, reply: &Value) {
        let (field, expected) = match self {
            Self::GetCampaign => ("/status", json!("live")),
            Self::GetSubmission | Self::SubmitMinted | Self::SubmitImported | Self::ReplayByKey => {
                ("/message_key", json!("entered"))
            }
            Self::SubmitWrongCode | Self::SubmitWrongCodeBesideImported => {
                ("/message_key", json!("invalid"))
            }
            Self::SubmitUsedCode => ("/message_key", json!("already_used")),
            Self::SubmitOverLimit => ("/message_key", json!("daily_limit")),
            Self::ReplayByCodeAndPhone => ("/replayed", json!(true)),
            Self::CheckCode => ("/precheck", json!("valid")),
            Self::LookUp => ("/total_entries", json!(1)),
            Self::CreateReceipt | Self::GetReceipt | Self::RefreshUploadUrl => {
                ("/state", json!("awaiting_upload"))
            }
            Self::SubmitReceipt => ("/message_key", json!("receipt_received")),
        };
        assert_eq!(
            reply.pointer(field),
            Some(&expected),
            "{}: {reply}",
            self.name()
        );
    }
}

/// A submission with a fresh Idempotency-Key.
pub(crate) fn submission(phone: &str, code: &str) -> Ask {
    Ask::post(SUBMISSIONS, body(phone, code)).header("idempotency-key", fresh_key())
}

fn photo() -> Ask {
    Ask::post(
        RECEIPTS,
        json!({ "type": "photo", "content_type": "image/jpeg", "size_bytes": 400_000 }),
    )
}

/// Look-ups and pre-checks are limited by address range, so each request has another range.
fn from_somewhere_else(ask: Ask, number: u32) -> Ask {
    let [_, high, middle, low] = number.to_be_bytes();
    ask.header("svc-client-ip", format!("{}.{middle}.{low}.1", 11 + high))
}
