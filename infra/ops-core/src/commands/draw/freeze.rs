//! `ops draw freeze`.

use std::collections::HashSet;

use common::clock::Clock;
use common::domain::campaign::{Campaign, PersonalData};
use common::domain::ids::Reference;
use common::domain::scope::Scope;
use common::domain::timestamp::Timestamp;
use draw::Header;
use serde_json::{Value, json};

use super::show::{as_json, described};
use crate::cli::FreezeArgs;
use crate::draws::freeze::{self, FreezePlan, FreezeReport, ReadReport};
use crate::draws::header;
use crate::draws::shown::options;
use crate::failure::Failure;
use crate::format::{grouped, table, zoned_time};
use crate::tables::Tables;
use crate::terminal::{Report, Terminal};

/// `--json` has all.
const MAX_PRINTED: usize = 20;

pub(super) async fn run(
    args: FreezeArgs,
    tables: &Tables,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    let FreezeArgs {
        draw,
        from,
        to,
        prizes,
        at,
        one_prize_per_entrant,
        output,
        confirm,
    } = args;
    let (scope, name) = (Scope::from(draw.scope), draw.name);
    let campaign = tables.campaign(&scope.campaign).await?;
    refuse_without_phones(&campaign, clock.now())?;
    let zone = campaign.timezone;
    let plan = FreezePlan {
        scope: scope.clone(),
        name,
        from: from.begin(zone),
        to: to.end(zone),
        prizes,
        one_prize_per_entrant,
        at: at.resolve(zone, clock.now()),
        zone,
        output: output.clone(),
        confirm,
    };
    let FreezeReport {
        draw,
        evidence,
        read,
    } = Box::pin(freeze::freeze(tables, plan, clock, terminal)).await?;
    let mut json = as_json(&scope, &draw, &[], &HashSet::new())?;
    let mut text = described(&scope, &draw, &[], &HashSet::new(), zone)?;
    text.push_str(&format!(
        "files       {}, with openings.csv, which is secret\nevidence    {evidence}\n",
        output.display()
    ));
    text.push_str(&warnings(&header(&draw)?));
    if let Some(read) = &read {
        text.push_str(&read_text(read));
        let ReadReport {
            days,
            unsettled,
            largest: _,
            given_by_hand: _,
        } = read;
        add(&mut json, "days", json!(days));
        add(
            &mut json,
            "unsettled",
            json!(
                unsettled
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
            ),
        );
    }
    add(&mut json, "output", json!(output));
    add(&mut json, "evidence", json!(evidence));
    text.push_str(&format!(
        "\nBefore the round's time, read the commitment out and let all present copy it. Then: ops draw run {}\n",
        options(&scope, &draw.name)
    ));
    Ok(Report::new(json, text))
}

/// Too many prizes, and earlier draws of the period.
fn warnings(header: &Header) -> String {
    let mut text = String::new();
    let prizes = header
        .prizes
        .iter()
        .fold(0_u64, |sum, prize| sum.saturating_add(prize.number.get()));
    if prizes > header.rows.get() {
        text.push_str(&format!(
            "\nThere are {} prizes and {} entrants: some prizes can have no winner.\n",
            grouped(prizes),
            grouped(header.rows.get())
        ));
    }
    if !header.overlapping.is_empty() {
        text.push_str(
            "\nEarlier draws have entries of this period. The sheet and the certificate name them: be ready to say why there \
             are several.\n",
        );
    }
    text
}

fn read_text(
    ReadReport {
        days, unsettled, ..
    }: &ReadReport,
) -> String {
    let rows: Vec<_> = days
        .iter()
        .map(|(day, total)| day_row(day, total))
        .collect();
    let mut text = format!("\n{}", table(&["DAY", "SUBMISSIONS", "ENTRIES"], &rows));
    text.push_str(&unsettled_text(unsettled));
    text
}

/// Entrants whose phone is deleted would be missing.
fn refuse_without_phones(campaign: &Campaign, now: Timestamp) -> Result<(), Failure> {
    let Some(until) = campaign
        .keeps_until(PersonalData::Phones)
        .filter(|until| *until <= now)
    else {
        return Ok(());
    };
    let Campaign { slug, timezone, .. } = campaign;
    let message = format!(
        "{slug} keeps phones until {}, so entrants would be missing from the draw; `ops campaign show {slug}` says whether \
         any are deleted: if none are, raise retention.phones_days in its file, apply it, and run this again",
        zoned_time(until, *timezone)
    );
    Err(Failure::new("phones_deleted", message))
}

fn day_row(day: &str, total: &crate::draws::DayTotal) -> Vec<String> {
    vec![
        day.to_owned(),
        grouped(total.submissions),
        grouped(total.entries),
    ]
}

fn unsettled_text(unsettled: &[Reference]) -> String {
    let count = unsettled.len();
    if count == 0 {
        return String::new();
    }
    let shown: Vec<_> = unsettled
        .iter()
        .take(MAX_PRINTED)
        .map(ToString::to_string)
        .collect();
    let more = count.saturating_sub(shown.len());
    let more = if more == 0 {
        String::new()
    } else {
        format!(" and {more} more")
    };
    format!(
        "\n{count} submissions are not settled and not in this draw: {}{more}. By the rule of this service, an entry is in \
         the draw of the period in which it is accepted, so these join the next one.\n",
        shown.join(" ")
    )
}

fn add(json: &mut Value, name: &str, value: Value) {
    if let Some(fields) = json.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
}
