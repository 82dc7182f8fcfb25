//! Faults at every call of publishing and delivering: each event arrives at least once.

use std::time::Duration;

use common::aws::event_queue::QueuedEvent;
use common::domain::webhook::Delivery;
use publish_events::PublishResponse;
use service_tests::interceptor::{AWS, FaultKind, Interceptor};
use service_tests::webhooks::{Answer, deliver, publish};

use super::set_up;

#[tokio::test]
async fn every_event_arrives_wherever_its_way_is_cut() {
    let mut set_up = set_up(Answer::Status(200)).await;
    let faults = Interceptor::default();
    let service = set_up.webhooks.service.behind(&faults, &AWS).await;
    let (mut number, mut cuts) = (0, 0);
    for answer in [200, 500] {
        for how in FaultKind::ALL {
            for call in 0.. {
                number += 1;
                let id = set_up.accept(number).await;
                let webhooks = &mut set_up.webhooks;
                let batch = webhooks.next_batch().await.expect("a batch");
                set_up.receiver.answer(Answer::Status(answer));
                faults.arm(call, how);
                faults
                    .cut(publish(&service.function("publish-events"), &batch))
                    .await;
                // The stream repeats a batch whose function died.
                let reply = webhooks.publish(&batch).await;
                assert_eq!(reply, PublishResponse::default());
                let messages = webhooks.take_messages().await;
                faults
                    .cut(deliver(&service.function("deliver-events"), &messages))
                    .await;
                let was_cut = faults.was_made();
                faults.disarm();
                // The queue repeats messages whose function died.
                deliver(&webhooks.deliverer, &messages).await;
                set_up.receiver.answer(Answer::Status(200));
                for _ in 0..3 {
                    webhooks.advance(Delivery::LEASE + Duration::from_secs(1));
                    webhooks.sweep().await;
                    webhooks.deliver_all().await;
                }
                let ids = set_up.receiver.ids();
                let is_its = |message: &&QueuedEvent| message.submission_id.to_string() == id;
                let message = messages.iter().find(is_its).expect("a message");
                let event = message.event.as_str();
                assert!(
                    ids.iter().any(|id| id == event),
                    "answer {answer}, call {call} {how:?}"
                );
                let waiting = webhooks.deliveries.count_waiting(&set_up.endpoint.endpoint);
                assert_eq!(waiting.await.expect("the index"), 0, "call {call} {how:?}");
                if !was_cut {
                    break;
                }
                cuts += 1;
            }
        }
    }
    println!("webhooks: {cuts} cut points");
    assert!(cuts >= 20, "{cuts}");
}
