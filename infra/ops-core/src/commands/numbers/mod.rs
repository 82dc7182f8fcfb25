//! `ops numbers`, and the same numbers for the console to download.

mod report;
mod verify;

use self::report::Overview;
use crate::cli::NumbersArgs;
use crate::export::format::{heading, row};
use crate::prelude::*;
use crate::statistics::aggregate::prizes_left;
use crate::statistics::{self, Days};

pub(crate) async fn run(
    args: NumbersArgs,
    tables: &Tables,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let NumbersArgs {
        action,
        scope,
        days,
    } = args;
    let scope = &Scope::from(scope);
    if let Some(action) = action {
        let verifying = verify::verify(action, scope, tables, clock, terminal);
        return Box::pin(verifying).await;
    }
    report(tables, scope, days).await
}

async fn report(tables: &Tables, scope: &Scope, days: Days) -> Result<Report> {
    let zone = tables.zone(scope).await?;
    if days.from.zip(days.to).is_some_and(|(from, to)| from > to) {
        bail!(
            "days_invalid",
            "the first day must be before the last, or the same"
        );
    }
    let counters = &Box::pin(statistics::read(tables, scope, days)).await?;
    let book = tables.code_books.overview(scope).await?;
    let batches = &book.map(|book| book.batches).unwrap_or_default();
    // A prize won on another day is not left either.
    let wins = match batches.iter().any(|batch| batch.prize.is_some()) {
        true => tables.wins().list(scope).await?,
        false => Vec::new(),
    };
    let overview = Overview {
        scope,
        zone,
        days,
        counters,
        batches,
        prizes: &prizes_left(batches, &wins),
    };
    Ok(overview.report())
}

pub async fn as_json(tables: &Tables, scope: &Scope, days: Days) -> Result<Value> {
    Ok(report(tables, scope, days).await?.json)
}

const NUMBERS: [&str; 8] = [
    "submissions",
    "entries",
    "new_phones",
    "active_phones",
    "phones",
    "codes",
    "redeemed",
    "left",
];

/// The lists of the JSON, a row for each of their items.
pub async fn as_csv(tables: &Tables, scope: &Scope, days: Days) -> Result<String> {
    let json = as_json(tables, scope, days).await?;
    let mut csv = heading(&[&["list", "name"][..], &NUMBERS].concat());
    let lists = json.as_object().into_iter().flatten();
    for (list, items) in lists.filter_map(|(list, items)| Some((list, items.as_array()?))) {
        for item in items.iter().filter_map(Value::as_object) {
            let names = item.values().filter_map(Value::as_str);
            let number = |name: &&str| item.get(*name).and_then(Value::as_i64);
            let numbers = NUMBERS.iter().map(number);
            let numbers = numbers.map(|number| number.map(|number| number.to_string()));
            let cells = [list.clone(), joined(names)];
            let cells = cells
                .into_iter()
                .chain(numbers.map(Option::unwrap_or_default));
            csv += &row(&cells.collect::<Vec<_>>());
        }
    }
    Ok(csv)
}
