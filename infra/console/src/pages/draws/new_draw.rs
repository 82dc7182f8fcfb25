//! The form of a new draw.

use std::path::PathBuf;

use ops_core::draws::Prize;
use ops_core::draws::freeze::{FreezePlan, MAX_WRITE_DELAY};
use ops_core::{Moment, TimeOfDay};

use crate::prelude::*;

/// Lines for prizes in an empty form.
const PRIZE_LINES: usize = 3;
const MAX_PRIZES: usize = 50;
/// A round's usual distance: ten minutes to read the commitment out, and some to freeze.
const USUAL_NOTICE: Duration = Duration::from_secs(20 * 60);
const ROUNDING_MILLIS: i64 = 5 * 60 * 1000;

#[derive(Clone, PartialEq, Eq)]
pub(super) struct NewDraw {
    pub(super) name: String,
    from: [String; 2],
    to: [String; 2],
    prizes: Vec<[String; 2]>,
    one_prize: bool,
    at: String,
}

pub(super) type Wrong = (&'static str, String);

impl NewDraw {
    /// The period after the latest draw's, or from the campaign's begin, up to yesterday; within a day, up to the last entries that
    /// are written.
    pub(super) fn suggested(campaign: &Campaign, draws: &[Draw], now: Timestamp) -> Self {
        let zone = campaign.timezone;
        let day = |at: Timestamp| at.day_in(zone);
        let ends = draws.iter().filter(|draw| !draw.is_abandoned());
        let ends = ends.filter_map(|draw| Some(ops_core::draws::header(draw).ok()?.period.to));
        let from = ends.max().map(|end| Timestamp::from(end.to_utc()));
        let from = from.or(campaign.window.start).unwrap_or(now);
        let yesterday = Timestamp::from_millis(now.as_millis() - 24 * 60 * 60 * 1000);
        let last = campaign
            .window
            .end
            .map_or(yesterday, |end| end.min(yesterday));
        let at = now.after(USUAL_NOTICE).as_millis() / ROUNDING_MILLIS + 1;
        let at = Timestamp::from_millis(at * ROUNDING_MILLIS).in_zone(zone);
        let time = from.in_zone(zone).format("%H:%M").to_string();
        let time = if time == "00:00" { String::new() } else { time };
        Self {
            name: String::new(),
            from: [day(from), time],
            to: if last >= from {
                [day(last), String::new()]
            } else {
                let last = now.before(MAX_WRITE_DELAY).in_zone(zone);
                [
                    last.format("%Y-%m-%d").to_string(),
                    last.format("%H:%M").to_string(),
                ]
            },
            prizes: vec![<[String; 2]>::default(); PRIZE_LINES],
            one_prize: false,
            at: at.format("%Y-%m-%dT%H:%M").to_string(),
        }
    }

    pub(super) fn parse(form: &Form) -> Self {
        let text = |name: &str| form.get(name).to_owned();
        let prizes = (1..=MAX_PRIZES).map(|line| {
            [
                text(&format!("prize_{line}")),
                text(&format!("number_{line}")),
            ]
        });
        let mut prizes: Vec<_> = prizes.collect();
        while prizes.len() > PRIZE_LINES && prizes.last().is_some_and(is_empty) {
            prizes.pop();
        }
        Self {
            name: text("name"),
            from: [text("from"), text("from_time")],
            to: [text("to"), text("to_time")],
            prizes,
            one_prize: form.get("one_prize") == "yes",
            at: text("at"),
        }
    }

    pub(super) fn with_another_prize(mut self) -> Self {
        self.prizes.push(<[String; 2]>::default());
        self
    }

    pub(super) fn plan(
        &self,
        scope: &Scope,
        zone: Tz,
        now: Timestamp,
        output: PathBuf,
    ) -> Result<FreezePlan, Vec<Wrong>> {
        let mut wrong = Vec::new();
        let name = self.name.parse::<DrawName>();
        let name = name
            .map_err(|error| wrong.push(("name", format!("Write {error}."))))
            .ok();
        let mut moment = |field, [day, time]: &[String; 2]| {
            let text = if time.is_empty() {
                day.clone()
            } else {
                format!("{day}T{time}")
            };
            text.parse::<Moment>()
                .map_err(|_| wrong.push((field, "Choose a day.".to_owned())))
                .ok()
        };
        let (from, to) = (moment("from", &self.from), moment("to", &self.to));
        let at = self.at.parse::<TimeOfDay>();
        let at = at
            .map_err(|_| wrong.push(("at", "Choose a day and a time.".to_owned())))
            .ok();
        let mut prizes = Vec::new();
        for [name, number] in self.prizes.iter().filter(|line| !is_empty(line)) {
            match number.parse() {
                Ok(number) if !name.is_empty() => prizes.push(Prize {
                    name: name.clone(),
                    number,
                }),
                _ => wrong.push((
                    "prizes",
                    "Write each prize's name, and how many there are of it.".to_owned(),
                )),
            }
        }
        if prizes.is_empty() && wrong.iter().all(|(field, _)| *field != "prizes") {
            wrong.push(("prizes", "Write at least one prize.".to_owned()));
        }
        let (Some(name), Some(from), Some(to), Some(at), []) =
            (name, from, to, at, wrong.as_slice())
        else {
            return Err(wrong);
        };
        Ok(FreezePlan {
            scope: scope.clone(),
            name,
            from: from.begin(zone),
            to: to.end(zone),
            prizes,
            one_prize_per_entrant: self.one_prize,
            at: at.resolve(zone, now),
            zone,
            output,
        })
    }

    /// The form, with what was wrong beside its fields.
    pub(super) fn page(&self, path: &str, zone: Tz, wrong: &[Wrong]) -> Markup {
        let field = Fields(wrong);
        html! {
            @if !wrong.is_empty() { p.bad role="alert" { "Nothing was begun. Correct what is marked." } }
            form method="post" action=(path) {
                // The Enter key presses the first button.
                button hidden { "Read the entries" }
                label for="name" { "Name, such as week-03" }
                input id="name" name="name" value=(self.name) required maxlength="64" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby=[field.described("name")];
                (field.told("name"))
                fieldset {
                    legend { "Period, in the time of " (zone.name()) }
                    p.soft { "An entry is in the draw of the time when it was accepted. Without a time, whole days." }
                    div.row {
                        (dated("from", "First day", &self.from, "from its time", &field))
                        (dated("to", "Last day", &self.to, "up to its time", &field))
                    }
                    (field.told("from")) (field.told("to"))
                }
                fieldset aria-describedby=[field.described("prizes")] {
                    legend { "Prizes, drawn in this order" }
                    p.soft { "Alternates need no number: the order goes on until every entrant has a place." }
                    @for (line, [name, number]) in (1..).zip(&self.prizes) { (prize_line(line, name, number)) }
                    (field.told("prizes"))
                    p { button.quiet name="more" value="yes" formnovalidate { "Another prize" } }
                }
                p { label.inline { input type="checkbox" name="one_prize" value="yes" checked[self.one_prize]; " An entrant who has a prize of this draw is skipped for all others" } }
                label for="at" { "Time of the beacon's round" }
                input id="at" name="at" type="datetime-local" step="any" value=(self.at) required aria-describedby=[field.described("at")];
                (field.told("at"))
                p.soft { "At least 10 minutes ahead: the commitment has to be public, and copied by all, before the round can be known." }
                p { button { "Read the entries" } }
                p.soft { "Nothing is frozen yet: the console shows what would be, and asks. A million entries take some minutes." }
            }
        }
    }
}

fn is_empty([name, number]: &[String; 2]) -> bool {
    name.is_empty() && number.is_empty()
}

fn prize_line(line: usize, name: &str, number: &str) -> Markup {
    let ids = [format!("prize_{line}"), format!("number_{line}")];
    let [prize, count] = &ids;
    html! {
        div.row {
            div { label for=(prize) { "Prize " (line) } input id=(prize) name=(prize) value=(name) maxlength="64" autocomplete="off"; }
            div.short { label for=(count) { "Winners " span.unseen { "of prize " (line) } } input id=(count) name=(count) value=(number) inputmode="numeric" pattern="[0-9]+" autocomplete="off"; }
        }
    }
}

fn dated(
    name: &str,
    label: &str,
    [day, time]: &[String; 2],
    when: &str,
    field: &Fields<'_>,
) -> Markup {
    let time_name = format!("{name}_time");
    html! {
        div { label for=(name) { (label) } input id=(name) name=(name) type="date" value=(day) required aria-describedby=[field.described(name)]; }
        div { label for=(time_name) { (when) span.unseen { " of the " (label) } } input id=(time_name) name=(time_name) type="time" value=(time); }
    }
}

struct Fields<'a>(&'a [Wrong]);

impl Fields<'_> {
    fn described(&self, name: &str) -> Option<String> {
        let is_wrong = self.0.iter().any(|(field, _)| *field == name);
        is_wrong.then(|| format!("{name}-wrong"))
    }

    fn told(&self, name: &str) -> Markup {
        let told = self.0.iter().find(|(field, _)| *field == name);
        html! { @if let Some((_, words)) = told { p.wrong id={ (name) "-wrong" } { (words) } } }
    }
}

/// The field that a refusal is about.
pub(super) fn field_of(failure: &Failure) -> Option<&'static str> {
    match failure.code {
        "draw_frozen" | "draw_abandoned" | "draw_late" | "freeze_differs" => Some("name"),
        "period_empty" | "period_open" => Some("to"),
        "round_too_near" | "round_too_far" => Some("at"),
        "draw_invalid" => Some("prizes"),
        _ => None,
    }
}
