//! The smoke test of a deployment: calls every endpoint in test mode, as a first customer would.
//!
//! It applies its own small campaign and issues a test key for it; at the end it revokes the key and archives the
//! campaign. Codes and receipts are test ones that stand for outcomes, so no partner or tax authority is asked.

mod caller;

use std::net::IpAddr;
use std::time::Duration;

use common::domain::scope::{Environment, Scope};
use common::domain::timestamp::Timestamp;
use common::random;
use http::header::IF_NONE_MATCH;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use serde_json::{Value, json};

pub use self::caller::Step;
use self::caller::{Ask, Caller, SmokeReply};
use crate::campaign_file;
use crate::failure::Failure;
use crate::tables::Tables;
use crate::{campaigns, keys};

const CAMPAIGN: &str = include_str!("campaign.yaml");
/// The key's label.
const LABEL: &str = "smoke test";
/// Requests per minute, more than the test makes.
const PER_MINUTE: u32 = 600;
/// Longer than any test takes. Ends the key of a test that was interrupted.
const KEY_TTL: Duration = Duration::from_hours(1);
/// Only the first bytes of a test photo are looked at: those of a JPEG.
const PHOTO: &[u8] = b"\xff\xd8\xff\xe0 the photo of a smoke test";

/// Runs the smoke test against a deployment.
///
/// # Errors
/// The first check that failed. The key is revoked and the campaign archived in any case.
pub async fn run(tables: &Tables, url: &str, now: Timestamp) -> Result<Vec<Step>, Failure> {
    let base_url = base_url(url)?;
    let file = campaign_file::read_bytes("campaign.yaml", CAMPAIGN.as_bytes());
    let file =
        file.map_err(|problems| Failure::from_problems("campaign_file_invalid", problems))?;
    let scope = Scope {
        campaign: file.campaign.slug.clone(),
        environment: Environment::Test,
    };
    campaigns::apply_without_code_books(tables, &file, now).await?;
    let checked = with_key(tables, &scope, &base_url, now).await;
    campaigns::archive_without_versions(tables, &scope.campaign, now).await?;
    checked
}

/// Makes all checks with a key that is revoked at the end.
async fn with_key(
    tables: &Tables,
    scope: &Scope,
    base_url: &str,
    now: Timestamp,
) -> Result<Vec<Step>, Failure> {
    let issued = keys::issue(tables, scope, Some(LABEL), PER_MINUTE, Some(KEY_TTL), now).await?;
    let checked = everything(base_url, issued.key).await;
    keys::revoke(tables, &issued.record.key_id, now).await?;
    checked
}

/// The API's URL; adds the scheme if there is none.
fn base_url(url: &str) -> Result<String, Failure> {
    let with_scheme = match url.split_once("://") {
        Some(_) => url.to_owned(),
        None if is_this_machine(url) => format!("http://{url}"),
        // A single word is more likely a typing error than a host.
        None if url.contains('.') => format!("https://{url}"),
        None => String::new(),
    };
    let with_scheme = with_scheme.trim_end_matches('/');
    let is_address = with_scheme.parse::<Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.path() == "/"
            && uri.query().is_none()
    });
    if is_address {
        return Ok(with_scheme.to_owned());
    }
    let message = "--url must be where the API is, with nothing after the host, such as https://entry.example.com or \
                   http://127.0.0.1:8080";
    Err(Failure::new("url_invalid", message))
}

