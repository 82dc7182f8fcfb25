//! DynamoDB's answers when throttled or in conflict; the embedded database never gives them.

use axum::body::Body;
use axum::http::{Response, StatusCode};
use serde_json::{Map, Value, json};

use crate::random::Random;

const REFUSALS: [&str; 2] = [
    "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
    "com.amazon.coral.availability#ThrottlingException",
];
/// Reasons for which an item cancels a transaction.
const CANCELLATIONS: [&str; 2] = ["ThrottlingError", "ProvisionedThroughputExceeded"];

/// A fault of the next transaction or batch read. Numbers are positions of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Not written: another transaction touched the item.
    Conflict(usize),
    /// Not written: the item's table is throttled.
    Throttled(usize),
    /// Written, answered with a server error.
    AnswerLost,
    /// Not written: a condition failed, and another transaction touched the item.
    ConditionAndConflict(usize),
    /// Not written: another submission has just taken the reference.
    ReferenceTaken,
    /// A batch read that reads nothing.
    Unprocessed,
}

impl Fault {
    pub(crate) fn operation(self) -> &'static str {
        match self {
            Self::Conflict(_)
            | Self::Throttled(_)
            | Self::AnswerLost
            | Self::ConditionAndConflict(_)
            | Self::ReferenceTaken => "TransactWriteItems",
            Self::Unprocessed => "BatchGetItem",
        }
    }

    /// Status and body of an answer without forwarding.
    pub(crate) fn refusal(self, call: &Value) -> Option<(StatusCode, Value)> {
        let items = call["TransactItems"].as_array().map_or(0, Vec::len);
        let cancelled =
            |code, position| (StatusCode::BAD_REQUEST, cancelled(code, position, items));
        match self {
            Self::Conflict(position) => Some(cancelled("TransactionConflict", position)),
            Self::Throttled(position) => Some(cancelled("ThrottlingError", position)),
            Self::Unprocessed => Some((
                StatusCode::OK,
                json!({ "UnprocessedKeys": call["RequestItems"] }),
            )),
            Self::AnswerLost | Self::ConditionAndConflict(_) | Self::ReferenceTaken => None,
        }
    }
}

pub(crate) enum Throttled {
    /// Refused without effect.
    Refused(Value),
    /// Reads all but these keys, by table.
    Unprocessed(Map<String, Value>),
}

/// Throttles one of the call's tables, or only `table`; `None` if it is not among them. Keys left
/// unprocessed are removed from `call`.
pub(crate) fn throttle(
    operation: &str,
    call: &mut Value,
    table: Option<&str>,
    random: &mut Random,
) -> Option<Throttled> {
    let tables = tables(call);
    let is_touched = |touched: &String| table.is_none_or(|table| table == touched);
    let positions = 0..tables.len();
    let touched: Vec<usize> = positions
        .filter(|position| is_touched(&tables[*position]))
        .collect();
    let position = *pick(random, &touched)?;
    match (operation, tables.len()) {
        ("TransactWriteItems", items) => Some(Throttled::Refused(cancelled(
            pick(random, &CANCELLATIONS)?,
            position,
            items,
        ))),
        // Of several, one is throttled.
        ("BatchGetItem", 2..) => {
            let requested = call["RequestItems"].as_object_mut()?;
            let unprocessed = requested.remove_entry(&tables[position])?;
            Some(Throttled::Unprocessed(Map::from_iter([unprocessed])))
        }
        _ => Some(Throttled::Refused(
            json!({ "__type": pick(random, &REFUSALS)?, "message": "Too many requests" }),
        )),
    }
}

/// The tables of a call or of each item.
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

/// The error of a transaction that the item at `position` cancels.
fn cancelled(code: &str, position: usize, items: usize) -> Value {
    let reasons: Vec<_> = (0..items)
        .map(|item| json!({ "Code": if item == position { code } else { "None" } }))
        .collect();
    json!({
        "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        "Message": "Transaction cancelled",
        "CancellationReasons": reasons,
    })
}

pub(crate) fn answer_with(status: StatusCode, body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response
}

/// Consumed capacity. DynamoDB does not report it for a cancelled transaction: two write units an
/// item, because a failed condition costs its write, and items here are below 1 KB. Indexes are not
/// written.
pub(crate) fn capacity(call: &Value, answer: &Value) -> f64 {
    if answer["CancellationReasons"].is_array() {
        let items = call["TransactItems"].as_array().map_or(0, Vec::len);
        return 2.0 * f64::from(u32::try_from(items).expect("at most a hundred"));
    }
    let units = |consumed: &Value| consumed["CapacityUnits"].as_f64().unwrap_or(0.0);
    match &answer["ConsumedCapacity"] {
        // For each table.
        Value::Array(tables) => tables.iter().map(units).sum(),
        consumed => units(consumed),
    }
}
