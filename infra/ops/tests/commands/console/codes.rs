//! Codes that are minted and imported on their pages.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use service_tests::text::{fields, list_of, text_of};

use super::SignedIn;
use super::keys::mark_in;
use super::pages::download;
use crate::code::imported::random_looking;
use crate::support::Stack;

const CODES: &str = "/campaigns/chai-bora-2026/live/codes";
const SCOPE: &str = "--campaign chai-bora-2026 --environment live";

async fn minted(operator: &SignedIn, fields: &str) -> String {
    let mark = mark_in(&operator.page(CODES).await);
    let fields = format!("{mark}&{fields}");
    operator.followed(&format!("{CODES}/mint"), &fields).await
}

fn codes_of(file: &str) -> Vec<&str> {
    let lines = file
        .lines()
        .filter(|line| line.len() == "AB12-CD34-EF56".len());
    lines
        .filter(|line| line.matches('-').count() == 2)
        .collect()
}

async fn state_of(stack: &Stack, code: &str) -> String {
    let shown = stack.json(format!("code show {SCOPE} {code}")).await;
    fields(&shown, "code.state")
}

#[tokio::test]
async fn minted_codes_are_downloaded_once_and_valid_after_it() {
    let stack = crate::roles::guarded_stack().await;
    let operator = SignedIn::with_role(&stack, "operator").await;
    let page = minted(&operator, "count=3&batch=kettles&prize=A+kettle").await;
    assert_contains!(
        page,
        "A kettle",
        "One guess in ",
        " million million would be right",
        "Download the codes"
    );
    assert_lacks!(page, "make the codes valid</button>");
    let early = operator
        .post_for(422, &format!("{CODES}/activate"), "batch=kettles")
        .await;
    assert_contains!(early.text, "their file was not downloaded");

    let file = download(&operator, &format!("{CODES}/download"), "batch=kettles").await;
    assert_contains!(
        file,
        "content-disposition: attachment; filename=\"kettles.csv\"",
        "code\n"
    );
    let codes = codes_of(&file);
    assert_eq!(codes.len(), 3, "{file}");
    assert_eq!(state_of(&stack, codes[0]).await, "reserved");
    let again = operator
        .post_for(422, &format!("{CODES}/download"), "batch=kettles")
        .await;
    assert_contains!(again.text, "The codes were downloaded before");
    assert_lacks!(again.text, codes[0]);

    let page = operator
        .followed(&format!("{CODES}/activate"), "batch=kettles")
        .await;
    assert_contains!(page, "These codes count");
    assert_eq!(state_of(&stack, codes[0]).await, "unused");
    let page = operator
        .followed(&format!("{CODES}/activate"), "batch=kettles")
        .await;
    assert_contains!(page, "These codes count");
    let listed = operator.page(CODES).await;
    assert_contains!(listed, "kettles", "A kettle", "submissions?batch=kettles");
    let rows = stack.audit_rows().await;
    let actions: Vec<_> = rows.iter().map(|row| text_of(&row["action"])).collect();
    assert!(
        actions.ends_with(&["code.mint", "code.download", "code.activate"]),
        "{actions:?}"
    );
    assert_lacks!(stack.last_audit_row().await.to_string(), codes[0]);
}

#[tokio::test]
async fn batch_of_an_ended_console_is_made_valid_with_its_file() {
    let stack = Stack::with_chai().await;
    let first = SignedIn::to(&stack).await;
    minted(&first, "count=3&batch=kettles").await;
    minted(&first, "count=3&batch=lost").await;
    let file = download(&first, &format!("{CODES}/download"), "batch=kettles").await;
    let code = codes_of(&file)[0];
    let next = SignedIn::to(&stack).await;
    let activate = format!("{CODES}/activate");
    let early = next.post_for(422, &activate, "batch=lost").await;
    assert_contains!(early.text, "their file was not downloaded");
    let page = next.page(&format!("{CODES}/minted?batch=kettles")).await;
    assert_contains!(page, "asha downloaded its file", "make the codes valid");
    let page = next.followed(&activate, "batch=kettles").await;
    assert_contains!(page, "These codes count");
    assert_eq!(state_of(&stack, code).await, "unused");
}

#[tokio::test]
async fn a_download_that_broke_off_can_be_repeated_or_withdrawn() {
    let stack = Stack::with_chai().await;
    let operator = SignedIn::to(&stack).await;
    // More than all buffers on the way.
    minted(&operator, "count=2000000&batch=many").await;
    let (authority, cookie) = (operator.authority.clone(), operator.cookie.clone());
    let asking = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(&authority).expect("it listens");
        let request = format!(
            "POST {CODES}/download HTTP/1.1\r\nHost: {authority}\r\nCookie: {cookie}\r\nSec-Fetch-Site: same-origin\r\n\
             Content-Length: 10\r\n\r\nbatch=many"
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut first = [0; 1024];
        stream.read_exact(&mut first).expect("a part");
    });
    asking.await.expect("it is broken off");
    // The console notices that the browser is gone once it writes.
    let page = format!("{CODES}/minted?batch=many");
    while operator
        .page(&page)
        .await
        .contains("It is being downloaded")
    {
        tokio::task::yield_now().await;
    }
    assert_contains!(operator.page(&page).await, "Download the codes");
    let done = operator
        .followed(&format!("{CODES}/withdraw"), "batch=many")
        .await;
    assert_contains!(done, "The batch is void");
    let gone = operator
        .followed(&format!("{CODES}/download"), "batch=many")
        .await;
    assert_contains!(gone, "The batch is void");
}

