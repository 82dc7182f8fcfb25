//! What queue and storage send, through the functions that take it.

use common::settle_queue::Hint;
use mark_receipt_uploaded::StorageEvent;
use settle_submission::QueueEvent;

use super::service::Service;

/// Records of an event that are worked through here: each is a call or more.
const MOST_RECORDS: usize = 8;

/// A message that is no hint fails alone, and a hint survives being sent.
pub(super) fn queue_event(input: &[u8]) {
    let Ok(mut event) = serde_json::from_slice::<QueueEvent>(input) else { return };
    event.records.truncate(MOST_RECORDS);
    let mut strange = Vec::new();
    for message in &event.records {
        match serde_json::from_str::<Hint>(&message.body) {
            Ok(hint) => {
                let sent = serde_json::to_string(&hint).expect("JSON");
                assert_eq!(serde_json::from_str::<Hint>(&sent).expect("a hint"), hint);
            }
            Err(_) => strange.push(message.message_id.clone()),
        }
    }
    let failed = Service::shared().settle(event).batch_item_failures;
    let failed: Vec<_> = failed.into_iter().map(|item| item.item_identifier).collect();
    assert_eq!(failed, strange);
}

/// Nothing that storage can say makes it say it again.
pub(super) fn storage_event(input: &[u8]) {
    let Ok(mut event) = serde_json::from_slice::<StorageEvent>(input) else { return };
    event.records.truncate(MOST_RECORDS);
    Service::shared().mark(event);
}
