//! Bodies that are no JSON object, for every endpoint that takes one.

use insta::assert_snapshot;
use serde_json::{Value, json};
use service_tests::attempt::Attempt;
use service_tests::campaign::{TestCampaign, phone};
use service_tests::http::{Reply, RequestBuilder};

const OTHERS: [&str; 2] = ["/api/v1/codes/check", "/api/v1/submissions/lookup"];

const MAX_BYTES: usize = 64 * 1024;

/// The refusal that names no field.
const WHOLE: &str = "422 validation_failed";

/// Changes a valid request alike for every endpoint; returns the last reply.
async fn spoil(
    campaign: &TestCampaign,
    number: u32,
    change: impl Fn(RequestBuilder) -> RequestBuilder,
) -> Reply {
    for path in OTHERS {
        let body = json!({ "code": campaign.code(1), "phone": phone(number) });
        let reply = change(campaign.test("POST", path).json(&body)).await;
        assert_eq!(reply.refusal(), WHOLE, "{path}");
    }
    let attempt = Attempt::new(campaign, number);
    let bad = change(attempt.good());
    let reply = attempt.assert_rejected_without_effect(bad).await;
    assert_eq!(reply.refusal(), WHOLE, "{number}");
    reply
}

/// What the error of a [`spoil`]ed request says.
fn message(reply: &Reply) -> String {
    reply.fields("error.message")
}

/// A valid body, padded with spaces.
fn padded(body: &Value, bytes: usize) -> Vec<u8> {
    let mut text = body.to_string().into_bytes();
    text.resize(bytes, b' ');
    text
}

#[tokio::test]
async fn what_is_not_json_is_refused_and_leaves_nothing() {
    let campaign = TestCampaign::plain().await;
    let deep = |open: &str, depth: usize| open.repeat(depth).into_bytes();
    let closed = format!("{{\"x\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let bodies: [(&str, Vec<u8>); 29] = [
        ("spaces", b"   \r\n\t".to_vec()),
        ("words", b"not JSON".to_vec()),
        ("a form", b"phone=0712345678&consent=true".to_vec()),
        ("XML", b"<submission/>".to_vec()),
        ("half an object", b"{\"phone\":\"0712".to_vec()),
        ("an object and more", b"{}{}".to_vec()),
        ("a comma too many", b"{\"phone\":\"0712345678\",}".to_vec()),
        ("single quotes", b"{'phone':'0712345678'}".to_vec()),
        ("a comment", b"{/* */}".to_vec()),
        ("a bare name", b"{phone:1}".to_vec()),
        ("NaN", b"{\"phone\":NaN}".to_vec()),
        ("a leading zero", b"{\"phone\":0712345678}".to_vec()),
        ("a number beyond all", b"{\"phone\":1e400}".to_vec()),
        ("minus a number beyond all", b"{\"phone\":-1e400}".to_vec()),
        ("a raw line break", b"{\"phone\":\"0712\n345678\"}".to_vec()),
        ("a raw NUL", b"{\"phone\":\"0712345678\0\"}".to_vec()),
        ("NUL alone", b"\0".to_vec()),
        ("invalid UTF-8", b"{\"phone\":\"\xff\xfe\"}".to_vec()),
        ("overlong UTF-8", b"{\"phone\":\"\xc0\xaf\"}".to_vec()),
        (
            "a surrogate in UTF-8",
            b"{\"phone\":\"\xed\xa0\x80\"}".to_vec(),
        ),
        ("half a surrogate pair", b"{\"phone\":\"\\ud83e\"}".to_vec()),
        ("an unknown escape", b"{\"phone\":\"\\x41\"}".to_vec()),
        (
            "UTF-16",
            "{}".encode_utf16().flat_map(u16::to_le_bytes).collect(),
        ),
        ("a byte order mark", b"\xef\xbb\xbf{}".to_vec()),
        ("lists without end", deep("[", 60_000)),
        ("objects without end", deep("{\"a\":", 12_000)),
        ("lists in lists", closed.into_bytes()),
        (
            "lists 100,000 deep",
            [deep("[", 100_000), deep("]", 100_000)].concat(),
        ),
        ("compressed", b"\x1f\x8b\x08\0\0\0\0\0".to_vec()),
    ];
    for ((kind, body), number) in bodies.into_iter().zip(1..) {
        println!("{number} is {kind}");
        spoil(&campaign, number, |good| good.raw(body.clone())).await;
    }
}

