use draw::Header;

use super::show::ShownDraw;
use crate::cli::FreezeArgs;
use crate::draws::freeze::{self, FreezePlan, FreezeReport};
use crate::draws::shown::options;
use crate::draws::{ReadReport, header};
use crate::prelude::*;

const MAX_PRINTED: usize = 20;

pub(super) async fn run(
    args: FreezeArgs,
    tables: &Tables,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let FreezeArgs {
        draw,
        from,
        to,
        prizes,
        at,
        one_prize_per_entrant,
        output,
    } = args;
    let (scope, name) = draw.named();
    let campaign = tables.campaign(&scope.campaign).await?;
    refuse_without_phones(&campaign, clock.now())?;
    let zone = campaign.timezone;
    let plan = FreezePlan {
        scope: scope.clone(),
        name: name.clone(),
        from: from.begin(zone),
        to: to.end(zone),
        prizes,
        one_prize_per_entrant,
        at: at.resolve(zone, clock.now()),
        zone,
        output: output.clone(),
    };
    let freezing = freeze::freeze(tables, plan, clock, terminal);
    let FreezeReport { evidence, read } = Box::pin(freezing).await?;
    let shown = ShownDraw::find(tables, &scope, &name).await?;
    let (mut json, mut text) = (shown.json()?, shown.text()?);
    text += &format!(
        "files       {}, with openings.csv, which is secret\nevidence    {evidence}\n",
        output.display()
    );
    text += &warnings(&header(&shown.draw)?);
    if let Some(read) = &read {
        text += &read_text(read);
        let unsettled = read.unsettled.iter().map(ToString::to_string).collect();
        json = extended(json, [("days", json!(read.days)), ("unsettled", unsettled)]);
    }
    let json = extended(
        json,
        [("output", json!(output)), ("evidence", json!(evidence))],
    );
    text += &format!(
        "\nBefore the round's time, read the commitment out and let all present copy it. Then: ops draw run {}\n",
        options(&scope, &name)
    );
    Ok(Report::new(json, text))
}

/// Too many prizes, and earlier draws of the period.
fn warnings(header: &Header) -> String {
    let mut text = String::new();
    let prizes = header.prize_count();
    if prizes > header.rows.get() {
        text += &format!(
            "\nThere are {} prizes and {} entrants: some prizes can have no winner.\n",
            grouped(prizes),
            grouped(header.rows.get())
        );
    }
    if !header.overlapping.is_empty() {
        text += "\nEarlier draws have entries of this period. The sheet and the certificate name them: be ready to say why there \
             are several.\n";
    }
    text
}

fn read_text(read: &ReadReport) -> String {
    let days = read.days.iter();
    let rows: Vec<_> = days
        .map(|(day, total)| extended(json!(total), [("day", json!(day))]))
        .collect();
    let columns = [
        ("DAY", "/day"),
        ("SUBMISSIONS", "/submissions"),
        ("ENTRIES", "/entries"),
    ];
    let days = table(&columns, &rows, Tz::UTC);
    format!("\n{days}{}", unsettled_text(&read.unsettled))
}

/// Entrants whose phone is deleted would be missing.
fn refuse_without_phones(campaign: &Campaign, now: Timestamp) -> Result<()> {
    let Some(until) = campaign
        .keeps_until(PersonalData::Phones)
        .filter(|until| *until <= now)
    else {
        return Ok(());
    };
    let Campaign { slug, timezone, .. } = campaign;
    bail!(
        "phones_deleted",
        "{slug} keeps phones until {}, so entrants would be missing from the draw; `ops campaign show {slug}` says whether \
         any are deleted: if none are, raise retention.phones_days in its file, apply it, and run this again",
        zoned_time(until, *timezone)
    )
}

fn unsettled_text(unsettled: &[Reference]) -> String {
    let count = unsettled.len();
    if count == 0 {
        return String::new();
    }
    format!(
        "\n{count} submissions are not settled and not in this draw: {}. By the rule of this service, an entry is in \
         the draw of the period in which it is accepted, so these join the next one.\n",
        shortened(unsettled, MAX_PRINTED)
    )
}
