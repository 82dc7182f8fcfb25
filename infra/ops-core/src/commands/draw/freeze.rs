use super::show::ShownDraw;
use crate::cli::FreezeArgs;
use crate::draws::freeze::{self, FreezePlan, FreezeReport};
use crate::draws::shown::{options, warnings};
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
    let freezing = freeze::freeze(tables, &campaign, plan, clock, terminal);
    let FreezeReport { evidence, read } = Box::pin(freezing).await?;
    let shown = ShownDraw::find(tables, &scope, &name).await?;
    let (mut json, mut text) = (shown.json()?, shown.text()?);
    text += &format!(
        "files       {}, with openings.csv, which is secret\nevidence    {evidence}\n",
        output.display()
    );
    for warning in warnings(&header(&shown.draw)?) {
        text += &format!("\n{warning}\n");
    }
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