#[tokio::test]
async fn json_of_another_kind_is_refused_and_leaves_nothing() {
    let campaign = TestCampaign::plain().await;
    let kinds = [
        "null",
        "true",
        "7",
        "-0.5e10",
        "\"{}\"",
        "[]",
        "[{\"phone\":\"0712345678\"}]",
    ];
    for (body, number) in kinds.into_iter().zip(1..) {
        let reply = spoil(&campaign, number, |good| good.raw(body)).await;
        let expected =
            "The request is not in the expected shape. The body is JSON, but not an object.";
        assert_eq!(message(&reply), expected, "{body}");
    }
    let reply = spoil(&campaign, 20, |good| good.raw("7")).await;
    assert_snapshot!(reply.snapshot(), @r#"
    422 {
      "error": {
        "code": "validation_failed",
        "docs_url": "[docs]",
        "fix": "Send one JSON object of at most 64 KiB, in UTF-8 and with `Content-Type: application/json`.",
        "message": "The request is not in the expected shape. The body is JSON, but not an object.",
        "request_id": "[request id]"
      }
    }
    "#);
}

#[tokio::test]
async fn the_error_says_where_the_json_ends_to_be_json() {
    let campaign = TestCampaign::plain().await;
    let reply = spoil(&campaign, 1, |good| good.raw("{\n  \"phone\": oops\n}")).await;
    assert_eq!(
        message(&reply),
        "The request is not in the expected shape. The body is not valid JSON (line 2, column 12)."
    );
    let reply = spoil(&campaign, 2, |good| good.raw("")).await;
    assert_eq!(
        message(&reply),
        "The request is not in the expected shape. The body is empty; send a JSON object."
    );
}

#[tokio::test]
async fn a_body_is_at_most_64_kib() {
    let campaign = TestCampaign::plain().await;
    let attempt = Attempt::new(&campaign, 1);
    let largest = attempt.good().raw(padded(&attempt.body(), MAX_BYTES)).await;
    assert_eq!(largest.field("message_key"), "entered");
    for (bytes, number) in [MAX_BYTES + 1, 1024 * 1024, 5 * 1024 * 1024]
        .into_iter()
        .zip(2..)
    {
        let body = Attempt::new(&campaign, number).body();
        let reply = spoil(&campaign, number, |good| good.raw(padded(&body, bytes))).await;
        let expected = "The request is not in the expected shape. The body is over 64 KiB.";
        assert_eq!(message(&reply), expected, "{bytes} bytes");
    }
    spoil(&campaign, 9, |good| good.raw(vec![b'x'; 5_000_000])).await;
}

#[tokio::test]
async fn the_content_type_has_to_be_json() {
    let campaign = TestCampaign::plain().await;
    let types: [&[u8]; 10] = [
        b"",
        b"json",
        b"text/plain",
        b"text/json",
        b"application/x-www-form-urlencoded",
        b"multipart/form-data; boundary=x",
        b"application/jsonp",
        b"application/problem+json",
        b"application/json, application/json",
        b"application/json\xe9",
    ];
    for (content_type, number) in types.into_iter().zip(1..) {
        let change = |good: RequestBuilder| {
            good.without("content-type")
                .header("content-type", content_type)
        };
        let reply = spoil(&campaign, number, change).await;
        let expected = "The request is not in the expected shape. Send it with \
                        `Content-Type: application/json`.";
        assert_eq!(message(&reply), expected, "{}", content_type.escape_ascii());
    }
    spoil(&campaign, 20, |good| good.without("content-type")).await;
    spoil(&campaign, 21, |good| {
        good.header("content-type", "application/json")
    })
    .await;
}

#[tokio::test]
async fn content_type_may_have_parameters_and_any_case() {
    let campaign = TestCampaign::plain().await;
    let types = [
        "application/json; charset=utf-8",
        "APPLICATION/JSON",
        "application/json ;q",
        "Application/Json;",
    ];
    for (content_type, number) in types.into_iter().zip(1..) {
        let sending = Attempt::new(&campaign, number)
            .good()
            .without("content-type");
        let reply = sending.header("content-type", content_type).await;
        assert_eq!(reply.field("message_key"), "entered", "{content_type}");
    }
}
