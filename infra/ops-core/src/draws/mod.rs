//! Draws on a stack: its entries, its table of draws, and two buckets. The computation is in the
//! crate `draw`.
//!
//! | what | where |
//! | --- | --- |
//! | the chain and its relays | `chain` |
//! | the entries of a period | `entries` |
//! | freezing them | `freeze`, `freeze_lock` |
//! | publishing the commitment | `publish` |
//! | drawing winners | `run`, `assign_winners` |
//! | files, in a folder and in buckets | `files` |
//! | calls to winners, and skips | [`call_log`] |
//! | giving a draw up | `abandon` |
//! | a draw in words | [`shown`] |
//! | the certificate and the sheet | `certificate`; for the console, [`downloads`] |
//! | verifying a folder, without a stack | `verify` |
//! | whose entries a row has; erasing that | `openings` |

pub mod abandon;
mod assign_winners;
pub mod call_log;
pub(crate) mod certificate;
pub(crate) mod chain;
pub mod downloads;
mod entries;
pub(crate) mod files;
pub mod freeze;
pub(crate) mod freeze_lock;
pub(crate) mod openings;
mod prelude;
mod publish;
pub mod run;
pub mod shown;
mod storage_time;
pub(crate) mod verify;

pub use self::certificate::sheet;
pub use self::chain::public_address;
pub use self::entries::ReadReport;
pub(crate) use self::storage_time::storage_time;
use chrono::TimeDelta;
pub use draw::{Header, Prize};

use crate::audit::{self, RowFilter};
use crate::prelude::*;

pub async fn find(tables: &Tables, scope: &Scope, name: &DrawName) -> Result<Draw> {
    tables.draws.get(scope, name).await?.ok_or_else(|| {
        failure!(
            "draw_unknown",
            "{} has no draw `{name}`; `ops draw show` lists those there are, `ops draw freeze` begins one",
            scope_in_words(scope)
        )
    })
}

/// True if an entry that was accepted then is in the draw, or the header cannot be read.
pub(crate) fn is_in_period(draw: &Draw, accepted_at: Timestamp) -> bool {
    let accepted_at = DateTime::from(accepted_at).fixed_offset();
    header(draw).map_or(true, |Header { period, .. }| {
        period.from <= accepted_at && accepted_at < period.to
    })
}

/// The rows of the audit log since then about an action with this commitment, with their details.
async fn logged(
    tables: &Tables,
    scope: &Scope,
    since: Timestamp,
    commitment: &str,
    action: &str,
) -> Result<Vec<(AuditRow, Value)>> {
    /// Rows are by the day of operators' clocks.
    const MAX_CLOCK_ERROR: TimeDelta = TimeDelta::days(2);
    let head = tables.audit.log().head().await?;
    let Some(last) = head.and_then(|head| head.last_day.parse::<NaiveDate>().ok()) else {
        return Ok(Vec::new());
    };
    let filter = RowFilter {
        campaign: Some(scope.campaign.clone()),
        action: Some(action.to_owned()),
        ..RowFilter::default()
    };
    let from = DateTime::from(since).date_naive() - MAX_CLOCK_ERROR;
    let to = last.max(from) + MAX_CLOCK_ERROR;
    let rows = audit::rows(tables, &filter, from, to, Tz::UTC).await?;
    let with_commitment = |stored: StoredAuditRow| {
        let row = stored.row?;
        let details: Value = serde_json::from_str(&row.entry.details).ok()?;
        let is_about = row.entry.environment == Some(scope.environment.to_string())
            && details.get("commitment").and_then(Value::as_str) == Some(commitment);
        is_about.then_some((row, details))
    };
    Ok(rows.into_iter().filter_map(with_commitment).collect())
}

/// The time of the next step. Verifiers refuse a log whose steps precede what led to them, as they
/// would by the clock of an operator that is behind the one before.
fn step_time(known: &[Contact], now: Timestamp) -> Timestamp {
    let logged = known.iter().filter_map(|one| one.changed_at());
    logged.fold(now, Timestamp::max)
}

/// The holder of the openings can compute the winners before the run.
pub(crate) fn run_first(draw: &Draw, scope: &Scope) -> Failure {
    failure!(
        "draw_not_run",
        "the round of the draw {} of {} is there, and its winners are not drawn; run `ops draw run` for it first, then this \
         again: until then, a winner could be taken out unseen",
        draw.name,
        scope_in_words(scope)
    )
}

pub fn header(draw: &Draw) -> Result<Header> {
    serde_json::from_str(&draw.header).map_err(|error| {
        failure!(
            "draw_unreadable",
            "the record of the draw {} has no readable header: {error}",
            draw.name
        )
    })
}
