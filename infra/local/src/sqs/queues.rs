//! Queues and their messages: visibility, receive counts and dead-letter queues. Time is an argument.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use chrono::{DateTime, Utc};
use md5::{Digest, Md5};
use tokio::time::Instant;
use uuid::Uuid;

/// SQS's maximum visibility timeout: 12 hours.
pub(super) const MAX_VISIBILITY: Duration = Duration::from_hours(12);

#[derive(Clone, Debug)]
pub struct QueueOptions {
    pub name: String,
    /// Visibility timeout if the receiver sets none; at most 12 hours.
    pub visibility: Duration,
    /// The dead-letter queue, and the number of receives after which a message moves there.
    pub dead_letter: Option<(String, u32)>,
}

#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) id: Uuid,
    pub(super) body: String,
    pub(super) md5: String,
    pub(super) sent: DateTime<Utc>,
    pub(super) first_received: Option<DateTime<Utc>>,
    pub(super) receives: u32,
    /// The receipt handle of the latest receive.
    pub(super) receipt: String,
    visible_at: Instant,
}

/// Message counts of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) visible: usize,
    pub(super) in_flight: usize,
    pub(super) delayed: usize,
}

#[derive(Debug)]
pub(super) struct NoSuchQueue;

/// The result of changing a message's visibility.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changed {
    Done,
    /// The receipt handle is not that of the latest receive, or its visibility timeout has expired.
    NotInFlight,
}

/// Parameters of a receive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receive {
    pub(super) most: usize,
    /// `None` uses the queue's own.
    pub(super) visibility: Option<Duration>,
}

struct Queue {
    visibility: Duration,
    dead_letter: Option<(String, u32)>,
    /// In order of arrival.
    messages: Vec<Message>,
}

pub(super) struct Queues {
    queues: BTreeMap<String, Queue>,
    process_number: u64,
    last_number: u64,
}

impl Queues {
    /// Creates empty queues. `process_number` keeps message ids apart from those of other processes.
    pub(super) fn new(options: Vec<QueueOptions>, process_number: u64) -> io::Result<Self> {
        let mut queues = BTreeMap::new();
        for QueueOptions {
            name,
            visibility,
            dead_letter,
        } in options
        {
            let character = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if !(1..=80).contains(&name.len()) || !name.chars().all(character) {
                return Err(invalid(format!(
                    "{name:?} is not a name of a standard queue"
                )));
            }
            if visibility > MAX_VISIBILITY {
                return Err(invalid(format!(
                    "the visibility timeout of {name} is above 12 hours"
                )));
            }
            let queue = Queue {
                visibility,
                dead_letter,
                messages: Vec::new(),
            };
            if queues.insert(name.clone(), queue).is_some() {
                return Err(invalid(format!("there are two queues named {name}")));
            }
        }
        for (name, queue) in &queues {
            if let Some((target, most)) = &queue.dead_letter
                && (target == name || !queues.contains_key(target) || *most == 0)
            {
                return Err(invalid(format!(
                    "the dead-letter queue of {name} has to be another one of the queues, after at least one \
                     receive"
                )));
            }
        }
        Ok(Self {
            queues,
            process_number,
            last_number: 0,
        })
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.queues.contains_key(name)
    }

    pub(super) fn visibility(&self, name: &str) -> Result<Duration, NoSuchQueue> {
        self.queues
            .get(name)
            .map(|queue| queue.visibility)
            .ok_or(NoSuchQueue)
    }

    /// Adds a message that becomes visible at `visible_at`.
    pub(super) fn send(
        &mut self,
        name: &str,
        body: String,
        sent: DateTime<Utc>,
        visible_at: Instant,
    ) -> Result<Message, NoSuchQueue> {
        let number = self.number();
        let queue = self.queues.get_mut(name).ok_or(NoSuchQueue)?;
        let message = Message {
            id: Uuid::from_u64_pair(self.process_number, number),
            md5: hexadecimal_md5(&body),
            body,
            sent,
            first_received: None,
            receives: 0,
            receipt: String::new(),
            visible_at,
        };
        queue.messages.push(message.clone());
        Ok(message)
    }

