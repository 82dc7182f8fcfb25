//! Search, codes, people and changes.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use common::domain::submission::{Submission, SubmissionStatus};
use common::random;
use serde_json::json;
use service_tests::text::fields;

use super::SignedIn;
use crate::review::{CODE, as_it_is, photo, typed, with_receipt};
use crate::reviewing::{photo_with_gps, upload};
use crate::submission::{holding, submission, waiting};
use crate::support::{CHAI, Stack};

const CODES: &str = "/campaigns/chai-bora-2026/live/codes";
const SCRIPT: &str = "<script>alert(1)</script>";

/// An accepted submission, in the words of an attacker of the browser.
async fn accepted(stack: &Stack) -> Submission {
    let accepted = Submission {
        region: Some(SCRIPT.to_owned()),
        request_id: Some("request-7".to_owned()),
        ..submission(SubmissionStatus::accepted(2, None), None)
    };
    holding(stack, 0, accepted).await
}

/// Searches, and returns the only result's page.
async fn search(operator: &SignedIn, path: &str, fields: &str) -> String {
    let reply = operator.post(path, fields).await;
    match reply.headers.get("location") {
        Some(place) => operator.page(place.to_str().expect("text")).await,
        None => {
            assert_eq!(reply.status, 200, "{}", reply.text);
            reply.text
        }
    }
}

/// A reply that is no text, with headers. The console answers on this thread, so another one asks.
pub(super) async fn download(operator: &SignedIn, path: &str, fields: &str) -> String {
    let reply = downloaded(operator, "POST", path, fields).await;
    String::from_utf8_lossy(&reply).into_owned()
}

pub(super) async fn downloaded(
    operator: &SignedIn,
    method: &str,
    path: &str,
    fields: &str,
) -> Vec<u8> {
    let (authority, cookie) = (operator.authority.clone(), &operator.cookie);
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {authority}\r\nCookie: {cookie}\r\nSec-Fetch-Site: same-origin\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{fields}",
        fields.len()
    );
    let asking = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(authority).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).expect("a reply");
        reply
    });
    asking.await.expect("a reply")
}

#[tokio::test]
async fn any_name_of_a_submission_leads_to_its_timeline() {
    let stack = Stack::with_chai().await;
    let codes = stack.mint("2 --batch kettles").await;
    let submission = accepted(&stack).await;
    let operator = SignedIn::to(&stack).await;
    let (id, reference) = (
        submission.submission_id.to_string(),
        submission.reference().to_string(),
    );
    for what in [&id, &reference] {
        let page = search(&operator, "/search", &format!("what={what}")).await;
        assert_contains!(
            page,
            "made: accepted, entered",
            "Made by request request-7",
            "+2557•••••678",
            id
        );
    }
    let in_request = format!(
        "request=request-7&campaign={}&environment=live",
        submission.scope.campaign
    );
    assert_contains!(
        search(&operator, "/search/request", &in_request).await,
        reference
    );
    let of_phone = search(&operator, "/search", "what=0712%20345%20678").await;
    let said = "<p role=\"status\">1 submission of +2557•••••678 found.</p>";
    assert_contains!(of_phone, said, reference);
    assert_lacks!(of_phone, "345678");
    let of_code = search(&operator, "/search", &format!("what={}", codes[0])).await;
    assert_contains!(of_code, "redeemed", reference);
    let unused = search(&operator, "/search", &format!("what={}", codes[1])).await;
    assert_contains!(unused, "unused", "kettles");
    for nothing in [
        "what=AAAA-BBBB-CCCC",
        "what=0754000111",
        "what=",
        "what=K7M2-Q9XD",
        &format!("what={}", random::submission_id()),
    ] {
        let page = search(&operator, "/search", nothing).await;
        assert_contains!(page, "Nothing found: no ");
    }
}

