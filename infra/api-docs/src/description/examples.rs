//! Examples of requests and replies.

use common::domain::message::{Language, MessageKey, TextKey};
use common::domain::receipt::photo::{MAX_BYTES, PhotoType};
use serde_json::{Map, Value, json};

use super::schema::set;

pub(crate) const SUBMISSION_ID: &str = "6b1f7c52-3d0e-4a86-9c41-8e2f5a7d9b03";
pub(crate) const RECEIPT_ID: &str = "d2a84f10-57c9-4e3b-b6f8-1c0e9a72d4f5";
pub(crate) const REQUEST_ID: &str = "req_5f0c1d2e3a4b5c6d7e8f9a0b";
const MADE_AT: &str = "2026-03-14T09:26:53.589Z";
const WITH_CODES: &str = "chai-bora-2026";
pub(crate) const OF_RECEIPTS: &str = "duka-kuu-2026";
pub(crate) const OF_PARTNER: &str = "bahati-2026";
const PRODUCT: &str = "Chai Bora 250 g";
const BRANCH: &str = "kko";

pub(crate) struct Example {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) value: Value,
    /// A request's reply by name.
    pub(crate) reply: Option<&'static str>,
}

impl Example {
    pub(crate) fn new(name: &'static str, summary: &'static str, value: Value) -> Self {
        Self {
            name,
            summary,
            value,
            reply: None,
        }
    }

    pub(crate) fn replied_with(self, reply: &'static str) -> Self {
        Self {
            reply: Some(reply),
            ..self
        }
    }
}

/// A JSON body with examples; `x-order` is their order.
pub(crate) fn media(schema: Value, examples: Vec<Example>) -> Value {
    let order: Vec<&str> = examples.iter().map(|example| example.name).collect();
    let entries = examples.into_iter().map(
        |Example {
             name,
             summary,
             value,
             reply,
         }| {
            let mut example = json!({ "summary": summary, "value": value });
            if let Some(reply) = reply {
                set(&mut example, "x-reply", json!(reply));
            }
            (name.to_owned(), example)
        },
    );
    json!({ "schema": schema, "x-order": order, "examples": entries.collect::<Map<_, _>>() })
}

fn copy(key: MessageKey) -> &'static str {
    key.text(Language::En)
}

pub(crate) fn campaign(with_receipts: bool) -> Value {
    let messages: Map<String, Value> = TextKey::all()
        .map(|key| (key.as_str().to_owned(), json!(key.text(Language::En))))
        .collect();
    let types = PhotoType::ALL.map(PhotoType::as_str);
    let receipt = json!({
        "max_bytes": MAX_BYTES,
        "accepted_types": types,
        "ranges": [{ "name": "Classic", "tag": "For every day" }],
        "products": [{
            "key": "chai-250", "range": "Classic", "label": "250 g", "name": PRODUCT, "color": null, "image": null,
        }],
        "branches": [{ "key": BRANCH, "name": "Kariakoo", "city": "Dar es Salaam", "merchant": "Duka Kuu" }],
        "draw_period": "weekly",
    });
    json!({
        "slug": if with_receipts { OF_RECEIPTS } else { WITH_CODES },
        "name": if with_receipts { "Duka Kuu Chai Draw" } else { "Chai Bora Shinda" },
        "brand": "Chai Bora",
        "livemode": false,
        "status": "live",
        "window": { "start": "2025-12-31T21:00:00.000Z", "end": null },
        "timezone": "Africa/Dar_es_Salaam",
        "capabilities": {
            "precheck": !with_receipts,
            "code_required": !with_receipts,
            "receipt_required": with_receipts,
            "typed_receipt": with_receipts,
        },
        "limits": { "phone_daily": 3, "phone_total": if with_receipts { Value::Null } else { json!(20) } },
        "receipt": if with_receipts { receipt } else { Value::Null },
        "consent": { "version": "2026-01", "text": "I agree that Chai Bora uses my number for this draw." },
        "messages": messages,
    })
}

/// An accepted submission, with changes.
pub(crate) fn submission(key: MessageKey, changes: Value) -> Value {
    let mut submission = json!({
        "id": SUBMISSION_ID,
        "ref": "K7M2-Q9XD",
        "campaign": WITH_CODES,
        "livemode": false,
        "state": "accepted",
        "review_status": null,
        "display_status": "entered",
        "message_key": key,
        "message": copy(key),
        "reasons": [],
        "entries": 1,
        "instant_win": null,
        "terminal": true,
        "poll_after_seconds": null,
        "replayed": false,
        "receipt": null,
        "consent": { "version": "2026-01", "language": "en" },
        "upstream": null,
        "created_at": MADE_AT,
        "updated_at": MADE_AT,
    });
    if let Value::Object(changes) = changes {
        changes
            .into_iter()
            .for_each(|(name, value)| set(&mut submission, &name, value));
    }
    submission
}

pub(crate) fn refused(key: MessageKey) -> Value {
    let changes = json!({
        "state": "rejected", "display_status": "not_accepted", "reasons": [key], "entries": 0,
    });
    submission(key, changes)
}

pub(crate) fn open(key: MessageKey, state: &str, campaign: &str) -> Value {
    let changes = json!({
        "campaign": campaign, "state": state, "display_status": "checking", "entries": 0, "terminal": false,
        "poll_after_seconds": 2,
    });
    submission(key, changes)
}

/// A receipt of a participating branch, or another shop.
pub(crate) fn record(takes_part: bool) -> Value {
    json!({
        "date": "2026-03-14",
        "branch": takes_part.then_some(BRANCH),
        "items_summary": format!("2 x {PRODUCT}"),
        "tra_verified": true,
    })
}

pub(crate) fn precheck(result: &str, key: Option<MessageKey>) -> Value {
    json!({ "precheck": result, "message_key": key, "message": key.map(copy) })
}

pub(crate) fn lookup(seen: bool) -> Value {
    let entry = |id: &str,
                 reference: &str,
                 date: &str,
                 display: &str,
                 key: MessageKey,
                 entries: u32| {
        json!({
            "id": id, "ref": reference, "date": date, "display_status": display, "message": copy(key),
            "entries": entries,
        })
    };
    let entries = [
        entry(
            SUBMISSION_ID,
            "K7M2-Q9XD",
            "2026-03-14",
            "entered",
            MessageKey::Entered,
            1,
        ),
        entry(
            "0f5e9d3a-71c2-4b68-8a1d-5c3e7f90b246",
            "W4TN-8HCP",
            "2026-03-13",
            "not_accepted",
            MessageKey::Invalid,
            0,
        ),
    ];
    json!({
        "submissions": if seen { json!(entries) } else { json!([]) },
        "total_entries": u32::from(seen),
        "timezone": "Africa/Dar_es_Salaam",
    })
}

pub(crate) fn receipt(kind: &str, state: &str, with_target: bool) -> Value {
    let target = json!({
        "url": format!("https://receipts.example.com/{OF_RECEIPTS}/test/{RECEIPT_ID}?X-Amz-Expires=900&X-Amz-Signature=5d41402a"),
        "method": "PUT",
        "headers": { "content-length": "183138", "content-type": "image/jpeg", "if-none-match": "*" },
        "expires_at": "2026-03-14T09:41:53.589Z",
        "max_bytes": MAX_BYTES,
        "accepted_types": PhotoType::ALL.map(PhotoType::as_str),
    });
    json!({
        "id": RECEIPT_ID,
        "type": kind,
        "state": state,
        "upload": if with_target { target } else { Value::Null },
        "created_at": MADE_AT,
    })
}
