//! API Gateway's event for a request, payload format 2.0, with every field that a real one has.

use common::http::routes::ROUTES;
use common::runtime::api_gateway;
use common::runtime::http_handler::HttpHandler;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

/// The event that API Gateway makes of a request with an API key.
pub fn of(method: &str, path: &str, headers: &[(&str, String)], body: Option<&Value>, key: &str) -> Value {
    let added = headers.iter().map(|(name, value)| ((*name).to_owned(), json!(value)));
    let mut headers = Map::from_iter([
        ("authorization".to_owned(), json!(format!("Bearer {key}"))),
        ("host".to_owned(), json!("api.example")),
        ("user-agent".to_owned(), json!("a-brand/1.0")),
    ]);
    headers.extend(added);
    let route = ROUTES.iter().find_map(|route| {
        let id = (route.method == method).then(|| route.matches(path)).flatten()?;
        Some((format!("{method} {}", route.path), id))
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

/// What a function answers to an event, as API Gateway would be told.
pub async fn answer(function: &dyn HttpHandler, event: &Value) -> Value {
    let event = to_raw_value(event).expect("JSON");
    serde_json::to_value(api_gateway::answer(function, &event).await).expect("JSON")
}
