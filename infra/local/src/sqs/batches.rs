//! Requests with up to ten entries, each of which succeeds or fails separately.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::sqs::Shared;
use crate::sqs::actions::{delete, send};
use crate::sqs::queues::NoSuchQueue;
use crate::sqs::refusal::{Kind, Refusal};
use crate::sqs::requests::{Batch, DeleteEntry, MAX_MESSAGE_BYTES, SendEntry, queue};

const MAX_ENTRIES: usize = 10;
const MAX_ID_CHARACTERS: usize = 80;

pub(super) fn send_all(shared: &Shared, request: Batch<SendEntry>) -> Result<Value, Refusal> {
    check_ids(request.entries.iter().map(|entry| entry.id.as_str()))?;
    let bytes = request
        .entries
        .iter()
        .map(|entry| entry.message_body.len())
        .fold(0, usize::saturating_add);
    if bytes > MAX_MESSAGE_BYTES {
        let message = format!(
            "Batch requests cannot be longer than {MAX_MESSAGE_BYTES} bytes. You have sent {bytes} bytes."
        );
        return Err(Refusal::new(Kind::BatchRequestTooLong, message));
    }
    let name = existing(shared, &request.queue_url)?;
    let results = request.entries.into_iter().map(|entry| {
        let result = send(shared, name, entry.message_body, entry.delay_seconds);
        (entry.id, result)
    });
    Ok(reply(results))
}

pub(super) fn delete_all(shared: &Shared, request: Batch<DeleteEntry>) -> Result<Value, Refusal> {
    check_ids(request.entries.iter().map(|entry| entry.id.as_str()))?;
    let name = existing(shared, &request.queue_url)?;
    let results = request.entries.into_iter().map(|entry| {
        let result = delete(shared, name, &entry.receipt_handle);
        (entry.id, result)
    });
    Ok(reply(results))
}

fn existing<'a>(shared: &Shared, url: &'a str) -> Result<&'a str, Refusal> {
    let name = queue(url);
    match shared.with(|queues, _| queues.contains(name)) {
        true => Ok(name),
        false => Err(NoSuchQueue.into()),
    }
}

fn check_ids<'a>(ids: impl Iterator<Item = &'a str> + Clone) -> Result<(), Refusal> {
    let count = ids.clone().count();
    if count == 0 {
        return Err(Refusal::new(
            Kind::EmptyBatchRequest,
            "There should be at least one entry in the request.",
        ));
    }
    if count > MAX_ENTRIES {
        let message = format!(
            "Maximum number of entries per request are {MAX_ENTRIES}. You have sent {count}."
        );
        return Err(Refusal::new(Kind::TooManyEntriesInBatchRequest, message));
    }
    let character = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let valid = |id: &str| (1..=MAX_ID_CHARACTERS).contains(&id.len()) && id.chars().all(character);
    if !ids.clone().all(valid) {
        let message = "A batch entry id can only contain alphanumeric characters, hyphens and underscores. \
                       It can be at most 80 letters long.";
        return Err(Refusal::new(Kind::InvalidBatchEntryId, message));
    }
    if ids.collect::<BTreeSet<_>>().len() < count {
        return Err(Refusal::new(
            Kind::BatchEntryIdsNotDistinct,
            "Two entries have the same id.",
        ));
    }
    Ok(())
}

fn reply(results: impl Iterator<Item = (String, Result<Value, Refusal>)>) -> Value {
    let (mut successful, mut failed) = (Vec::new(), Vec::new());
    for (id, result) in results {
        match result {
            Ok(mut done) => {
                if let Some(fields) = done.as_object_mut() {
                    fields.insert("Id".to_owned(), id.into());
                }
                successful.push(done);
            }
            Err(refusal) => failed.push(json!({
                "Id": id,
                "SenderFault": true,
                "Code": refusal.kind.code(),
                "Message": refusal.message,
            })),
        }
    }
    json!({ "Successful": successful, "Failed": failed })
}
