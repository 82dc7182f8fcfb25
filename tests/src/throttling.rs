//! DynamoDB's answers when a table or partition is throttled.

use axum::body::Body;
use axum::http::{Response, StatusCode};
use serde_json::{Map, Value, json};

use crate::random::Random;

/// Errors of a whole call.
const REFUSALS: [&str; 2] = [
    "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
    "com.amazon.coral.availability#ThrottlingException",
];
/// Reasons for which one item cancels a transaction.
const CANCELLATIONS: [&str; 2] = ["ThrottlingError", "ProvisionedThroughputExceeded"];

pub(crate) enum Throttled {
    /// Nothing is done.
    Refused(Response<Body>),
    /// The batch is read except for these keys, by table.
    Unprocessed(Map<String, Value>),
}

/// Throttles a call at one of its tables, or at `table` only; `None` when the call does not touch that. Keys that a
/// batch read leaves unprocessed are removed from `call`.
pub(crate) fn throttle(
    operation: &str,
    call: &mut Value,
    table: Option<&str>,
    random: &mut Random,
) -> Option<Throttled> {
    let tables = tables(call);
    let touched = tables
        .iter()
        .enumerate()
        .filter(|(_, touched)| table.is_none_or(|table| table == *touched));
    let touched: Vec<usize> = touched.map(|(position, _)| position).collect();
    let position = *pick(random, &touched)?;
    match (operation, tables.len()) {
        ("TransactWriteItems", items) => Some(Throttled::Refused(cancelled_by(
            pick(random, &CANCELLATIONS)?,
            position,
            items,
        ))),
        // With several tables, only one is throttled.
        ("BatchGetItem", 2..) => {
            let requested = call["RequestItems"].as_object_mut()?;
            let unprocessed = requested.remove_entry(tables.get(position)?)?;
            Some(Throttled::Unprocessed(Map::from_iter([unprocessed])))
        }
        _ => {
            let refusal =
                json!({ "__type": pick(random, &REFUSALS)?, "message": "Too many requests" });
            Some(Throttled::Refused(answer_with(
                StatusCode::BAD_REQUEST,
                &refusal,
            )))
        }
    }
}

/// The tables of a call; for a transaction, the table of each item.
fn tables(call: &Value) -> Vec<String> {
    let name = |named: &Value| named["TableName"].as_str().map(str::to_owned);
    if let Some(items) = call["TransactItems"].as_array() {
        let of_item = |item: &Value| item.as_object()?.values().find_map(name);
        return items
            .iter()
            .map(|item| of_item(item).expect("an item names its table"))
            .collect();
    }
    match call["RequestItems"].as_object() {
        Some(requested) => requested.keys().cloned().collect(),
        None => name(call).into_iter().collect(),
    }
}

fn pick<'a, T>(random: &mut Random, choices: &'a [T]) -> Option<&'a T> {
    let count = u32::try_from(choices.len()).expect("a few");
    choices.get(usize::try_from(random.below(count)).expect("a few"))
}

/// A transaction of `items` items, cancelled by the one at `position`.
pub(crate) fn cancelled_by(code: &str, position: usize, items: usize) -> Response<Body> {
    let reasons: Vec<_> = (0..items)
        .map(|item| json!({ "Code": if item == position { code } else { "None" } }))
        .collect();
    answer_with(
        StatusCode::BAD_REQUEST,
        &json!({
            "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
            "Message": "Transaction cancelled",
            "CancellationReasons": reasons,
        }),
    )
}

/// A DynamoDB answer without the checksum header of a real one.
pub(crate) fn answer_with(status: StatusCode, body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response
}
