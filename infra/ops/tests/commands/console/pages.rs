//! Search, codes, people and changes.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use common::domain::code_record::CodeKey;
use common::domain::scope::Environment;
use common::domain::submission::{Submission, SubmissionStatus};
use common::random;
use serde_json::{Value, json};

use super::{Served, SignedIn};
use crate::review::{CODE, as_it_is, photo, typed, with_receipt};
use crate::reviewing::{photo_with_gps, upload};
use crate::submission::{submission, waiting, write};
use crate::support::{Stack, chai};

const CODES: &str = "/campaigns/chai-bora-2026/live/codes";
const SCRIPT: &str = "<script>alert(1)</script>";

async fn last_row(stack: &Stack) -> Value {
    let rows = stack.json(&["audit", "list"]).await;
    rows["rows"]
        .as_array()
        .and_then(|rows| rows.last())
        .expect("a row")
        .clone()
}

async fn mint(stack: &Stack, count: &str) -> Vec<String> {
    let mint = [
        "code",
        "mint",
        "--campaign",
        "chai-bora-2026",
        "--environment",
        "live",
        "--count",
        count,
    ];
    stack
        .fine(
            &[
                &mint[..],
                &["--batch", "kettles", "--output", &stack.arg("codes.csv")],
            ]
            .concat(),
        )
        .await;
    let file = std::fs::read_to_string(stack.path("codes.csv")).expect("a file");
    file.lines().skip(1).map(str::to_owned).collect()
}

/// An accepted submission, in the words of an attacker of the browser.
async fn accepted(stack: &Stack) -> Submission {
    let key = CodeKey::Minted(0);
    let accepted = Submission {
        region: Some(SCRIPT.to_owned()),
        request_id: Some("request-7".to_owned()),
        code_key: Some(key.in_scope(&chai(Environment::Live))),
        ..submission(
            random::submission_id(),
            SubmissionStatus::accepted(2, None),
            None,
        )
    };
    write(stack, &accepted, Some(&key)).await;
    accepted
}

/// Searches, and returns the only result's page.
async fn search(operator: &SignedIn<'_>, path: &str, fields: &str) -> String {
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
async fn download(operator: &SignedIn<'_>, path: &str, fields: &str) -> String {
    let SignedIn { console, cookie } = operator;
    let authority = console.authority.clone();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {authority}\r\nCookie: {cookie}\r\nSec-Fetch-Site: same-origin\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{fields}",
        fields.len()
    );
    let asking = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(authority).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).expect("a reply");
        String::from_utf8_lossy(&reply).into_owned()
    });
    asking.await.expect("a reply")
}

