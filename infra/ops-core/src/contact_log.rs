//! The log of calls to winners, as the commands and pages of draws and of instant prizes share it.

use common::domain::contact_log::MAX_CALLS;

use crate::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WinnersOf {
    Draw,
    Instant,
}

impl WinnersOf {
    /// The audit log's name of a step.
    pub(crate) fn action(self, event: &ContactEvent) -> &'static str {
        let [drawn, call, confirm, hand_over, lose] = match self {
            Self::Draw => [
                "draw.run",
                "draw.call",
                "draw.confirm",
                "draw.hand_over",
                "draw.skip",
            ],
            Self::Instant => [
                "prize.won",
                "prize.call",
                "prize.confirm",
                "prize.hand_over",
                "prize.forfeit",
            ],
        };
        match event {
            ContactEvent::Drawn => drawn,
            ContactEvent::NoAnswer | ContactEvent::Reached => call,
            ContactEvent::Identified => confirm,
            ContactEvent::HandedOver => hand_over,
            ContactEvent::Skipped { .. } => lose,
        }
    }

    pub fn event_words(self, event: &ContactEvent) -> String {
        let lost = match self {
            Self::Draw => "skipped",
            Self::Instant => "forfeited",
        };
        match event {
            ContactEvent::Drawn => "drawn".to_owned(),
            ContactEvent::NoAnswer => "called, no answer".to_owned(),
            ContactEvent::Reached => "called and reached".to_owned(),
            ContactEvent::Identified => "showed an identity card".to_owned(),
            ContactEvent::HandedOver => "has the prize".to_owned(),
            ContactEvent::Skipped {
                reason: SkipReason::Revoked,
                inspector: None,
            } if self == Self::Instant => "the entry was revoked".to_owned(),
            ContactEvent::Skipped { reason, inspector } => {
                let before = inspector.as_ref().map(|name| format!(" before {name}"));
                format!(
                    "{lost}{}: {}",
                    before.unwrap_or_default(),
                    reason.in_words()
                )
            }
        }
    }

    /// The next command and its options; `None` once the winner has the prize or has lost it.
    pub(crate) fn next_command(self, log: &ContactLog, is_blocked: bool) -> Option<String> {
        let lose = |reason: &str| {
            let command = match self {
                Self::Draw => "skip",
                Self::Instant => "forfeit",
            };
            format!("{command} --reason {reason} --inspector NAME")
        };
        Some(match log.state() {
            ContactState::HandedOver | ContactState::Skipped { .. } => return None,
            _ if is_blocked => lose("excluded"),
            ContactState::Drawn => "call".to_owned(),
            ContactState::Called { times } if times < MAX_CALLS => "call".to_owned(),
            ContactState::Called { .. } => lose("no-answer"),
            ContactState::Reached => "confirm".to_owned(),
            ContactState::Identified => "hand-over".to_owned(),
        })
    }
}

pub(crate) fn steps_json(log: &ContactLog) -> Vec<Value> {
    let step = |step: &ContactStep| json!({ "at": step.at, "by": step.by, "event": step.event });
    log.steps.iter().map(step).collect()
}

/// The steps without the operators, who are people too.
pub(crate) fn steps_of_person(log: &ContactLog) -> Vec<Value> {
    let step = |step: &ContactStep| json!({ "at": step.at, "event": step.event });
    log.steps.iter().map(step).collect()
}
