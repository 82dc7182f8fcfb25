//! Events from queues and storage, through their functions.

use common::aws::settle_queue::SettleMessage;
use common::runtime::sqs_batch::SqsEvent;
use mark_receipt_uploaded::StorageEvent;

use super::service::Service;

/// Each makes at least one call.
const MAX_RECORDS: usize = 8;

/// An unreadable message fails alone, and a readable one survives a round trip.
pub(super) fn queue_event(input: &[u8]) {
    let Ok(mut event) = serde_json::from_slice::<SqsEvent>(input) else {
        return;
    };
    event.records.truncate(MAX_RECORDS);
    let mut strange = Vec::new();
    for message in &event.records {
        match serde_json::from_str::<SettleMessage>(message.body.as_deref().unwrap_or_default()) {
            Ok(message) => {
                let sent = serde_json::to_string(&message).expect("JSON");
                assert_eq!(
                    serde_json::from_str::<SettleMessage>(&sent).expect("a message"),
                    message
                );
            }
            Err(_) => strange.push(message.message_id.clone().unwrap_or_default()),
        }
    }
    let service = Service::shared();
    for reply in [
        service.settle_receipts(event.clone()),
        service.settle_partners(event),
    ] {
        let failed = reply
            .batch_item_failures
            .into_iter()
            .map(|item| item.item_identifier);
        assert_eq!(failed.collect::<Vec<_>>(), strange);
    }
}

/// No storage event fails, which would repeat it.
pub(super) fn storage_event(input: &[u8]) {
    let Ok(mut event) = serde_json::from_slice::<StorageEvent>(input) else {
        return;
    };
    event.records.truncate(MAX_RECORDS);
    Service::shared().mark(event);
}
