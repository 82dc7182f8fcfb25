mod report;
mod verify;

use self::report::Overview;
use crate::cli::NumbersArgs;
use crate::prelude::*;
use crate::statistics;
use crate::statistics::aggregate::{by_dimension, prizes_left};

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
    let zone = tables.zone(scope).await?;
    if let Some(action) = action {
        let verifying = verify::verify(action, scope, tables, clock, terminal);
        return Box::pin(verifying).await;
    }
    if days.from.zip(days.to).is_some_and(|(from, to)| from > to) {
        bail!(
            "days_invalid",
            "--from must be a day before --to, or the same"
        );
    }
    let counters = &Box::pin(statistics::read(tables, scope, days)).await?;
    let book = tables.code_books.overview(scope).await?;
    let batches = &book.map(|book| book.batches).unwrap_or_default();
    // A prize won on another day is not left either.
    let redeemed = if days.are_all() || batches.iter().all(|batch| batch.prize.is_none()) {
        by_dimension(counters, Metric::Batches)
    } else {
        let all = statistics::of_all_days(tables, scope, Metric::Batches).await?;
        by_dimension(&all, Metric::Batches)
    };
    let overview = Overview {
        scope,
        zone,
        days,
        counters,
        batches,
        prizes: &prizes_left(batches, &redeemed),
    };
    Ok(overview.report())
}
