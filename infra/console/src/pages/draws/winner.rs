//! One winner: the log, and the steps that can follow.

use common::domain::contact_log::ContactStep;
use ops_core::draws::call_log::Winner;
use ops_core::draws::shown::event_words;

use super::{contact_state, path_of_draw, path_of_winner};
use crate::prelude::*;

/// Form name, label and event of each button.
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
    pub(super) fn parse(form: &Form, winner: &Winner) -> Result<Self, Failure> {
        let step = form.get("step");
        if step == "show_phone" {
            return Ok(Self::ShowPhone);
        }
        if step == "finish" {
            let last = winner.contact.steps.last().map(|step| step.event.clone());
            let skip = last.filter(|event| matches!(event, ContactEvent::Skipped { .. }));
            return skip.map(Self::Log).ok_or_else(|| {
                failure!(
                    "step_refused",
                    "this winner is not skipped; nothing was logged"
                )
            });
        }
        if step == "skip" {
            check_typed(form, winner.draw.name.as_str())?;
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

pub(super) fn named(Query(query): &Query) -> Result<(&str, NonZeroU64), Failure> {
    let unknown = |_| {
        failure!(
            "winner_unknown",
            "this is not a winner's page; choose a winner in the draw's list"
        )
    };
    Ok((
        query.get("prize"),
        query.get("place").parse().map_err(unknown)?,
    ))
}

fn given() -> impl Iterator<Item = SkipReason> {
    SkipReason::ALL
        .into_iter()
        .filter(|reason| reason.is_given())
}

/// True if a step can follow the log, in time; logging it checks the entries.
fn follows(winner: &Winner, event: ContactEvent) -> bool {
    winner
        .contact
        .after(ContactStep {
            at: Timestamp::MAX,
            by: None,
            event,
        })
        .is_ok()
}

/// A winner, as the page shows it.
pub(super) struct WinnerPage<'a> {
    pub(super) winner: &'a Winner,
    pub(super) is_blocked: bool,
    /// True if the next winner was not drawn after the skip.
    pub(super) is_interrupted: bool,
    pub(super) zone: Tz,
    pub(super) phone: Option<&'a str>,
    pub(super) may_act: bool,
}

impl WinnerPage<'_> {
    pub(super) fn render(self) -> Html<String> {
        let Self {
            winner,
            is_blocked,
            is_interrupted,
            zone,
            phone,
            may_act,
        } = self;
        let Winner {
            scope,
            draw,
            contact,
            ..
        } = winner;
        let acts = contact.is_open() && may_act;
        let content = html! {
            p { (contact_state(contact, is_blocked)) " " a href=(path_of_draw(scope, &draw.name)) { "All winners of the draw " (draw.name) } }
            (facts(&[
                ("Reference", html! {
                    @match (&contact.reference, contact.submission_id) {
                        (Some(reference), Some(id)) => a href=(path_of_submission(id)) { (reference) },
                        (reference, _) => (or_dash(reference.as_ref())),
                    }
                }),
                ("Region", html! { (or_dash(contact.region.as_ref())) }),
                ("Phone", html! {
                    @match phone { Some(phone) => strong { (phone) }, None => (or_dash(contact.masked_phone.as_ref())) }
                }),
            ]))
            @if is_blocked {
                p { "The phone was blocked after the freeze: skip this winner, or unblock the phone." }
            }
            @if is_interrupted && may_act {
                p.bad { "This winner was skipped, and the next one not drawn, because that was interrupted." }
                form method="post" action=(path_of_winner(scope, contact)) {
                    button name="step" value="finish" { "Draw the next winner" }
                }
            }
            @if acts { (steps(winner, phone.is_some())) }
            h2 { "What happened" }
            ol.timeline {
                @for step in &contact.steps {
                    li {
                        time datetime=(step.at) { (zoned_time(step.at, zone)) }
                        (event_words(&step.event))
                        @if let Some(by) = &step.by { ", logged by " (by.name()) }
                    }
                }
            }
            @if acts { (skip(winner, is_blocked)) }
            @if !may_act { (lacks("Calling winners", Role::Operator)) }
        };
        let title = format!("Place {} of {}", contact.place, contact.prize);
        Page::new(&title, Section::Draws)
            .in_scope(scope)
            .render(content)
    }
}

fn steps(winner: &Winner, is_shown: bool) -> Markup {
    html! {
        form.row method="post" action=(path_of_winner(&winner.scope, &winner.contact)) {
            @if !is_shown && winner.contact.submission_id.is_some() {
                button name="step" value="show_phone" { "Show the number" }
            }
            @for (name, words, event) in STEPS {
                @if follows(winner, event) { button name="step" value=(name) { (words) } }
            }
        }
        p.soft { "A look at the number is recorded in the audit log. Three calls without an answer, each a minute after the last, are made before the next in the order is drawn." }
    }
}

fn skip(winner: &Winner, is_blocked: bool) -> Markup {
    let follows = |reason: &SkipReason| {
        follows(
            winner,
            ContactEvent::Skipped {
                reason: *reason,
                inspector: None,
            },
        )
    };
    let options = given()
        .filter(follows)
        .map(|reason| (reason.as_str(), reason.in_words()));
    let excluded = is_blocked.then_some(SkipReason::Excluded.as_str());
    let path = path_of_winner(&winner.scope, &winner.contact);
    html! {
        h2 { "Skip this winner" }
        p { "The next in the order is drawn." }
        (typed_form(&path, winner.draw.name.as_str(), "Skip", html! {
            (hidden("step", "skip"))
            (select("reason", "Reason", std::iter::once(("", "choose one")).chain(options), excluded.unwrap_or_default(), true))
            (text_field("inspector", "Name of the inspector or witness"))
        }))
    }
}
