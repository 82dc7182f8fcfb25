//! One winner: the log, and the steps that can follow.

use ops_core::contact_log::WinnersOf;
use ops_core::draws::call_log::Winner;

use super::super::contact_log::{Step, skip_form, steps, timeline};
use super::{contact_state, path_of_draw, path_of_winner};
use crate::prelude::*;

/// The step of a form; `finish` repeats an interrupted skip.
pub(super) fn step_of(form: &Form, winner: &Winner) -> Result<Step, Failure> {
    if form.get("step") != "finish" {
        return Step::parse(form, winner.draw.name.as_str());
    }
    let last = winner.contact.steps.last().map(|step| step.event.clone());
    let skip = last.filter(|event| matches!(event, ContactEvent::Skipped { .. }));
    skip.map(Step::Log).ok_or_else(|| {
        failure!(
            "step_refused",
            "this winner is not skipped; nothing was logged"
        )
    })
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
        let path = path_of_winner(scope, contact);
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
                form method="post" action=(path) {
                    button name="step" value="finish" { "Draw the next winner" }
                }
            }
            @if acts {
                (steps(&contact.log, &path, phone.is_none() && contact.submission_id.is_some()))
                p.soft { "A look at the number is recorded in the audit log. Three calls without an answer, each a minute after the last, are made before the next in the order is drawn." }
            }
            (timeline(&contact.log, WinnersOf::Draw, zone))
            @if acts {
                h2 { "Skip this winner" }
                p { "The next in the order is drawn." }
                (skip_form(&contact.log, WinnersOf::Draw, &path, draw.name.as_str(), is_blocked))
            }
            @if !may_act { (lacks("Calling winners", Role::Operator)) }
        };
        let title = format!("Place {} of {}", contact.place, contact.prize);
        Page::new(&title, Section::Draws)
            .in_scope(scope)
            .render(content)
    }
}
