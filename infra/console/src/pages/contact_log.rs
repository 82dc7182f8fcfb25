//! A winner's log of calls, as the pages of draws and of instant prizes show it.

use common::domain::contact_log::{ContactLog, ContactStep};
use ops_core::contact_log::WinnersOf;

use crate::prelude::*;

const STEPS: [(&str, &str, ContactEvent); 4] = [
    ("no_answer", "Called, no answer", ContactEvent::NoAnswer),
    ("reached", "Called and reached", ContactEvent::Reached),
    (
        "identified",
        "Has shown an identity card",
        ContactEvent::Identified,
    ),
    ("handed_over", "Has the prize", ContactEvent::HandedOver),
];

pub(super) enum Step {
    ShowPhone,
    Log(ContactEvent),
}

impl Step {
    /// `typed` confirms that a winner loses the prize.
    pub(super) fn parse(form: &Form, typed: &str) -> Result<Self, Failure> {
        let step = form.get("step");
        if step == "show_phone" {
            return Ok(Self::ShowPhone);
        }
        if step == "skip" {
            check_typed(form, typed)?;
            let missing = || {
                failure!(
                    "reason_missing",
                    "nothing was logged; choose a reason of the list"
                )
            };
            let reason = given().find(|reason| reason.as_str() == form.get("reason"));
            return Ok(Self::Log(ContactEvent::Skipped {
                reason: reason.ok_or_else(missing)?,
                inspector: Some(validate_reason(
                    form.get("inspector"),
                    "the inspector's name",
                )?),
            }));
        }
        let known = STEPS.into_iter().find(|(name, _, _)| *name == step);
        let unknown = || {
            failure!(
                "field_invalid",
                "the page sent no step that is known; reload it"
            )
        };
        known
            .map(|(_, _, event)| Self::Log(event))
            .ok_or_else(unknown)
    }
}

fn given() -> impl Iterator<Item = SkipReason> {
    SkipReason::ALL
        .into_iter()
        .filter(|reason| reason.is_given())
}

/// True if a step can follow the log, in time; logging it checks the entries.
fn follows(log: &ContactLog, event: ContactEvent) -> bool {
    let step = ContactStep {
        at: Timestamp::MAX,
        by: None,
        event,
    };
    log.after(step).is_ok()
}

pub(super) fn state_pill(log: &ContactLog, words: &str, is_blocked: bool) -> Markup {
    let class = match log.state() {
        ContactState::Drawn | ContactState::Called { .. } => "paused",
        ContactState::Reached | ContactState::Identified => "open",
        ContactState::HandedOver => "good",
        ContactState::Skipped { .. } => "over",
    };
    html! {
        (pill(class, words))
        @if is_blocked { " " (pill("over", "blocked")) }
    }
}

/// The steps that can follow, and the number to call where it is not shown yet.
pub(super) fn steps(log: &ContactLog, path: &str, has_hidden_phone: bool) -> Markup {
    html! {
        form.row method="post" action=(path) {
            @if has_hidden_phone { button name="step" value="show_phone" { "Show the number" } }
            @for (name, words, event) in STEPS {
                @if follows(log, event) { button name="step" value=(name) { (words) } }
            }
        }
    }
}

pub(super) fn last_step(log: &ContactLog, of: WinnersOf, zone: Tz) -> Markup {
    html! {
        @if let Some(last) = log.steps.last() {
            (of.event_words(&last.event)) br; span.soft { (zoned_time(last.at, zone)) }
        }
    }
}

pub(super) fn timeline(log: &ContactLog, of: WinnersOf, zone: Tz) -> Markup {
    html! {
        h2 { "What happened" }
        ol.timeline {
            @for step in &log.steps {
                li {
                    time datetime=(step.at) { (zoned_time(step.at, zone)) }
                    (of.event_words(&step.event))
                    @if let Some(by) = &step.by { ", logged by " (by.name()) }
                }
            }
        }
    }
}

/// The form by which a winner loses the prize: `typed` confirms it.
pub(super) fn skip_form(
    log: &ContactLog,
    of: WinnersOf,
    path: &str,
    typed: &str,
    is_blocked: bool,
) -> Markup {
    let button = match of {
        WinnersOf::Draw => "Skip",
        WinnersOf::Instant => "Forfeit",
    };
    let follows = |reason: &SkipReason| {
        follows(
            log,
            ContactEvent::Skipped {
                reason: *reason,
                inspector: None,
            },
        )
    };
    let options = given()
        .filter(follows)
        // Revoking an entry takes its prize back by itself.
        .filter(|reason| of == WinnersOf::Draw || *reason != SkipReason::Revoked)
        .map(|reason| (reason.as_str(), reason.in_words()));
    let excluded = is_blocked.then_some(SkipReason::Excluded.as_str());
    typed_form(
        path,
        typed,
        button,
        html! {
            (hidden("step", "skip"))
            (select("reason", "Reason", std::iter::once(("", "choose one")).chain(options), excluded.unwrap_or_default(), true))
            (text_field("inspector", "Name of the inspector or witness"))
        },
    )
}
