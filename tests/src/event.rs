//! Events with every field that AWS sends: API Gateway (payload format 2.0), queue, schedule.

use common::http::routes::ROUTES;
use common::runtime::api_gateway;
use common::runtime::http_handler::HttpHandler;
use http::StatusCode;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use crate::campaign::fresh_key;
use crate::http::Reply;

/// API Gateway's event for an authenticated request.
pub fn of(
    method: &str,
    path: &str,
    headers: &[(&str, String)],
    body: Option<&Value>,
    key: &str,
) -> Value {
    let added = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), json!(value)));
    let mut headers = Map::from_iter([
        ("authorization".to_owned(), json!(format!("Bearer {key}"))),
        ("host".to_owned(), json!("api.example")),
        ("user-agent".to_owned(), json!("a-brand/1.0")),
    ]);
    headers.extend(added);
    let route = ROUTES.iter().find_map(|route| {
        let matched = route.matches(path).filter(|_| route.method == method)?;
        Some((format!("{method} {}", route.path), matched.id))
    });
    let (route_key, id) = route.unwrap_or(("$default".to_owned(), None));
    let mut event = json!({
        "version": "2.0",
        "routeKey": route_key,
        "rawPath": path,
        "rawQueryString": "",
        "headers": headers,
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "api",
            "domainName": "api.example",
            "domainPrefix": "api",
            "http": {
                "method": method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "192.0.2.1",
                "userAgent": "a-brand/1.0",
            },
            "requestId": "JKJaXmPLvHcESHA=",
            "routeKey": route_key,
            "stage": "$default",
            "time": "01/Jun/2026:12:00:00 +0000",
            "timeEpoch": 1_780_315_200_000_u64,
        },
        "isBase64Encoded": false,
    });
    if let Some(id) = id {
        event["pathParameters"] = json!({ "id": id });
    }
    if let Some(body) = body {
        event["body"] = json!(body.to_string());
    }
    event
}

/// A posted body with an Idempotency-Key.
pub fn posted(path: &str, body: &Value, attempt: &str, key: &str) -> Value {
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("idempotency-key", attempt.to_owned()),
    ];
    of("POST", path, &headers, Some(body), key)
}

/// A posted entry with a fresh Idempotency-Key.
pub fn entry(body: &Value, key: &str) -> Value {
    posted("/api/v1/submissions", body, &fresh_key(), key)
}

/// The function's answer to API Gateway.
pub async fn answer(function: &dyn HttpHandler, event: &Value) -> Value {
    let event = to_raw_value(event).expect("JSON");
    serde_json::to_value(api_gateway::answer(function, &event).await).expect("JSON")
}

/// The caller's reply for a function's answer.
pub fn reply(answer: &Value) -> Reply {
    let status = answer["statusCode"]
        .as_u64()
        .and_then(|status| u16::try_from(status).ok());
    let headers = answer["headers"].as_object().into_iter().flatten();
    let headers = headers.map(|(name, value)| {
        let value = value.as_str().and_then(|value| value.parse().ok());
        (
            name.parse().expect("a header's name"),
            value.expect("a header's value"),
        )
    });
    Reply {
        status: StatusCode::from_u16(status.expect("a status")).expect("a status"),
        headers: headers.collect(),
        text: answer["body"].as_str().unwrap_or_default().to_owned(),
    }
}

pub fn of_queue(message_id: &str, receipt_handle: &str, body: &str) -> Value {
    json!({
        "Records": [{
            "messageId": message_id,
            "receiptHandle": receipt_handle,
            "body": body,
            "attributes": {
                "ApproximateReceiveCount": "1",
                "SentTimestamp": "1780315200000",
                "SenderId": "AIDAIENQZJOLO23YVJ4VO",
                "ApproximateFirstReceiveTimestamp": "1780315200100",
            },
            "messageAttributes": {},
            "md5OfBody": "00000000000000000000000000000000",
            "eventSource": "aws:sqs",
            "eventSourceARN": "arn:aws:sqs:af-south-1:000000000000:queue",
            "awsRegion": "af-south-1",
        }],
    })
}

pub fn of_schedule() -> Value {
    json!({
        "version": "0",
        "id": "53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa",
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": "000000000000",
        "time": "2026-06-01T12:00:00Z",
        "region": "af-south-1",
        "resources": ["arn:aws:events:af-south-1:000000000000:rule/sweep-unsettled"],
        "detail": {},
    })
}