    /// Takes the oldest visible messages, which are then in flight.
    pub(super) fn receive(
        &mut self,
        name: &str,
        receive: Receive,
        received: DateTime<Utc>,
        now: Instant,
    ) -> Result<Vec<Message>, NoSuchQueue> {
        let first = self.last_number;
        let queue = self.queues.get_mut(name).ok_or(NoSuchQueue)?;
        let visible_at = now + receive.visibility.unwrap_or(queue.visibility);
        let visible = queue
            .messages
            .iter_mut()
            .filter(|message| message.visible_at <= now);
        let taken: Vec<Message> = visible
            .take(receive.most)
            .zip(first.saturating_add(1)..)
            .map(|(message, number)| {
                message.visible_at = visible_at;
                message.receives = message.receives.saturating_add(1);
                message.first_received.get_or_insert(received);
                message.receipt = format!("{}#{number}", message.id);
                self.last_number = number;
                message.clone()
            })
            .collect();
        Ok(taken)
    }

    /// Deletes the message of a receipt handle. A handle of an earlier receive deletes nothing.
    pub(super) fn delete(&mut self, name: &str, receipt: &str) -> Result<(), NoSuchQueue> {
        let queue = self.queues.get_mut(name).ok_or(NoSuchQueue)?;
        queue.messages.retain(|message| message.receipt != receipt);
        Ok(())
    }

    /// Changes when a message in flight becomes visible.
    pub(super) fn change_visibility(
        &mut self,
        name: &str,
        receipt: &str,
        visible_at: Instant,
        now: Instant,
    ) -> Result<Changed, NoSuchQueue> {
        let queue = self.queues.get_mut(name).ok_or(NoSuchQueue)?;
        let mut in_flight = queue
            .messages
            .iter_mut()
            .filter(|message| message.visible_at > now);
        Ok(match in_flight.find(|message| message.receipt == receipt) {
            Some(message) => {
                message.visible_at = visible_at;
                Changed::Done
            }
            None => Changed::NotInFlight,
        })
    }

    pub(super) fn counts(&self, name: &str, now: Instant) -> Result<Counts, NoSuchQueue> {
        let queue = self.queues.get(name).ok_or(NoSuchQueue)?;
        let mut counts = Counts::default();
        for message in &queue.messages {
            let count = match (message.visible_at <= now, message.receives) {
                (true, _) => &mut counts.visible,
                (false, 0) => &mut counts.delayed,
                (false, _) => &mut counts.in_flight,
            };
            *count = count.saturating_add(1);
        }
        Ok(counts)
    }

    /// Moves messages that reached their maximum receives to the dead-letter queue, where they are visible at once.
    pub(super) fn move_dead_letters(&mut self, now: Instant) {
        let mut dead = Vec::new();
        for queue in self.queues.values_mut() {
            if let Some((target, most)) = &queue.dead_letter {
                let over =
                    |message: &mut Message| message.visible_at <= now && message.receives >= *most;
                dead.extend(
                    queue
                        .messages
                        .extract_if(.., over)
                        .map(|message| (target.clone(), message)),
                );
            }
        }
        for (target, mut message) in dead {
            // Receipt handles of the source queue no longer match.
            message.receipt = String::new();
            if let Some(queue) = self.queues.get_mut(&target) {
                queue.messages.push(message);
            }
        }
    }

    /// When the next message of any queue becomes visible, which is the earliest time that a receive without a result
    /// can find one. All queues count, because a message of one may move to another.
    pub(super) fn next_visible(&self, now: Instant) -> Option<Instant> {
        let messages = self.queues.values().flat_map(|queue| &queue.messages);
        messages
            .map(|message| message.visible_at)
            .filter(|visible_at| *visible_at > now)
            .min()
    }

    fn number(&mut self) -> u64 {
        self.last_number = self.last_number.saturating_add(1);
        self.last_number
    }
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

fn hexadecimal_md5(body: &str) -> String {
    Md5::digest(body)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_the_first_receive_stays() {
        let options = QueueOptions {
            name: "work".to_owned(),
            visibility: Duration::ZERO,
            dead_letter: None,
        };
        let (mut queues, now) = (Queues::new(vec![options], 1).unwrap(), Instant::now());
        queues
            .send("work", "one".to_owned(), DateTime::UNIX_EPOCH, now)
            .unwrap();
        let how = Receive {
            most: 1,
            visibility: None,
        };
        let times = [10, 20].map(|second| DateTime::from_timestamp_secs(second).unwrap());
        let seen =
            times.map(|time| queues.receive("work", how, time, now).unwrap()[0].first_received);
        assert_eq!(seen, [Some(times[0]); 2]);
    }
}