#[tokio::test]
async fn search_keeps_what_it_was_asked_in_its_box() {
    let stack = Stack::with_chai().await;
    stack.mint("1 --batch kettles").await;
    let operator = SignedIn::to(&stack).await;
    for (asked, kept) in [
        ("PVTX-EU8Q", "PVTX-EU8Q"),
        ("0754+000+111", "0754 000 111"),
        ("%22%3E%3Cb%3E", "&quot;&gt;&lt;b&gt;"),
    ] {
        let page = search(&operator, "/search", &format!("what={asked}")).await;
        assert_contains!(page, format!("name=\"what\" value=\"{kept}\""));
    }
}

#[tokio::test]
async fn no_text_of_a_consumer_or_an_operator_runs() {
    let stack = Stack::empty().await;
    stack.apply(CHAI.replace("Chai Bora Shinda", SCRIPT)).await;
    let submission = accepted(&stack).await;
    stack
        .fine(format!(
            "submission revoke {} --why {SCRIPT}",
            submission.submission_id
        ))
        .await;
    let operator = SignedIn::to(&stack).await;
    for path in [
        format!("/submissions/{}", submission.submission_id),
        "/changes".to_owned(),
        "/".to_owned(),
        "/campaigns/chai-bora-2026/live".to_owned(),
    ] {
        let page = operator.page(&path).await;
        assert_contains!(page, "&lt;script&gt;alert(1)");
        assert_lacks!(page, "<script>");
    }
    let page = search(
        &operator,
        "/search",
        "what=%3Cscript%3Ealert(1)%3C/script%3E",
    )
    .await;
    assert_lacks!(page, "<script>");
}

/// The last row of the audit log is a look at this part of a submission.
async fn assert_looked(stack: &Stack, id: &str, part: &str) {
    let row = stack.last_audit_row().await;
    let seen = ["phone", "photo", "receipt"].map(|name| (name.to_owned(), json!(name == part)));
    let details = serde_json::Map::from_iter(seen);
    let expected = format!("submission.show {id} {}", json!(details));
    assert_eq!(fields(&row, "action subject details"), expected);
}

