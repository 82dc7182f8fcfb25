//! `POST /api/v1/submissions`: invalid fields, one by one and in the checks' order.

use common::domain::campaign::CodePolicy;
use insta::assert_snapshot;
use serde_json::{Value, json};
use service_tests::attempt::Attempt;
use service_tests::campaign::{TestCampaign, body, fresh_key, phone};
use service_tests::http::RequestBuilder;

fn list(values: Value) -> Vec<Value> {
    serde_json::from_value(values).expect("a list")
}

/// Sends each of these values in a field of a valid request: refused without effect.
async fn spoil(field: &str, values: Value, expected: &str) {
    let campaign = TestCampaign::plain().await;
    for (value, number) in list(values).into_iter().zip(1..) {
        let attempt = Attempt::new(&campaign, number);
        let body = attempt.body_with(field, value.clone());
        let reply = attempt
            .assert_rejected_without_effect(attempt.good().json(&body))
            .await;
        assert_eq!(reply.refusal(), expected, "{field} = {value}");
    }
}

/// Sends each of these values in a field of a valid request: enters.
async fn accept(field: &str, values: Value) {
    let campaign = TestCampaign::plain().await;
    for (value, number) in list(values).into_iter().zip(1..) {
        let attempt = Attempt::new(&campaign, number);
        let reply = attempt
            .good()
            .json(&attempt.body_with(field, value.clone()))
            .await;
        assert_eq!(reply.status, 200, "{field} = {value}: {}", reply.text);
        assert_eq!(reply.field("message_key"), "entered", "{field} = {value}");
    }
}

#[tokio::test]
async fn a_phone_of_the_wrong_shape_is_named() {
    let wrong = json!([
        null, 712_345_678, 1e300, true, ["0712345678"], { "number": "0712345678" }, "", "07123456",
        "  07123456\n", "0712\u{200b}\u{2060}3456", "+255 712 345 6789", "é".repeat(17),
    ]);
    spoil("phone", wrong, "422 validation_failed phone").await;
}

#[tokio::test]
async fn phone_of_the_right_length_has_to_be_tanzanian() {
    let wrong = json!([
        "712345678",
        "+254712345678",
        "0812345678",
        "0602345678",
        "07123456789",
        "+2550712345678",
        "00255712345678",
        "0712E45678",
        "٠٧١٢٣٤٥٦٧٨",
        "é".repeat(9),
        "é".repeat(16),
        "0712345678\u{0}",
        "0712\u{1b}345678",
        "071234567\u{85}",
        "0712_345678"
    ]);
    spoil("phone", wrong, "422 phone_invalid phone").await;
}

#[tokio::test]
async fn a_phone_is_read_however_it_was_typed_or_pasted() {
    let typed = |number: u32| phone(number).replace("+255", "0");
    let spellings: [fn(&str) -> String; 3] = [
        |phone| format!("\u{feff}{phone}\u{200b}\n"),
        |phone| format!("({}) \u{2013} {}", &phone[..4], &phone[4..]),
        // More than 16 characters before stripping.
        |phone| format!("\u{2066}\u{2066}\u{2066}   {phone}   \u{2069}\u{2069}\u{2069}"),
    ];
    let campaign = TestCampaign::plain().await;
    for (spelling, number) in spellings.iter().zip(1..) {
        let attempt = Attempt::new(&campaign, number);
        let spelt = spelling(&typed(number));
        let reply = attempt
            .good()
            .json(&attempt.body_with("phone", json!(spelt)))
            .await;
        assert_eq!(reply.status, 200, "{spelt:?}: {}", reply.text);
        let lookup = campaign
            .lookup(&spelt)
            .header("svc-client-ip", format!("10.{number}.2.2"));
        let found = lookup.await;
        assert_eq!(
            found.field("submissions")[0]["id"],
            reply.field("id"),
            "{spelt:?}: {}",
            found.text
        );
    }
}