fn is_this_machine(url: &str) -> bool {
    let url = url.trim_end_matches('/');
    let host = url.rsplit_once(':').map_or(url, |(host, _port)| host);
    let address = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

async fn everything(base_url: &str, key: String) -> Result<Vec<Step>, Failure> {
    let mut caller = Caller::new(base_url, key);
    // A random number keeps the entries of different runs apart.
    let run = u64::from_le_bytes(random::bytes());
    let phone = format!("+2557{:08}", run % 100_000_000);
    contract(&mut caller).await?;
    codes(&mut caller, run, &phone).await?;
    typed_receipt(&mut caller, run, &phone).await?;
    photo(&mut caller, run, &phone).await?;
    Ok(caller.steps)
}

/// What all endpoints have in common: headers, authentication, errors.
async fn contract(caller: &mut Caller<'_>) -> Result<(), Failure> {
    let get = |path| Ask::get(path);
    let campaign = caller
        .ask("reading the campaign", get("/api/v1/campaign"))
        .await?
        .status(200)?;
    campaign
        .field("slug", &json!("smoke-test"))?
        .field("livemode", &json!(false))?
        .field("status", &json!("live"))?
        .header("cache-control", Some("no-store"))?
        .header("x-request-id", None)?;
    let refused = caller
        .ask_without_key("asking without a key", get("/api/v1/campaign"))
        .await?
        .status(401)?;
    let refused = refused.field("/error/code", &json!("key_missing"))?;
    let docs_url = refused.text("/error/docs_url")?;
    let page = caller
        .send(
            "opening an error's page",
            Method::GET,
            &docs_url,
            HeaderMap::new(),
            "",
        )
        .await?;
    page.status(200)?;
    let lost = caller
        .ask(
            "asking for a path that is not there",
            get("/api/v1/nothing"),
        )
        .await?
        .status(404)?;
    lost.field("/error/code", &json!("not_found"))?;
    let patch = Ask {
        method: Method::PATCH,
        ..get("/api/v1/campaign")
    };
    let wrong = caller
        .ask("asking with a wrong method", patch)
        .await?
        .status(405)?;
    wrong
        .field("/error/code", &json!("method_not_allowed"))?
        .header("allow", Some("GET"))?;
    Ok(())
}

/// Codes: pre-check, entry, replay, look-up, settling later.
async fn codes(caller: &mut Caller<'_>, run: u64, phone: &str) -> Result<(), Failure> {
    let code = format!("TEST-0-VALID.{run:x}");
    let check = Ask::post(
        "/api/v1/codes/check",
        json!({ "code": code, "phone": phone }),
    );
    let checked = caller
        .ask("pre-checking a code", check)
        .await?
        .status(200)?;
    checked.field("precheck", &json!("valid"))?;
    let body = json!({ "phone": phone, "code": code, "consent": true });
    let entering =
        || Ask::post("/api/v1/submissions", body.clone()).once(&format!("smoke-{run:016x}-1"));
    let entered = caller
        .ask("entering a code", entering())
        .await?
        .status(200)?;
    let id = entered
        .field("message_key", &json!("entered"))?
        .text("/id")?;
    let again = caller
        .ask("sending the same request again", entering())
        .await?
        .status(200)?;
    again
        .field("id", &json!(id))?
        .header("idempotent-replayed", Some("true"))?;
    let read = caller
        .ask(
            "reading the submission",
            Ask::get(&format!("/api/v1/submissions/{id}")),
        )
        .await?;
    read.status(200)?.field("state", &json!("accepted"))?;
    let lookup = Ask::post("/api/v1/submissions/lookup", json!({ "phone": phone }));
    let found = caller
        .ask("looking the phone up", lookup)
        .await?
        .status(200)?;
    found
        .field("/submissions/0/id", &json!(id))?
        .field("total_entries", &json!(1))?;

    let slow = json!({ "phone": phone, "code": format!("TEST-0-SLOW.{run:x}"), "consent": true });
    let slow = Ask::post("/api/v1/submissions", slow).once(&format!("smoke-{run:016x}-2"));
    let open = caller
        .ask("entering a code that is settled later", slow)
        .await?
        .status(200)?;
    let open = open.field("state", &json!("unknown"))?;
    settled(caller, "waiting until it is settled", &open).await
}

async fn typed_receipt(caller: &mut Caller<'_>, run: u64, phone: &str) -> Result<(), Failure> {
    let typed = json!({ "type": "typed", "code": "TEST0VERIFIED", "time": "10:15" });
    let receipt = caller
        .ask(
            "announcing a typed receipt",
            Ask::post("/api/v1/receipts", typed),
        )
        .await?;
    let receipt = receipt
        .status(200)?
        .field("state", &json!("uploaded"))?
        .text("/id")?;
    let open = enter(
        caller,
        "entering with a typed receipt",
        run,
        3,
        phone,
        &receipt,
    )
    .await?;
    settled(caller, "waiting until the typed receipt is judged", &open).await
}

async fn photo(caller: &mut Caller<'_>, run: u64, phone: &str) -> Result<(), Failure> {
    let announced = json!({
        "type": "photo", "content_type": "image/jpeg", "size_bytes": PHOTO.len(), "qr_payload": "TEST0VERIFIED",
    });
    let receipt = caller
        .ask(
            "announcing a photo",
            Ask::post("/api/v1/receipts", announced),
        )
        .await?;
    let receipt = receipt
        .status(200)?
        .field("state", &json!("awaiting_upload"))?
        .text("/id")?;
    let fresh = format!("/api/v1/receipts/{receipt}/upload-url");
    let fresh = Ask {
        method: Method::POST,
        ..Ask::get(&fresh)
    };
    let fresh = caller
        .ask("asking for a fresh upload URL", fresh)
        .await?
        .status(200)?;
    let url = fresh.text("/upload/url")?;
    let headers = upload_headers(fresh.json());
    let mut bare = headers.clone();
    bare.remove(IF_NONE_MATCH);
    let put = Method::PUT;
    let refused = caller
        .send(
            "uploading without its headers",
            put.clone(),
            &url,
            bare,
            PHOTO,
        )
        .await?;
    let is_refused = refused.is_one_of(&[400, 403]);
    refused.check(is_refused, "storage should refuse it")?;
    let first = caller
        .send(
            "uploading the photo",
            put.clone(),
            &url,
            headers.clone(),
            PHOTO,
        )
        .await?;
    first.status(200)?;
    let second = caller
        .send("uploading it a second time", put, &url, headers, PHOTO)
        .await?;
    let is_refused = second.is_one_of(&[403, 409, 412]);
    second.check(is_refused, "storage should refuse it")?;
    let path = format!("/api/v1/receipts/{receipt}");
    caller
        .wait_for(
            "waiting until storage has told of it",
            &path,
            "state",
            &json!("uploaded"),
        )
        .await?;
    let open = enter(caller, "entering with a photo", run, 4, phone, &receipt).await?;
    settled(caller, "waiting until the photo is judged", &open).await
}

/// The headers that the upload has to send.
fn upload_headers(receipt: &Value) -> HeaderMap {
    let headers = receipt
        .pointer("/upload/headers")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    let header = |(name, value): (&String, &Value)| {
        Some((
            name.parse::<HeaderName>().ok()?,
            HeaderValue::from_str(value.as_str()?).ok()?,
        ))
    };
    headers.filter_map(header).collect()
}

async fn enter(
    caller: &mut Caller<'_>,
    what: &'static str,
    run: u64,
    number: u32,
    phone: &str,
    receipt: &str,
) -> Result<SmokeReply, Failure> {
    let code = format!("TEST-0-VALID.{run:x}.{number}");
    let body = json!({ "phone": phone, "code": code, "consent": true, "receipt_id": receipt });
    let key = format!("smoke-{run:016x}-{number}");
    let open = caller
        .ask(what, Ask::post("/api/v1/submissions", body).once(&key))
        .await?;
    open.status(200)?
        .field("message_key", &json!("receipt_received"))
}

async fn settled(
    caller: &mut Caller<'_>,
    what: &'static str,
    open: &SmokeReply,
) -> Result<(), Failure> {
    let path = format!("/api/v1/submissions/{}", open.text("/id")?);
    caller
        .wait_for(what, &path, "state", &json!("accepted"))
        .await
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_come_without_its_scheme() {
        for (url, meant) in [
            ("https://entry.example.com/", "https://entry.example.com"),
            ("entry.example.com", "https://entry.example.com"),
            ("http://entry.example.com", "http://entry.example.com"),
            ("127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("localhost:8080/", "http://localhost:8080"),
            ("[::1]:8080", "http://[::1]:8080"),
        ] {
            assert_eq!(base_url(url).expect(url), meant);
        }
        for url in [
            "",
            "ftp://entry.example.com",
            "https://entry.example.com/api/v1",
            "entry example",
            "https://",
        ] {
            let message = base_url(url).expect_err(url).message;
            assert!(
                message.starts_with("--url must be") && message.contains("https://"),
                "{message}"
            );
        }
    }
}