#[tokio::test]
async fn a_phone_and_a_receipt_are_shown_only_after_a_row() {
    let stack = Stack::with_chai().await;
    let waits = with_receipt(&stack, typed(), |waits| Submission {
        status: waiting(),
        ..waits
    })
    .await;
    let id = waits.submission_id.to_string();
    let operator = SignedIn::to(&stack).await;
    let path = format!("/submissions/{id}");
    let before = operator.page(&path).await;
    assert_lacks!(before, "345678", CODE);
    for (what, shown, hidden) in [
        ("phone", "+255712345678", CODE),
        ("receipt", CODE, "+255712345678"),
    ] {
        let looked = operator.post(&path, &format!("show={what}")).await.text;
        assert_contains!(looked, shown);
        assert_lacks!(looked, hidden);
        assert_looked(&stack, &id, what).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_photo_is_shown_as_a_copy_after_a_row() {
    let stack = Stack::with_chai().await;
    let waits = with_receipt(&stack, photo(None), as_it_is).await;
    let typed = with_receipt(&stack, typed(), as_it_is).await;
    let path = |of: &Submission| format!("/submissions/{}", of.submission_id);
    let operator = SignedIn::to(&stack).await;
    let missing = operator.post_for(422, &path(&waits), "show=photo").await;
    assert_contains!(missing.text, "The photo is not there");
    upload(&stack, &waits, photo_with_gps()).await;
    assert_contains!(operator.page(&path(&waits)).await, "Show the photo");
    assert_lacks!(operator.page(&path(&typed)).await, "Show the photo");
    let copy = download(&operator, &path(&waits), "show=photo").await;
    assert_contains!(copy, "content-type: image/jpeg", "JFIF");
    assert_lacks!(copy, "GPS", "behind the picture");
    assert_looked(&stack, &waits.submission_id.to_string(), "photo").await;
}

#[tokio::test]
async fn a_batch_is_void_once_its_name_is_typed() {
    let stack = Stack::with_chai().await;
    let codes = stack.mint("2 --batch kettles").await;
    let operator = SignedIn::to(&stack).await;
    assert_contains!(operator.page(CODES).await, "/codes/void?batch=kettles");
    assert_contains!(
        operator.page(&format!("{CODES}/void?batch=kettles")).await,
        "data-word=\"kettles\""
    );
    for wrong in [
        "batch=kettles",
        "batch=kettles&typed=yes",
        "batch=kettles&typed=kettle",
    ] {
        let reply = operator
            .post_for(422, &format!("{CODES}/void"), wrong)
            .await;
        assert_contains!(reply.text, "type exactly `kettles`");
    }
    operator
        .post_for(404, &format!("{CODES}/void"), "batch=other&typed=other")
        .await;
    let show = format!(
        "code show --campaign chai-bora-2026 --environment live {}",
        codes[0]
    );
    assert_eq!(stack.json(&show).await["code"]["state"], "unused");

    operator
        .post_for(303, &format!("{CODES}/void"), "batch=kettles&typed=kettles")
        .await;
    assert_eq!(stack.json(&show).await["code"]["state"], "void");
    let row = stack.last_audit_row().await;
    assert_eq!(fields(&row, "action subject"), "code.void kettles");
    assert_lacks!(operator.page(CODES).await, "/codes/void?");
}

#[tokio::test]
async fn a_person_is_found_handed_over_and_erased() {
    let stack = Stack::with_chai().await;
    let submission = accepted(&stack).await;
    let operator = SignedIn::to(&stack).await;
    let phone = "phone=0712%20345%20678";
    assert_contains!(operator.post("/people", phone).await.text, "chai-bora-2026");
    operator.post_for(422, "/people", "phone=12").await;

    let file = download(&operator, "/people/export", phone).await;
    // The ZIP file is not compressed.
    assert_contains!(
        file,
        "HTTP/1.1 200",
        "content-type: application/zip",
        "content-disposition: attachment; filename=\"person.zip\"",
        "person.json",
        submission.reference().to_string()
    );
    assert_eq!(stack.last_audit_row().await["action"], "person.export");

    let erase = async |more: &str| {
        operator
            .post("/people/erase", &format!("{phone}{more}"))
            .await
    };
    let without = erase("&why=&typed=erase").await;
    assert_contains!(without.text, "The reason must be 1 to 500");
    for wrong in [
        "",
        "&why=asked",
        "&why=asked&typed=yes",
        "&typed=erase",
        "&why=&typed=erase",
    ] {
        assert_eq!(erase(wrong).await.status, 422, "{wrong}");
    }
    assert_eq!(stack.last_audit_row().await["action"], "person.export");
    let done = erase("&why=asked+by+letter&typed=erase").await;
    assert_contains!(done.text, "+2557•••••678 is erased from chai-bora-2026");
    let row = stack.last_audit_row().await;
    assert_eq!(fields(&row, "action why"), "person.erase asked by letter");
    let found = operator.post("/people", phone).await.text;
    assert_contains!(found, "the person is erased");
}

#[tokio::test]
async fn changes_are_listed_newest_first_and_by_campaign() {
    let stack = Stack::with_chai().await;
    stack.fine("campaign pause chai-bora-2026").await;
    let operator = SignedIn::to(&stack).await;
    let page = operator.page("/changes").await;
    let (pause, apply) = (page.find("campaign.pause"), page.find("campaign.apply"));
    assert!(pause.is_some() && pause < apply, "{page}");
    assert_contains!(
        operator.page("/changes?campaign=chai-bora-2026").await,
        "campaign.pause"
    );
    for (filter, shown, hidden) in [
        ("action=campaign.pause", "campaign.pause", "campaign.apply"),
        ("who=asha&action=campaign", "campaign.apply", "no such rows"),
        ("who=juma", "no such rows", "campaign.apply"),
        ("about=K7M2-Q9XD", "no such rows", "campaign.apply"),
    ] {
        let page = operator.page(&format!("/changes?{filter}")).await;
        assert_contains!(page, shown);
        assert_lacks!(page, hidden);
    }
    let none = operator
        .page("/changes?from=2020-01-01&to=2020-01-02")
        .await;
    assert_contains!(none, "no such rows");
    for wrong in ["from=2026-03-02&to=2026-03-01", "from=yesterday"] {
        let path = format!("/changes?{wrong}");
        assert_eq!(operator.status("GET", &path).await, 422, "{wrong}");
    }
}
