//! `ops code batches`.

use std::collections::BTreeMap;

use common::domain::codebook::{Batch, BatchStatus, CodeBook, Origin};
use common::domain::scope::Scope;
use serde_json::{Value, json};

use crate::codes::book::odds_line;
use crate::codes::usage::{self, Usage};
use crate::failure::Failure;
use crate::format::{grouped, or_dash, table};
use crate::tables::Tables;
use crate::terminal::{Report, Terminal};

/// What operators should know before all codes are read.
const READS_ALL: &str = "Counting the used codes; this takes about a minute for ten million.";

/// The use of every batch, if it was asked for.
pub(super) type AllUsage = BTreeMap<String, Usage>;

pub(super) async fn batches(
    tables: &Tables,
    scope: &Scope,
    book: &CodeBook,
    used: bool,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    let usage = if used {
        Some(count_used(tables, scope, book, terminal).await?)
    } else {
        None
    };
    Ok(report(scope, book, usage.as_ref()))
}

/// Counts the use of every batch, and says so first, because that takes time and costs money.
pub(super) async fn count_used(
    tables: &Tables,
    scope: &Scope,
    book: &CodeBook,
    terminal: &mut Terminal<'_>,
) -> Result<AllUsage, Failure> {
    terminal.note(READS_ALL);
    usage::of_batches(tables.codes(), scope, book).await
}

fn report(scope: &Scope, book: &CodeBook, usage: Option<&AllUsage>) -> Report {
    let mut text = if book.batches.is_empty() {
        "There are no codes yet; `ops code mint` and `ops code import` add some.\n".to_owned()
    } else {
        batch_table(book, usage)
    };
    text.push_str(&odds_line(book));
    if usage.is_none() && !book.batches.is_empty() {
        text.push_str("\n--used counts the used and unused codes of each batch.");
    }
    for batch in book
        .batches
        .iter()
        .filter(|batch| batch.status == BatchStatus::Reserved)
    {
        text.push_str(&format!(
            "\nBatch {} is being minted, or its minting was cut short and its codes do not count; in that case \
             void it: ops code void --campaign {} --environment {} --batch {}",
            batch.name, scope.campaign, scope.environment, batch.name
        ));
    }
    let is_unfinished = |batch: &&Batch| {
        matches!(&batch.origin, Origin::Imported { unfinished, .. } if !unfinished.is_empty())
            && batch.status == BatchStatus::Active
    };
    for batch in book.batches.iter().filter(is_unfinished) {
        text.push_str(&format!(
            "\nAn import into batch {} is running, or was cut short; in that case run it again, which counts what is stored.",
            batch.name
        ));
    }
    let batches: Vec<Value> = book
        .batches
        .iter()
        .map(|batch| batch_json(batch, usage))
        .collect();
    let json = json!({
        "campaign": scope.campaign,
        "environment": scope.environment,
        "batches": batches,
        "length": book.minted_length,
        "minted": book.minted,
        "odds_of_a_guess": book.odds_of_a_guess(),
    });
    Report::new(json, text)
}

fn batch_table(book: &CodeBook, usage: Option<&AllUsage>) -> String {
    let row = |batch: &Batch| {
        let mut row = vec![
            batch.name.clone(),
            kind_of(batch).to_owned(),
            grouped(batch.count()),
        ];
        if let Some(usage) = usage {
            let of_batch = usage.get(&batch.name).copied().unwrap_or_default();
            let Usage { redeemed, held } = of_batch;
            row.extend([redeemed, held, of_batch.unused_of(batch)].map(grouped));
        }
        row.extend([
            or_dash(lengths_of(batch, book)),
            status_of(batch).to_owned(),
            or_dash(batch.prize.as_ref()),
        ]);
        row
    };
    let rows: Vec<_> = book.batches.iter().map(row).collect();
    let mut heading = vec!["BATCH", "ORIGIN", "CODES"];
    if usage.is_some() {
        heading.extend(["USED", "HELD", "UNUSED"]);
    }
    heading.extend(["LENGTH", "STATUS", "PRIZE"]);
    table(&heading, &rows)
}

pub(super) fn batch_json(batch: &Batch, usage: Option<&AllUsage>) -> Value {
    let mut json = json!({
        "batch": batch.name,
        "origin": kind_of(batch),
        "count": batch.count(),
        "prize": batch.prize,
        "status": batch.status,
    });
    if let (Some(usage), Some(fields)) = (usage, json.as_object_mut()) {
        let of_batch = usage.get(&batch.name).copied().unwrap_or_default();
        let Usage { redeemed, held } = of_batch;
        let counts = [
            ("used", redeemed),
            ("held", held),
            ("unused", of_batch.unused_of(batch)),
        ];
        fields.extend(counts.map(|(name, count)| (name.to_owned(), count.into())));
    }
    json
}

/// The lengths of a batch's codes, such as `6 to 8`.
fn lengths_of(batch: &Batch, book: &CodeBook) -> Option<String> {
    let lengths = match &batch.origin {
        Origin::Minted { .. } => return book.minted_length.map(|length| length.to_string()),
        Origin::Imported { lengths, .. } => lengths,
    };
    let (shortest, longest) = (lengths.first()?, lengths.last()?);
    Some(if shortest == longest {
        shortest.to_string()
    } else {
        format!("{shortest} to {longest}")
    })
}

pub(super) fn kind_of(batch: &Batch) -> &'static str {
    if batch.origin.is_imported() {
        "imported"
    } else {
        "minted"
    }
}

pub(crate) fn status_of(batch: &Batch) -> &'static str {
    match batch.status {
        BatchStatus::Reserved => "reserved",
        BatchStatus::Active => "active",
        BatchStatus::Void => "void",
    }
}