#[tokio::test]
async fn a_code_is_1_to_64_characters() {
    let wrong = json!([
        7,
        10_u64.pow(18),
        false,
        ["x"],
        {},
        "",
        "x".repeat(65),
        "é".repeat(65),
        "🫖".repeat(65),
        "a\u{0}b",
        "a\u{1b}[31m",
        " \t\n ",
        "\u{200b}\u{feff}",
        "- \u{2014}\u{2212}\u{ad}-"
    ]);
    spoil("code", wrong, "422 validation_failed code").await;
    // 64 characters but more bytes: wrong, not invalid.
    let campaign = TestCampaign::plain().await;
    for (code, number) in ["x".repeat(64), "é".repeat(64), "🫖".repeat(64)]
        .iter()
        .zip(1..)
    {
        assert_eq!(campaign.outcome(&phone(number), code).await, "invalid");
    }
    // Stripped characters do not count.
    let padded = format!(" \n{}\u{200b}{}\t", "x".repeat(32), "x".repeat(32));
    assert_eq!(campaign.outcome(&phone(4), &padded).await, "invalid");
}

fn full_width(ascii: char) -> char {
    char::from_u32(u32::from(ascii) + 0xfee0).expect("a character")
}

#[tokio::test]
async fn a_code_is_the_same_however_it_was_typed_or_pasted() {
    let spellings: [fn(&str) -> String; 3] = [
        |code| format!("\u{feff}\t{} \n", code.to_lowercase()),
        |code| code.replace('-', "\u{a0}\u{2011}"),
        // Full-width, as some keyboards type.
        |code| code.chars().map(full_width).collect(),
    ];
    let campaign = TestCampaign::plain().await;
    for (spelling, number) in spellings.iter().zip(1..) {
        let spelt = spelling(&campaign.code(u64::from(number)));
        let checked = campaign
            .check(&spelt)
            .header("svc-client-ip", format!("10.{number}.3.3"))
            .await;
        assert_eq!(
            checked.field("precheck"),
            "valid",
            "{spelt:?}: {}",
            checked.text
        );
        assert_eq!(
            campaign.outcome(&phone(number), &spelt).await,
            "entered",
            "{spelt:?}"
        );
    }
}

#[tokio::test]
async fn white_space_around_any_string_is_stripped() {
    let campaign = TestCampaign::plain().await;
    let attempt = Attempt::new(&campaign, 1);
    let mut body = attempt.body();
    body["region"] = json!(format!("\r\n {}\u{2029}\t", "é".repeat(80)));
    body["claimed"] = json!({ "items": [{ "key": " chai\n", "qty": 1 }], "branch": format!("\n{}\n", "é".repeat(120)) });
    let reply = attempt.good().json(&body).await;
    assert_eq!(reply.field("message_key"), "entered", "{}", reply.text);
}

