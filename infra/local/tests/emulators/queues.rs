//! Visibility, delay, long polls and dead letters. Tests move the queues' clock.

use std::time::Duration;

use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::types::{Message, QueueAttributeName, SendMessageBatchRequestEntry};
use local::sqs::Sqs;

use crate::common::{queues, soon};

struct Queue<'a> {
    client: &'a aws_sdk_sqs::Client,
    url: String,
}

impl<'a> Queue<'a> {
    fn new(sqs: &Sqs, client: &'a aws_sdk_sqs::Client, name: &str) -> Self {
        Self {
            client,
            url: sqs.queue_url(name),
        }
    }

    async fn send(&self, body: &str, delay_seconds: i32) {
        let send = self.client.send_message().queue_url(&self.url);
        let send = send.message_body(body).delay_seconds(delay_seconds);
        send.send().await.unwrap();
    }

    async fn receive(&self, wait_seconds: i32) -> Vec<Message> {
        let receive = self.client.receive_message().queue_url(&self.url);
        let receive = receive.max_number_of_messages(10);
        let receive = receive.wait_time_seconds(wait_seconds);
        receive.send().await.unwrap().messages.unwrap_or_default()
    }

    async fn bodies(&self) -> Vec<String> {
        self.receive(0)
            .await
            .into_iter()
            .map(|message| message.body.unwrap())
            .collect()
    }

    async fn delete(&self, message: &Message) {
        let handle = message.receipt_handle().unwrap();
        self.client
            .delete_message()
            .queue_url(&self.url)
            .receipt_handle(handle)
            .send()
            .await
            .unwrap();
    }

    /// Returns the error's code.
    async fn change_visibility(&self, message: &Message, seconds: i32) -> Result<(), String> {
        let change = self.client.change_message_visibility().queue_url(&self.url);
        let change = change.receipt_handle(message.receipt_handle().unwrap());
        let changed = change.visibility_timeout(seconds).send().await;
        let changed = changed.map(drop);
        changed.map_err(|error| error.code().unwrap().to_owned())
    }

    /// Visible, in flight, delayed.
    async fn counts(&self) -> [String; 3] {
        let names = [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
            QueueAttributeName::ApproximateNumberOfMessagesDelayed,
        ];
        let asked = self.client.get_queue_attributes().queue_url(&self.url);
        let asked = asked.set_attribute_names(Some(names.to_vec()));
        let attributes = asked.send().await.unwrap().attributes.unwrap();
        names.map(|name| attributes[&name].clone())
    }
}

#[tokio::test]
async fn message_is_received_as_it_was_sent() {
    let (sqs, client) = queues().await;
    let send = client.send_message().queue_url(sqs.queue_url("work"));
    let sent = send.message_body("grüße\n").send().await.unwrap();
    let received = Queue::new(&sqs, &client, "work").receive(0).await;
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].body(), Some("grüße\n"));
    assert_eq!(received[0].message_id(), sent.message_id());
}

#[tokio::test]
async fn deleted_message_does_not_come_again() {
    let (sqs, client) = queues().await;
    let work = Queue::new(&sqs, &client, "work");
    work.send("one", 0).await;
    let received = work.receive(0).await;
    work.delete(&received[0]).await;
    sqs.clock.advance(Duration::from_secs(31));
    assert!(work.bodies().await.is_empty());
    assert_eq!(work.counts().await, ["0", "0", "0"]);
}

#[tokio::test]
async fn message_that_is_not_deleted_comes_again() {
    let (sqs, client) = queues().await;
    let work = Queue::new(&sqs, &client, "work");
    work.send("one", 0).await;
    let first = work.receive(0).await;
    assert!(work.bodies().await.is_empty());
    assert_eq!(work.counts().await, ["0", "1", "0"]);
    sqs.clock.advance(Duration::from_secs(30));
    assert_eq!(work.counts().await, ["1", "0", "0"]);
    let second = work.receive(0).await;
    assert_eq!(second[0].message_id(), first[0].message_id());

    // The earlier handle is void.
    work.delete(&first[0]).await;
    assert_eq!(work.counts().await, ["0", "1", "0"]);
}

