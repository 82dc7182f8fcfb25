//! Calls every endpoint of a deployment in test mode, as a first customer would.
//!
//! It applies its own campaign and issues a test key; at the end it revokes and archives them. Test
//! codes and receipts ask no partner or tax authority.

mod caller;

use std::net::IpAddr;

use http::header::IF_NONE_MATCH;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};

use self::caller::{Caller, Reply, SUBMISSIONS};
use crate::prelude::*;
use crate::{campaign_file, campaigns, keys};

pub use self::caller::Step;

const CAMPAIGN: &str = include_str!("campaign.yaml");
const RECEIPTS: &str = "/api/v1/receipts";
const LABEL: &str = "smoke test";
/// More than the test makes.
const PER_MINUTE: u32 = 600;
/// Ends the key of an interrupted test.
const KEY_TTL: Duration = Duration::from_hours(1);
/// Beginning of a JPEG, since nothing else is read.
const PHOTO: &[u8] = b"\xff\xd8\xff\xe0 the photo of a smoke test";

/// Fails with the first wrong reply; revokes the key and archives the campaign in any case.
pub async fn run(tables: &Tables, url: &str, now: Timestamp) -> Result<Vec<Step>> {
    let base_url = base_url(url)?;
    let file = campaign_file::read_bytes("campaign.yaml", CAMPAIGN.as_bytes());
    let file =
        file.map_err(|problems| Failure::from_problems("campaign_file_invalid", problems))?;
    let scope = Scope {
        campaign: file.campaign.slug.clone(),
        environment: Environment::Test,
    };
    campaigns::write_without_code_books(tables, &file, false, now).await?;
    let checked = with_key(tables, &scope, &base_url, now).await;
    campaigns::write_without_code_books(tables, &file, true, now).await?;
    checked
}

async fn with_key(
    tables: &Tables,
    scope: &Scope,
    base_url: &str,
    now: Timestamp,
) -> Result<Vec<Step>> {
    let issued = keys::issue(tables, scope, Some(LABEL), PER_MINUTE, Some(KEY_TTL), now).await?;
    let checked = everything(base_url, &issued.key).await;
    keys::revoke(tables, &issued.record.key_id, now).await?;
    checked
}