#[tokio::test]
async fn consent_is_true_and_nothing_else() {
    let wrong = json!([null, false, "true", 1, 1.0, "yes", [true], { "consent": true }]);
    spoil("consent", wrong, "422 consent_required consent").await;

    let campaign = TestCampaign::plain().await;
    let attempt = Attempt::new(&campaign, 1);
    let absent = json!({ "phone": phone(1), "code": campaign.code(1), "Consent": true });
    let reply = attempt
        .assert_rejected_without_effect(attempt.good().json(&absent))
        .await;
    assert_snapshot!(reply.snapshot(), @r#"
    422 {
      "error": {
        "code": "consent_required",
        "docs_url": "[docs]",
        "field": "consent",
        "fix": "Send `\"consent\": true`, as a boolean, once the consumer has agreed.",
        "message": "The consumer's consent is missing.",
        "request_id": "[request id]"
      }
    }
    "#);
}

#[tokio::test]
async fn a_region_is_at_most_80_characters() {
    let wrong = json!(["é".repeat(81), 7, [], {}, "a\u{0}", "a\r\nb"]);
    spoil("region", wrong, "422 validation_failed region").await;
    accept(
        "region",
        json!([null, "", "Kigoma", "é".repeat(80), "🫖".repeat(80)]),
    )
    .await;
}

#[tokio::test]
async fn a_channel_is_one_of_six() {
    let wrong = json!(["fax", "SMS", "", "x".repeat(81), 7, ["sms"]]);
    spoil("channel", wrong, "422 validation_failed channel").await;
    let channels = json!([null, "web", "sms", "ussd", "whatsapp", "agent", "other"]);
    accept("channel", channels).await;
}

#[tokio::test]
async fn a_receipt_id_is_a_uuid_and_this_campaign_takes_none() {
    let uuid = "0b0a6f6e-6a53-4a0e-8f0e-0d6f4f1f2a3b";
    let wrong = json!([
        7,
        "",
        "x",
        uuid.replace('-', ""),
        format!("{{{uuid}}}"),
        "é".repeat(36),
        "x".repeat(36),
        [uuid],
        uuid,
        uuid.to_uppercase()
    ]);
    spoil("receipt_id", wrong, "422 validation_failed receipt_id").await;
    accept("receipt_id", json!([null])).await;
}

#[tokio::test]
async fn what_is_claimed_is_named_by_its_path() {
    let item = json!({ "key": "chai", "qty": 1 });
    spoil(
        "claimed",
        json!(["x", 7, [], true]),
        "422 validation_failed claimed",
    )
    .await;
    let items: fn(Value) -> Value = |items| json!({ "items": items });
    let key: fn(Value) -> Value = |key| json!({ "items": [{ "key": key, "qty": 1 }] });
    let qty: fn(Value) -> Value =
        |qty| json!({ "items": [{ "key": "chai", "qty": 1 }, { "key": "chai", "qty": qty }] });
    let branch: fn(Value) -> Value = |branch| json!({ "items": [], "branch": branch });
    for (field, claim, wrong) in [
        ("items", items, json!(["x", {}, vec![item; 41]])),
        ("items[0]", items, json!([[null], ["chai"], [[]]])),
        (
            "items[0].key",
            key,
            json!([null, 7, "", "x".repeat(65), "a\u{0}", {}]),
        ),
        (
            "items[1].qty",
            qty,
            json!([
                null,
                0,
                100,
                -1,
                1.5,
                "1",
                true,
                1e30,
                u64::MAX,
                i64::MIN,
                [1]
            ]),
        ),
        ("branch", branch, json!([7, "é".repeat(121), "a\u{0}", {}])),
    ] {
        let wrong = list(wrong).into_iter().map(claim).collect();
        let expected = format!("422 validation_failed claimed.{field}");
        spoil("claimed", wrong, &expected).await;
    }
}

#[tokio::test]
async fn what_is_claimed_may_be_as_much_as_it_may_be() {
    let item = |qty: u32| json!({ "key": "é".repeat(64), "qty": qty, "colour": null });
    let claims = json!([
        null, {}, { "items": null, "branch": null }, { "items": [], "branch": "" },
        { "items": [item(1), item(99)], "branch": "é".repeat(120), "till": 7 },
        { "items": vec![item(7); 40] },
    ]);
    accept("claimed", claims).await;
}

#[tokio::test]
async fn huge_numbers_are_numbers_of_the_wrong_size() {
    let campaign = TestCampaign::plain().await;
    let thirty_digits = "1".repeat(31);
    for (qty, number) in [
        &thirty_digits,
        "1e30",
        "-1",
        "1.5",
        "1e-7",
        "99999999999999999999",
    ]
    .into_iter()
    .zip(1..)
    {
        let attempt = Attempt::new(&campaign, number);
        let text = attempt.body_with(
            "claimed",
            json!({ "items": [{ "key": "chai", "qty": "QTY" }] }),
        );
        let text = text.to_string().replace("\"QTY\"", qty);
        let reply = attempt
            .assert_rejected_without_effect(attempt.good().raw(text))
            .await;
        assert_eq!(
            reply.refusal(),
            "422 validation_failed claimed.items[0].qty",
            "{qty}"
        );
    }
}

#[tokio::test]
async fn unknown_fields_are_ignored() {
    let campaign = TestCampaign::plain().await;
    let attempt = Attempt::new(&campaign, 1);
    let mut body = attempt.body();
    for (name, value) in [
        ("", json!({})),
        ("\u{0}", json!([1e300])),
        ("state", json!("rejected")),
    ] {
        body[name] = value;
    }
    let reply = attempt.good().json(&body).await;
    assert_eq!(reply.field("message_key"), "entered", "{}", reply.text);
}

#[tokio::test]
async fn a_field_that_comes_twice_is_read_once() {
    let campaign = TestCampaign::plain().await;
    let twice = |first: &str, last: &str| {
        let code = campaign.code(1);
        let text = format!(
            "{{\"phone\":\"{}\",\"code\":\"{code}\",\"consent\":{first},\"consent\":{last}}}",
            phone(1)
        );
        campaign.submission("", "").raw(text)
    };
    assert_eq!(
        twice("true", "false").await.error_code(),
        "consent_required",
        "the last one counts"
    );
    assert_eq!(twice("false", "true").await.field("message_key"), "entered");
}

#[tokio::test]
async fn a_sentinel_with_a_live_key_is_refused_and_leaves_nothing() {
    let campaign = TestCampaign::plain().await;
    let sentinels = [
        "TEST-0-VALID",
        " test-0-anything",
        "TEST-0-",
        "TEST-0-VALID\n",
        "ＴＥＳＴ－０－ＶＡＬＩＤ",
        "test\u{2011}0\u{2013}valid",
        "\u{feff}TEST\u{200b}-0-VALID",
    ];
    for (code, number) in sentinels.into_iter().zip(1..) {
        let attempt = Attempt::new(&campaign, number);
        let bad = attempt
            .with_key(&campaign.live_key)
            .json(&attempt.body_with("code", json!(code)));
        let reply = bad.await;
        assert_eq!(reply.refusal(), "422 sentinel_with_live_key code", "{code}");
        let good = attempt.with_key(&campaign.live_key).await;
        assert_eq!(good.field("message_key"), "entered", "{code}");
        assert_eq!(good.header("idempotent-replayed"), None, "{code}");
    }
}

#[tokio::test]
async fn each_check_comes_after_the_one_before() {
    let campaign = TestCampaign::plain().await;
    let uuid = "0b0a6f6e-6a53-4a0e-8f0e-0d6f4f1f2a3b";
    let mut sending = campaign
        .live("POST", "/api/v1/submissions")
        .header("content-type", "text/plain");
    sending = sending.raw("not JSON");
    assert_eq!(
        sending.clone().await.error_code(),
        "idempotency_key_required"
    );
    let short = sending.clone().header("idempotency-key", "short");
    assert_eq!(short.await.error_code(), "idempotency_key_invalid");
    let key = fresh_key();
    sending = sending.header("idempotency-key", &key);
    let message = async |sending: &RequestBuilder| sending.clone().await.fields("error.message");
    assert_contains!(message(&sending).await, "Content-Type");
    sending = sending
        .without("content-type")
        .header("content-type", "application/json");
    assert_contains!(message(&sending).await, "not valid JSON");

    let mut body = json!({
        "phone": "short", "code": "", "consent": "yes", "region": 7, "channel": "fax", "receipt_id": "x",
        "claimed": { "items": [{ "key": "", "qty": 0 }, { "key": "chai", "qty": 100 }], "branch": 7 },
    });
    let steps: [(&str, Value); 13] = [
        ("validation_failed phone", json!("0812345678")),
        ("phone_invalid phone", json!(phone(1))),
        ("validation_failed code", json!("TEST-0-VALID")),
        ("consent_required consent", json!(true)),
        ("validation_failed region", json!("Kigoma")),
        ("validation_failed channel", json!("sms")),
        ("validation_failed receipt_id", json!(uuid)),
        ("validation_failed claimed.items[0].key", json!("chai")),
        ("validation_failed claimed.items[0].qty", json!(1)),
        ("validation_failed claimed.items[1].qty", json!(1)),
        ("validation_failed claimed.branch", json!("Posta")),
        ("sentinel_with_live_key code", json!(null)),
        ("validation_failed code", json!(campaign.code(1))),
    ];
    for (expected, better) in steps {
        let refusal = sending.clone().json(&body).await.refusal();
        assert_eq!(refusal, format!("422 {expected}"));
        let (_, field) = expected.split_once(' ').expect("a field");
        let pointer = field.replace(['.', '['], "/").replace(']', "");
        *body.pointer_mut(&format!("/{pointer}")).expect("a field") = better;
    }
    let unwanted = sending.clone().json(&body).await;
    assert_eq!(unwanted.refusal(), "422 validation_failed receipt_id");
    assert_eq!(
        unwanted.fields("error.fix"),
        "Leave `receipt_id` out: `receipt` of GET /api/v1/campaign is null for a campaign that takes no receipts. Or use a \
         key of a campaign with receipts."
    );
    body["receipt_id"] = json!(null);
    let entered = sending.json(&body).await;
    assert_eq!(
        entered.field("message_key"),
        "entered",
        "the same Idempotency-Key all along"
    );
    assert_eq!(entered.header("idempotent-replayed"), None);
}

#[tokio::test]
async fn campaign_without_codes_ignores_only_well_formed_codes() {
    let campaign = TestCampaign::with(|config| config.code = CodePolicy::None).await;
    let send = async |body: Value| campaign.submission("", "").json(&body).await;
    let malformed = send(body(&phone(1), "")).await;
    assert_eq!(malformed.refusal(), "422 validation_failed code");
    let unknown = send(body(&phone(1), "no such code")).await;
    assert_eq!(unknown.field("message_key"), "entered");
}
