mod report;
mod verify;

use common::clock::Clock;
use common::domain::numbers::Metric;
use common::domain::scope::Scope;

use self::report::Overview;
use crate::cli::{NumbersArgs, NumbersCommand};
use crate::failure::Failure;
use crate::numbers::sums::{by_dimension, prizes_left};
use crate::numbers::{self, Days};
use crate::tables::Tables;
use crate::terminal::{Report, Terminal};

pub(crate) async fn run(
    args: NumbersArgs,
    tables: &Tables,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    let NumbersArgs {
        campaign,
        environment,
        from,
        to,
        command,
    } = args;
    match (command, campaign) {
        (Some(NumbersCommand::Verify(args)), _) => {
            Box::pin(verify::verify(args, tables, clock, terminal)).await
        }
        (Some(NumbersCommand::Recount(args)), _) => {
            Box::pin(verify::recount(args, tables, clock, terminal)).await
        }
        (None, Some(_)) if from.zip(to).is_some_and(|(from, to)| from > to) => Err(Failure::new(
            "days_invalid",
            "--from must be a day before --to, or the same",
        )),
        (None, Some(campaign)) => {
            let scope = Scope {
                campaign,
                environment,
            };
            let campaign = tables.campaign(&scope.campaign).await?;
            let days = Days { from, to };
            let cells = Box::pin(numbers::read(tables, &scope, days)).await?;
            let book = tables.code_books.overview(&scope).await?;
            let batches = book.map(|book| book.batches).unwrap_or_default();
            // A prize won on another day is not left either.
            let redeemed = if days.are_all() || batches.iter().all(|batch| batch.prize.is_none()) {
                by_dimension(&cells, Metric::Batches)
            } else {
                by_dimension(
                    &numbers::of_all_days(tables, &scope, Metric::Batches).await?,
                    Metric::Batches,
                )
            };
            let prizes = prizes_left(&batches, &redeemed);
            let zone = campaign.timezone;
            Ok(Overview {
                scope: &scope,
                zone,
                days,
                cells: &cells,
                batches: &batches,
                prizes: &prizes,
            }
            .report())
        }
        (None, None) => Err(Failure::new(
            "usage",
            "say which campaign with --campaign SLUG",
        )),
    }
}