#[tokio::test]
async fn a_mint_form_counts_once_and_weak_codes_are_refused() {
    let stack = Stack::with_chai().await;
    let operator = SignedIn::to(&stack).await;
    let mark = mark_in(&operator.page(CODES).await);
    let mint = format!("{CODES}/mint");
    let weak = format!("{mark}&count=900000&length=8&alphabet=digits");
    let refused = operator.post_for(422, &mint, &weak).await;
    assert_contains!(refused.text, "is accepted; mint fewer", "tick “even if”");
    assert_lacks!(refused.text, "--");
    for wrong in [
        "count=0",
        "count=many",
        "count=2&length=4",
        "count=2&alphabet=runes",
        "count=2&batch=a%20b",
    ] {
        operator
            .post_for(422, &mint, &format!("{mark}&{wrong}"))
            .await;
    }
    let good = format!("{mark}&count=2");
    operator.post_for(303, &mint, &good).await;
    let again = operator.post_for(422, &mint, &good).await;
    assert_contains!(again.text, "This form was sent before");
    let batches = stack.json(format!("code batches {SCOPE}")).await;
    assert_eq!(list_of(&batches["batches"]).len(), 1);
}

/// Sends a chosen file, and returns the reply's status and where it leads, or its text.
async fn choose(operator: &SignedIn, name: &str, file: &[u8], more: &str) -> (u16, String) {
    let mut body = Vec::new();
    let mut add = |heading: &str, content: &[u8]| {
        body.extend_from_slice(b"--part\r\nContent-Disposition: form-data; ");
        body.extend_from_slice(heading.as_bytes());
        body.extend_from_slice(b"\r\n\r\n");
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    };
    for (field, value) in form_urlencoded(more) {
        add(&format!("name=\"{field}\""), value.as_bytes());
    }
    add(&format!("name=\"file\"; filename=\"{name}\""), file);
    body.extend_from_slice(b"--part--\r\n");
    let reply = operator
        .ask("POST", &format!("{CODES}/import"))
        .header("content-type", "multipart/form-data; boundary=part")
        .raw(body)
        .await;
    let place = reply.headers.get("location");
    let text = place.map_or(reply.text.clone(), |place| {
        place.to_str().expect("text").to_owned()
    });
    (reply.status.as_u16(), text)
}

fn form_urlencoded(fields: &str) -> Vec<(String, String)> {
    let pairs = fields.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chosen_file_is_described_and_imported_after_a_confirmation() {
    let stack = crate::roles::guarded_stack().await;
    let operator = SignedIn::with_role(&stack, "operator").await;
    let file = random_looking(300, 11);
    let (status, place) = choose(
        &operator,
        "codes.csv",
        file.as_bytes(),
        "batch=printed&prize=A mug",
    )
    .await;
    assert_eq!(status, 303, "{place}");
    let page = operator.page(&place).await;
    assert_contains!(
        page,
        "Import of codes.csv",
        "The file has 300 codes",
        "Import 300 codes",
        "(line 1)",
        "would be right"
    );
    assert_eq!(
        stack.last_audit_row().await["action"],
        "campaign.apply",
        "nothing is written"
    );

    let (first, second) = tokio::join!(operator.post(&place, ""), operator.post(&place, ""));
    assert_eq!([first.status.as_u16(), second.status.as_u16()], [303, 303]);
    let mut page = operator.page(&place).await;
    while page.contains("lines are imported") {
        assert_contains!(page, "data-renewed");
        page = operator.page(&place).await;
    }
    assert_contains!(
        page,
        "Imported 300 codes as batch printed; 0 were there before."
    );
    let rows = stack.audit_rows().await;
    let imports = rows.iter().filter(|row| row["action"] == "code.import");
    assert_eq!(imports.count(), 1);
    let code = file.lines().next().expect("a code");
    assert_eq!(state_of(&stack, code).await, "unused");
    let (_, place) = choose(&operator, "codes.csv", file.as_bytes(), "batch=printed").await;
    assert_contains!(operator.page(&place).await, "there is nothing to import");
}

#[tokio::test]
async fn what_is_wrong_with_a_file_is_told_by_its_lines() {
    let stack = Stack::with_chai().await;
    let operator = SignedIn::to(&stack).await;
    let workbook = b"PK\x03\x04\x14\x00\x06\x00";
    for (name, file, why) in [
        (
            "codes.xlsx",
            &workbook[..],
            "codes.xlsx:1: this is an Excel workbook: save the sheet as CSV UTF-8",
        ),
        (
            "codes.csv",
            b"AB12CD34\n1.2E+11\n",
            "codes.csv:2: this is a long number that a spreadsheet shortened",
        ),
        (
            "codes.csv",
            b"a,b\n1,2\n",
            "name the heading of the one with the codes with the heading",
        ),
        ("codes.csv", b"AB12CD34\n", "the list has 1 codes"),
        ("", b"", "choose a file"),
    ] {
        let (status, text) = choose(&operator, name, file, "").await;
        assert_eq!(status, 422, "{name}: {text}");
        assert_contains!(text.to_lowercase(), why.to_lowercase());
        assert_lacks!(text, "--", "/tmp/", "AB12CD34");
    }
    assert_eq!(
        operator
            .status("GET", &format!("{CODES}/import/0123456789abcdef"))
            .await,
        422
    );
    assert_eq!(stack.last_audit_row().await["action"], "campaign.apply");
}

#[tokio::test]
async fn a_viewer_sees_batches_and_why_none_can_be_minted() {
    let stack = crate::roles::guarded_stack().await;
    stack.mint("2 --batch kettles").await;
    let viewer = SignedIn::with_role(&stack, "viewer").await;
    let page = viewer.page(CODES).await;
    assert_contains!(
        page,
        "kettles",
        "Minting, importing or voiding codes takes the role <b>operator</b>"
    );
    assert_lacks!(page, "Void", "<button>Mint");
}
