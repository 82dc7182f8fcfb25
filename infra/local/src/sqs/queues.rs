use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::SqsOptions;
use crate::aws_json::Refusal;

const DEAD_LETTERS: &str = "-dead-letters";

#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) body: String,
    /// Shares the receivers fairly with other groups.
    group: Option<String>,
    receives: u32,
    pub(super) receipt: String,
    visible_at: Instant,
}

#[derive(Default)]
pub(super) struct Counts {
    pub(super) visible: u32,
    pub(super) in_flight: u32,
    pub(super) delayed: u32,
}

pub(super) struct Queues {
    queues: BTreeMap<String, Vec<Message>>,
    visibility: Duration,
    max_receives: u32,
    last_id: u64,
}

impl Queues {
    pub(super) fn new(options: SqsOptions<'_>) -> Self {
        let both = |name: &&str| [(*name).to_owned(), dead_letters(name)];
        let names = options.queues.iter().flat_map(both);
        Self {
            queues: names.map(|name| (name, Vec::new())).collect(),
            visibility: options.visibility,
            max_receives: options.max_receives,
            last_id: 0,
        }
    }

    /// The URL's host is ignored, since callers use several.
    pub(super) fn queue(&mut self, url: &str) -> Result<&mut Vec<Message>, Refusal> {
        let name = url.rsplit('/').next().unwrap_or(url);
        self.queues
            .get_mut(name)
            .ok_or_else(|| Refusal::new("QueueDoesNotExist", "The specified queue does not exist."))
    }

    pub(super) fn send(
        &mut self,
        url: &str,
        body: String,
        group: Option<String>,
        visible_at: Instant,
    ) -> Result<String, Refusal> {
        self.last_id = self.last_id.saturating_add(1);
        let id = format!("message-{}", self.last_id);
        let message = Message {
            id: id.clone(),
            body,
            group,
            receives: 0,
            receipt: String::new(),
            visible_at,
        };
        self.queue(url)?.push(message);
        Ok(id)
    }

    /// The group with the fewest messages in flight comes first, and groups take turns. Others keep
    /// their order.
    pub(super) fn receive(
        &mut self,
        url: &str,
        limit: usize,
        now: Instant,
    ) -> Result<Vec<Message>, Refusal> {
        let visible_at = now + self.visibility;
        let queue = self.queue(url)?;
        let mut in_flight: BTreeMap<&str, usize> = BTreeMap::new();
        for message in queue.iter() {
            if let Some(group) = &message.group
                && message.receives > 0
                && message.visible_at > now
            {
                *in_flight.entry(group).or_default() += 1;
            }
        }
        let visible = queue.iter().enumerate();
        let visible = visible.filter(|(_, message)| message.visible_at <= now);
        // Each turn of a group counts as one more in flight.
        let mut turns: Vec<_> = visible
            .map(|(index, message)| {
                let Some(group) = &message.group else {
                    return (0, index);
                };
                let turns = in_flight.entry(group).or_default();
                *turns += 1;
                (*turns, index)
            })
            .collect();
        turns.sort_unstable();
        let take = |message: &mut Message| {
            message.visible_at = visible_at;
            message.receives = message.receives.saturating_add(1);
            message.receipt = format!("{}#{}", message.id, message.receives);
            message.clone()
        };
        let mut received = Vec::new();
        for (_, index) in turns.into_iter().take(limit) {
            received.extend(queue.get_mut(index).map(take));
        }
        Ok(received)
    }

    /// Unless its receipt handle is of an earlier receive.
    pub(super) fn delete(&mut self, url: &str, receipt: &str) -> Result<(), Refusal> {
        self.queue(url)?
            .retain(|message| message.receipt != receipt);
        Ok(())
    }

    pub(super) fn change_visibility(
        &mut self,
        url: &str,
        receipt: &str,
        visible_at: Instant,
        now: Instant,
    ) -> Result<(), Refusal> {
        let mut messages = self.queue(url)?.iter_mut();
        let message = messages.find(|message| message.receipt == receipt);
        let message = message.filter(|message| message.visible_at > now);
        let message = message.ok_or_else(|| {
            Refusal::new(
                "MessageNotInflight",
                "The message is not in flight or has been received again since.",
            )
        })?;
        message.visible_at = visible_at;
        Ok(())
    }

    pub(super) fn counts(&mut self, url: &str, now: Instant) -> Result<Counts, Refusal> {
        let mut counts = Counts::default();
        for message in self.queue(url)? {
            let count = match (message.visible_at <= now, message.receives) {
                (true, _) => &mut counts.visible,
                (false, 0) => &mut counts.delayed,
                (false, _) => &mut counts.in_flight,
            };
            *count = count.saturating_add(1);
        }
        Ok(counts)
    }

    /// Visible at once.
    pub(super) fn move_dead_letters(&mut self, now: Instant) {
        let max_receives = self.max_receives;
        let is_dead =
            |message: &mut Message| message.visible_at <= now && message.receives >= max_receives;
        let mut dead = Vec::new();
        for (name, messages) in &mut self.queues {
            if !name.ends_with(DEAD_LETTERS) {
                let messages = messages.extract_if(.., is_dead);
                dead.extend(messages.map(|message| (dead_letters(name), message)));
            }
        }
        for (target, mut message) in dead {
            // Handles of the source queue no longer match.
            message.receipt = String::new();
            self.queues.entry(target).or_default().push(message);
        }
    }

    /// All queues count, because a message may move to another.
    pub(super) fn next_visible(&self, now: Instant) -> Option<Instant> {
        let messages = self.queues.values().flatten();
        let times = messages.map(|message| message.visible_at);
        times.filter(|visible_at| *visible_at > now).min()
    }
}

fn dead_letters(name: &str) -> String {
    format!("{name}{DEAD_LETTERS}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_take_turns_and_the_busiest_comes_last() {
        let mut queues = Queues::new(SqsOptions {
            queues: &["work"],
            visibility: Duration::from_secs(30),
            max_receives: 5,
        });
        let now = Instant::now();
        let mut send = |group: Option<&str>, count: usize| {
            for number in 0..count {
                let body = format!("{}{number}", group.unwrap_or("-"));
                let sent = queues.send("work", body, group.map(str::to_owned), now);
                assert!(sent.is_ok());
            }
        };
        send(Some("a"), 5);
        send(Some("b"), 2);
        let mut receive = |limit| {
            let messages = queues.receive("work", limit, now).map_err(|_| "refused");
            let messages = messages.expect("the queue").into_iter();
            messages.map(|message| message.body).collect::<Vec<_>>()
        };
        assert_eq!(receive(3), ["a0", "b0", "a1"]);
        assert_eq!(receive(2), ["b1", "a2"], "b has fewer in flight");
        assert_eq!(receive(9), ["a3", "a4"]);
    }
}
