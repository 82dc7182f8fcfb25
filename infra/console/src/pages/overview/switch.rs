//! The pause switch of a campaign: who turned it, when and why, and what consumers read meanwhile.

use common::domain::message::{Language, MessageKey};
use common::store::campaigns::{PauseChange, StoredCampaign};
use ops_core::campaigns::set_paused;

use super::status;
use crate::prelude::*;

pub(super) fn routes(path: &str) -> Router<Console> {
    Router::new()
        .route(&format!("{path}/pause"), post(pause))
        .route(&format!("{path}/resume"), post(resume))
}

async fn pause(console: Console, Named(scope): Named<Scope>, form: Form) -> PageResult<Redirect> {
    switch(&console, &scope, true, &form).await
}

async fn resume(console: Console, Named(scope): Named<Scope>, form: Form) -> PageResult<Redirect> {
    switch(&console, &scope, false, &form).await
}

/// The turn of the switch that the page was made after.
const LAST: &str = "last";

fn last_turn(last: Option<&PauseChange>) -> String {
    last.map(|last| last.at.as_millis().to_string())
        .unwrap_or_default()
}

async fn switch(
    console: &Console,
    scope: &Scope,
    paused: bool,
    form: &Form,
) -> PageResult<Redirect> {
    let (tables, now) = (console.tables()?, console.now());
    let why = validate_reason(form.get("why"), "the reason")?;
    let stored = tables.campaigns.get_stored(&scope.campaign).await?;
    if form.get(LAST) != last_turn(stored.as_ref().and_then(|stored| stored.pause.as_ref())) {
        return Err(failure!(
            "changed_meanwhile",
            "the campaign was paused or resumed since this page was made, so nothing was done: open the overview again"
        )
        .into());
    }
    set_paused(&tables, &scope.campaign, paused, Some(&why), now).await?;
    Ok(Redirect::to(&path_of(scope)))
}

pub(super) async fn state(
    console: &Console,
    scope: &Scope,
    stored: &StoredCampaign,
) -> PageResult<Markup> {
    let (campaign, now) = (&stored.campaign, console.now());
    let zone = campaign.timezone;
    let is_over = campaign.status(now) == CampaignStatus::Ended;
    let may_change = console.has(Role::Operator).await?;
    let last = stored
        .pause
        .as_ref()
        .filter(|last| last.paused == campaign.paused);
    Ok(html! {
        div.state {
            p {
                (status(campaign, now)) " " (campaign.brand)
                @if let Some(start) = campaign.window.start { " · from " (zoned_time(start, zone)) }
                @if let Some(end) = campaign.window.end { " · to " (zoned_time(end, zone)) }
            }
            @if may_change { a.button href={ "/campaigns/" (scope.campaign) "/edit" } { "Change the campaign" } }
        }
        @match last {
            Some(last) => p.bad[campaign.paused] { (in_words(last, zone, now)) },
            None if campaign.paused => p.bad { "Paused by a change of the campaign itself: the page Changes says by whom." },
            None => {}
        }
        @if !may_change {
            (lacks("To pause or change the campaign", Role::Operator))
        } @else if !is_over {
            (form_of(scope, stored))
        }
    })
}

/// `Paused by asha, 21:34, printing error.`
fn in_words(last: &PauseChange, zone: Tz, now: Timestamp) -> String {
    let PauseChange {
        paused,
        at,
        by,
        why,
    } = last;
    let word = if *paused { "Paused" } else { "Resumed" };
    let local = at.in_zone(zone);
    let time = match at.day_in(zone) == now.day_in(zone) {
        true => local.format("%H:%M"),
        false => local.format("%-d %B %Y, %H:%M"),
    };
    let why = why.as_deref().map(|why| format!(", {why}"));
    format!("{word} by {by}, {time}{}.", why.unwrap_or_default())
}

fn form_of(scope: &Scope, stored: &StoredCampaign) -> Markup {
    let campaign = &stored.campaign;
    let (does, name) = match campaign.paused {
        true => ("resume", "Resume"),
        false => ("pause", "Pause"),
    };
    let read = |language| campaign.messages.text(MessageKey::CampaignPaused, language);
    html! {
        details.switch {
            summary { (name) " the campaign…" }
            @if campaign.paused {
                p { "It takes entries again, in test and live, within 5 seconds." }
            } @else {
                p { "It takes no entries, in test and live, within 5 seconds. Until it is resumed, consumers read:" }
                blockquote lang="en" { (read(Language::En)) }
                blockquote lang="sw" { (read(Language::Sw)) }
            }
            form method="post" action={ (path_of(scope)) "/" (does) } {
                (hidden(LAST, &last_turn(stored.pause.as_ref())))
                (text_field("why", "Reason, for the record"))
                p { button.danger[!campaign.paused] { (name) " the campaign" } }
            }
        }
    }
}