#[tokio::test]
async fn receiver_can_ask_for_more_time_or_give_up() {
    let (sqs, client) = queues().await;
    let work = Queue::new(&sqs, &client, "work");
    work.send("one", 0).await;
    let received = work.receive(0).await;
    work.change_visibility(&received[0], 60).await.unwrap();
    sqs.clock.advance(Duration::from_secs(31));
    assert!(work.bodies().await.is_empty());
    work.change_visibility(&received[0], 0).await.unwrap();
    let again = work.receive(0).await;
    assert_eq!(again.len(), 1);

    sqs.clock.advance(Duration::from_secs(31));
    let late = work.change_visibility(&again[0], 60).await;
    assert_eq!(late, Err("MessageNotInflight".to_owned()));
}

#[tokio::test]
async fn delayed_message_comes_after_its_delay() {
    let (sqs, client) = queues().await;
    let work = Queue::new(&sqs, &client, "work");
    work.send("later", 900).await;
    work.send("now", 0).await;
    assert_eq!(work.counts().await, ["1", "0", "1"]);
    assert_eq!(work.bodies().await, ["now"]);
    sqs.clock.advance(Duration::from_secs(900));
    assert_eq!(work.bodies().await, ["later", "now"]);
}

#[tokio::test]
async fn waiting_receiver_gets_a_message_that_is_sent() {
    let (sqs, client) = queues().await;
    let work = Queue::new(&sqs, &client, "work");
    let (received, ()) = soon(async { tokio::join!(work.receive(20), work.send("one", 0)) }).await;
    assert_eq!(received[0].body(), Some("one"));
}

#[tokio::test]
async fn message_received_too_often_goes_to_the_dead_letters() {
    let (sqs, client) = queues().await;
    let (work, dead) = (
        Queue::new(&sqs, &client, "work"),
        Queue::new(&sqs, &client, "work-dead-letters"),
    );
    work.send("poison", 0).await;
    let mut last = None;
    for _ in 0..3 {
        let received = work.receive(0).await;
        assert!(dead.bodies().await.is_empty());
        sqs.clock.advance(Duration::from_secs(30));
        last = received.into_iter().next();
    }
    let last = last.unwrap();
    dead.delete(&last).await;
    let received = soon(dead.receive(20)).await;
    assert_eq!(received[0].body(), Some("poison"));
    assert_eq!(received[0].message_id(), last.message_id());
    assert!(work.bodies().await.is_empty());
    assert_eq!(work.counts().await, ["0", "0", "0"]);
}

fn entry(id: &str, body: &str) -> SendMessageBatchRequestEntry {
    let entry = SendMessageBatchRequestEntry::builder().id(id);
    entry.message_body(body).build().unwrap()
}

#[tokio::test]
async fn each_entry_of_a_batch_is_sent_or_refused_on_its_own() {
    let (sqs, client) = queues().await;
    let url = sqs.queue_url("work");
    let batch = client.send_message_batch().queue_url(&url);
    let batch = batch
        .entries(entry("good", "one"))
        .entries(entry("bad", ""))
        .entries(entry("fine", "two"));
    let sent = batch.send().await.unwrap();
    let done: Vec<_> = sent.successful().iter().map(|entry| entry.id()).collect();
    assert_eq!(done, ["good", "fine"]);
    let failed = sent.failed().iter().map(|entry| (entry.id(), entry.code()));
    assert_eq!(
        failed.collect::<Vec<_>>(),
        [("bad", "InvalidParameterValue")]
    );

    // A receiver gets as many as it asks for.
    let receive = || client.receive_message().queue_url(&url);
    let first = receive().send().await.unwrap();
    let rest = receive().max_number_of_messages(10).send().await.unwrap();
    let bodies = [first.messages(), rest.messages()].map(|messages| {
        let bodies = messages.iter().map(|message| message.body().unwrap());
        bodies.collect::<Vec<_>>()
    });
    assert_eq!(bodies, [["one"], ["two"]]);
}