fn base_url(url: &str) -> Result<String> {
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
    bail!(
        "url_invalid",
        "--url must be where the API is, with nothing after the host, such as https://entry.example.com or \
                   http://127.0.0.1:8080"
    )
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

async fn everything(base_url: &str, key: &str) -> Result<Vec<Step>> {
    let mut caller = Caller::new(base_url, key)?;
    // Keeps the entries of different runs apart.
    let run = u64::from_le_bytes(random::bytes());
    let phone = format!("+2557{:08}", run % 100_000_000);
    contract(&mut caller).await?;
    codes(&mut caller, run, &phone).await?;
    typed_receipt(&mut caller, run, &phone).await?;
    photo(&mut caller, run, &phone).await?;
    Ok(caller.steps)
}

async fn contract(caller: &mut Caller<'_>) -> Result<()> {
    let path = "/api/v1/campaign";
    caller
        .get("reading the campaign", path, 200)
        .await?
        .field("/slug", "smoke-test")?
        .field("/livemode", false)?
        .field("/status", "live")?
        .header("cache-control", Some("no-store"))?
        .header("x-request-id", None)?;
    let url = format!("{}{path}", caller.base_url);
    let refused = page(caller, "asking without a key", &url).await?;
    let refused = refused
        .status(&[401])?
        .field("/error/code", "key_missing")?;
    let url = refused.text("/error/docs_url")?;
    let opened = page(caller, "opening an error's page", &url).await?;
    opened.status(&[200])?;
    let what = "asking for a path that is not there";
    caller
        .get(what, "/api/v1/nothing", 404)
        .await?
        .field("/error/code", "not_found")?;
    let what = "asking with a wrong method";
    caller
        .call(what, Method::PATCH, path, None, 405)
        .await?
        .field("/error/code", "method_not_allowed")?
        .header("allow", Some("GET"))?;
    Ok(())
}

/// Sends no key.
async fn page(caller: &mut Caller<'_>, what: &'static str, url: &str) -> Result<Reply> {
    let headers = HeaderMap::new();
    caller.send(what, Method::GET, url, headers, "").await
}

async fn codes(caller: &mut Caller<'_>, run: u64, phone: &str) -> Result<()> {
    let code = format!("TEST-0-VALID.{run:016x}");
    let check = json!({ "code": code, "phone": phone });
    caller
        .post("pre-checking a code", "/api/v1/codes/check", check)
        .await?
        .field("/precheck", "valid")?;
    let body = json!({ "phone": phone, "code": code, "consent": true });
    let id = caller
        .post("entering a code", SUBMISSIONS, body.clone())
        .await?
        .field("/message_key", "entered")?
        .text("/id")?;
    caller
        .post("sending the same request again", SUBMISSIONS, body)
        .await?
        .field("/id", id.as_str())?
        .header("idempotent-replayed", Some("true"))?;
    caller
        .get(
            "reading the submission",
            &format!("{SUBMISSIONS}/{id}"),
            200,
        )
        .await?
        .field("/state", "accepted")?;
    let lookup = json!({ "phone": phone });
    caller
        .post(
            "looking the phone up",
            &format!("{SUBMISSIONS}/lookup"),
            lookup,
        )
        .await?
        .field("/submissions/0/id", id)?
        .field("/total_entries", 1)?;

    let slow =
        json!({ "phone": phone, "code": format!("TEST-0-SLOW.{run:016x}"), "consent": true });
    let what = "entering a code that is settled later";
    let open = caller.post(what, SUBMISSIONS, slow).await?;
    let open = open.field("/state", "unknown")?;
    accepted(caller, "waiting until it is settled", &open).await
}

async fn typed_receipt(caller: &mut Caller<'_>, run: u64, phone: &str) -> Result<()> {
    let typed = json!({ "type": "typed", "code": "TEST0VERIFIED", "time": "10:15" });
    let receipt = caller
        .post("announcing a typed receipt", RECEIPTS, typed)
        .await?
        .field("/state", "uploaded")?
        .text("/id")?;
    let what = "entering with a typed receipt";
    let open = enter(caller, what, run, 3, phone, &receipt).await?;
    accepted(caller, "waiting until the typed receipt is judged", &open).await
}

async fn photo(caller: &mut Caller<'_>, run: u64, phone: &str) -> Result<()> {
    let announced = json!({
        "type": "photo", "content_type": "image/jpeg", "size_bytes": PHOTO.len(), "qr_payload": "TEST0VERIFIED",
    });
    let receipt = caller
        .post("announcing a photo", RECEIPTS, announced)
        .await?
        .field("/state", "awaiting_upload")?
        .text("/id")?;
    let path = format!("{RECEIPTS}/{receipt}");
    let fresh = format!("{path}/upload-url");
    let what = "asking for a fresh upload URL";
    let fresh = caller.call(what, Method::POST, &fresh, None, 200).await?;
    let url = fresh.text("/upload/url")?;
    let headers = upload_headers(&fresh.json);
    let mut bare = headers.clone();
    bare.remove(IF_NONE_MATCH);
    for (what, headers, expected) in [
        ("uploading without its headers", bare, &[400, 403][..]),
        ("uploading the photo", headers.clone(), &[200]),
        ("uploading it a second time", headers, &[403, 409, 412]),
    ] {
        let put = caller.send(what, Method::PUT, &url, headers, PHOTO);
        put.await?.status(expected)?;
    }
    let what = "waiting until storage has told of it";
    caller.wait_for(what, &path, "uploaded").await?;
    let open = enter(caller, "entering with a photo", run, 4, phone, &receipt).await?;
    accepted(caller, "waiting until the photo is judged", &open).await
}

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
) -> Result<Reply> {
    let code = format!("TEST-0-VALID.{run:016x}.{number}");
    let body = json!({ "phone": phone, "code": code, "consent": true, "receipt_id": receipt });
    let open = caller.post(what, SUBMISSIONS, body).await?;
    open.field("/message_key", "receipt_received")
}

async fn accepted(caller: &mut Caller<'_>, what: &'static str, open: &Reply) -> Result<()> {
    let path = format!("{SUBMISSIONS}/{}", open.text("/id")?);
    caller.wait_for(what, &path, "accepted").await
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