#[tokio::test]
async fn any_name_of_a_submission_leads_to_its_timeline() {
    let stack = Stack::with_chai().await;
    let codes = mint(&stack, "2").await;
    let submission = accepted(&stack).await;
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    let (id, reference) = (
        submission.submission_id.to_string(),
        submission.reference().to_string(),
    );
    for what in [&id, &reference] {
        let page = search(&operator, "/search", &format!("what={what}")).await;
        for text in [
            "made: accepted, entered",
            "Made by request request-7",
            "+2557•••••678",
            &id,
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
    }
    let in_request = format!(
        "request=request-7&campaign={}&environment=live",
        submission.scope.campaign
    );
    assert!(
        search(&operator, "/search/request", &in_request)
            .await
            .contains(&reference)
    );
    let of_phone = search(&operator, "/search", "what=0712%20345%20678").await;
    let said = "<p role=\"status\">1 submission of +2557•••••678 found.</p>";
    assert!(
        of_phone.contains(said),
        "one sentence is read out, and no table: {of_phone}"
    );
    assert!(
        of_phone.contains(&reference) && !of_phone.contains("345678"),
        "{of_phone}"
    );
    let of_code = search(&operator, "/search", &format!("what={}", codes[0])).await;
    assert!(
        of_code.contains("redeemed") && of_code.contains(&reference),
        "{of_code}"
    );
    let unused = search(&operator, "/search", &format!("what={}", codes[1])).await;
    assert!(
        unused.contains("unused") && unused.contains("kettles"),
        "{unused}"
    );
    for nothing in [
        "what=AAAA-BBBB-CCCC",
        "what=0754000111",
        "what=",
        "what=K7M2-Q9XD",
        &format!("what={}", random::submission_id()),
    ] {
        let page = search(&operator, "/search", nothing).await;
        assert!(page.contains("Nothing found: no "), "{nothing}: {page}");
    }
}

#[tokio::test]
async fn search_keeps_what_it_was_asked_in_its_box() {
    let stack = Stack::with_chai().await;
    mint(&stack, "1").await;
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    for (asked, kept) in [
        ("PVTX-EU8Q", "PVTX-EU8Q"),
        ("0754+000+111", "0754 000 111"),
        ("%22%3E%3Cb%3E", "&quot;&gt;&lt;b&gt;"),
    ] {
        let page = search(&operator, "/search", &format!("what={asked}")).await;
        assert!(
            page.contains(&format!("name=\"what\" value=\"{kept}\"")),
            "{asked}: {page}"
        );
    }
}

#[tokio::test]
async fn no_text_of_a_consumer_or_an_operator_runs() {
    let stack = Stack::with_chai().await;
    let submission = accepted(&stack).await;
    stack
        .fine(&[
            "submission",
            "revoke",
            &submission.submission_id.to_string(),
            "--why",
            SCRIPT,
        ])
        .await;
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    for path in [
        format!("/submissions/{}", submission.submission_id),
        "/changes".to_owned(),
    ] {
        let page = operator.page(&path).await;
        assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
        assert!(!page.contains("<script>"), "{page}");
    }
    let page = search(
        &operator,
        "/search",
        "what=%3Cscript%3Ealert(1)%3C/script%3E",
    )
    .await;
    assert!(!page.contains("<script>"), "{page}");
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
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    let path = format!("/submissions/{id}");
    let before = operator.page(&path).await;
    assert!(
        !before.contains("345678") && !before.contains(CODE),
        "{before}"
    );
    for (what, shown, hidden) in [
        ("phone", "+255712345678", CODE),
        ("receipt", CODE, "+255712345678"),
    ] {
        let looked = operator.post(&path, &format!("show={what}")).await.text;
        assert!(
            looked.contains(shown) && !looked.contains(hidden),
            "{looked}"
        );
        let row = last_row(&stack).await;
        assert_eq!(
            json!([row["action"], row["subject"]]),
            json!(["submission.show", id])
        );
        let details =
            json!({ "phone": what == "phone", "photo": false, "receipt": what == "receipt" });
        assert_eq!(row["details"], details.to_string());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_photo_is_shown_as_a_copy_after_a_row() {
    let stack = Stack::with_chai().await;
    let waits = with_receipt(&stack, photo(None), as_it_is).await;
    let typed = with_receipt(&stack, typed(), as_it_is).await;
    let path = |of: &Submission| format!("/submissions/{}", of.submission_id);
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    let missing = operator.post(&path(&waits), "show=photo").await;
    assert!(
        missing.status == 422 && missing.text.contains("The photo is not there"),
        "{}",
        missing.text
    );
    upload(&stack, &waits, photo_with_gps()).await;
    assert!(
        operator
            .page(&path(&waits))
            .await
            .contains("Show the photo")
    );
    assert!(
        !operator
            .page(&path(&typed))
            .await
            .contains("Show the photo")
    );
    let copy = download(&operator, &path(&waits), "show=photo").await;
    assert!(
        copy.contains("content-type: image/png") && copy.contains("PNG"),
        "{copy}"
    );
    assert!(
        !copy.contains("GPS") && !copy.contains("behind the picture"),
        "{copy}"
    );
    let row = last_row(&stack).await;
    assert_eq!(
        json!([row["action"], row["subject"]]),
        json!(["submission.show", waits.submission_id])
    );
    assert_eq!(
        row["details"],
        json!({ "phone": false, "photo": true, "receipt": false }).to_string()
    );
}

#[tokio::test]
async fn a_batch_is_void_once_its_name_is_typed() {
    let stack = Stack::with_chai().await;
    let codes = mint(&stack, "2").await;
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    assert!(
        operator
            .page(CODES)
            .await
            .contains("/codes/void?batch=kettles")
    );
    assert!(
        operator
            .page(&format!("{CODES}/void?batch=kettles"))
            .await
            .contains("data-word=\"kettles\"")
    );
    for wrong in [
        "batch=kettles",
        "batch=kettles&typed=yes",
        "batch=kettles&typed=kettle",
    ] {
        let reply = operator.post(&format!("{CODES}/void"), wrong).await;
        assert_eq!(reply.status, 422, "{wrong}");
        assert!(
            reply.text.contains("type exactly `kettles`"),
            "{}",
            reply.text
        );
    }
    let unknown = operator
        .post(&format!("{CODES}/void"), "batch=other&typed=other")
        .await;
    assert_eq!(unknown.status, 404);
    let show = [
        "code",
        "show",
        "--campaign",
        "chai-bora-2026",
        "--environment",
        "live",
        &codes[0],
    ];
    assert_eq!(stack.json(&show).await["code"]["state"], "unused");

    let done = operator
        .post(&format!("{CODES}/void"), "batch=kettles&typed=kettles")
        .await;
    assert_eq!(done.status, 303);
    assert_eq!(stack.json(&show).await["code"]["state"], "void");
    let row = last_row(&stack).await;
    assert_eq!(
        json!([row["action"], row["subject"]]),
        json!(["code.void", "kettles"])
    );
    assert!(
        !operator.page(CODES).await.contains("/codes/void?"),
        "there is nothing left to void"
    );
}

#[tokio::test]
async fn a_person_is_found_handed_over_and_erased() {
    let stack = Stack::with_chai().await;
    let submission = accepted(&stack).await;
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    let phone = "phone=0712%20345%20678";
    assert!(
        operator
            .post("/people", phone)
            .await
            .text
            .contains("chai-bora-2026")
    );
    assert_eq!(operator.post("/people", "phone=12").await.status, 422);

    let file = download(&operator, "/people/export", phone).await;
    for text in [
        "HTTP/1.1 200",
        "content-type: application/zip",
        "content-disposition: attachment; filename=\"person.zip\"",
        // The ZIP is not compressed.
        "person.json",
        &submission.reference().to_string(),
    ] {
        assert!(file.contains(text), "{text}: {file}");
    }
    assert_eq!(last_row(&stack).await["action"], "person.export");

    let erase = async |more: &str| {
        operator
            .post("/people/erase", &format!("{phone}{more}"))
            .await
    };
    let without = erase("&why=&typed=erase").await;
    assert!(
        without.status == 422 && without.text.contains("The reason must be 1 to 500"),
        "{}",
        without.text
    );
    for wrong in ["", "&why=asked", "&why=asked&typed=yes", "&typed=erase"] {
        assert_eq!(erase(wrong).await.status, 422, "{wrong}");
    }
    assert_eq!(last_row(&stack).await["action"], "person.export");
    let done = erase("&why=asked+by+letter&typed=erase").await;
    assert!(
        done.text
            .contains("+2557•••••678 is erased from chai-bora-2026"),
        "{}",
        done.text
    );
    let row = last_row(&stack).await;
    assert_eq!(
        json!([row["action"], row["why"]]),
        json!(["person.erase", "asked by letter"])
    );
    assert!(
        operator
            .post("/people", phone)
            .await
            .text
            .contains("the person is erased")
    );
}

#[tokio::test]
async fn changes_are_listed_newest_first_and_by_campaign() {
    let stack = Stack::with_chai().await;
    stack.fine(&["campaign", "pause", "chai-bora-2026"]).await;
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    let page = operator.page("/changes").await;
    let (pause, apply) = (page.find("campaign.pause"), page.find("campaign.apply"));
    assert!(pause.is_some() && pause < apply, "{page}");
    assert!(
        operator
            .page("/changes?campaign=chai-bora-2026")
            .await
            .contains("campaign.pause")
    );
    let none = operator
        .page("/changes?from=2020-01-01&to=2020-01-02")
        .await;
    assert!(none.contains("no such rows"), "{none}");
    for wrong in ["from=2026-03-02&to=2026-03-01", "from=yesterday"] {
        let reply = operator
            .ask("GET", &format!("/changes?{wrong}"))
            .send()
            .await;
        assert_eq!(reply.status, 422, "{wrong}");
    }
}
