use std::pin::pin;

use crate::codes::book::odds_line;
use crate::prelude::*;

const READS_ALL: &str = "Counting the used codes; this takes about a minute for ten million.";

/// Keys are names of batches.
pub(super) type AllUsage = BTreeMap<String, Usage>;

pub(super) async fn batches(
    tables: &Tables,
    scope: &Scope,
    book: &CodeBook,
    used: bool,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let usage = if used {
        Some(count_used(tables, scope, book, terminal).await?)
    } else {
        None
    };
    Ok(report(scope, book, usage.as_ref()))
}

/// Warns first: reading all codes takes time and costs money.
pub(super) async fn count_used(
    tables: &Tables,
    scope: &Scope,
    book: &CodeBook,
    terminal: &mut Terminal<'_>,
) -> Result<AllUsage> {
    terminal.note(READS_ALL);
    use_of_batches(tables.codes(), scope, book).await
}

fn report(scope: &Scope, book: &CodeBook, usage: Option<&AllUsage>) -> Report {
    let view = |batch: &Batch| {
        let lengths = json!(lengths_of(batch, book));
        extended(batch_json(batch, usage), [("lengths", lengths)])
    };
    let batches: Vec<_> = book.batches.iter().map(view).collect();
    let mut text = if batches.is_empty() {
        "There are no codes yet; `ops code mint` and `ops code import` add some.\n".to_owned()
    } else {
        let mut columns = vec![
            ("BATCH", "/batch"),
            ("ORIGIN", "/origin"),
            ("CODES", "/count"),
            ("USED", "/used"),
            ("HELD", "/held"),
            ("UNUSED", "/unused"),
            ("LENGTH", "/lengths"),
            ("STATUS", "/status"),
            ("PRIZE", "/prize"),
        ];
        columns.retain(|(name, _)| usage.is_some() || !name.ends_with("USED") && *name != "HELD");
        table(&columns, &batches, Tz::UTC)
    };
    text += &odds_line(book);
    if usage.is_none() && !book.batches.is_empty() {
        text += "\n--used counts the used and unused codes of each batch.";
    }
    for batch in &book.batches {
        let name = &batch.name;
        match (batch.status, &batch.origin) {
            (BatchStatus::Reserved, _) => text.push_str(&format!(
                "\nBatch {name} is being minted, or its minting was cut short and its codes do not count; in that case \
                 void it: ops code void --campaign {} --environment {} --batch {name}",
                scope.campaign, scope.environment
            )),
            (BatchStatus::Active, Origin::Imported { unfinished, .. })
                if !unfinished.is_empty() =>
            {
                text += &format!(
                    "\nAn import into batch {name} is running, or was cut short; in that case run it again, which counts what is stored."
                );
            }
            (BatchStatus::Active | BatchStatus::Void, _) => {}
        }
    }
    let json = json!({
        "scope": scope,
        "batches": batches,
        "alphabet": book.alphabet,
        "length": book.minted_length,
        "minted": book.minted,
        "odds_of_a_guess": book.odds_of_a_guess(),
    });
    Report::new(json, text)
}

pub(super) fn batch_json(batch: &Batch, usage: Option<&AllUsage>) -> Value {
    let json = json!({
        "batch": batch.name,
        "origin": kind_of(batch),
        "count": batch.count(),
        "prize": batch.prize,
        "status": batch.status,
    });
    let Some(usage) = usage else { return json };
    let [used, held, unused] = use_of(batch, usage).map(Value::from);
    extended(json, [("used", used), ("held", held), ("unused", unused)])
}

/// Used, held and unused codes.
pub(super) fn use_of(batch: &Batch, usage: &AllUsage) -> [u64; 3] {
    let Usage { redeemed, held } = usage.get(&batch.name).copied().unwrap_or_default();
    [
        redeemed,
        held,
        batch.count().saturating_sub(redeemed + held),
    ]
}

/// Such as `6 to 8`.
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

/// Codes of accepted and of unsettled submissions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    redeemed: u64,
    held: u64,
}

/// Reads the whole table; batches without used codes may be missing.
async fn use_of_batches(codes: &Codes, scope: &Scope, book: &CodeBook) -> Result<AllUsage> {
    let mut usage = AllUsage::new();
    let mut codes = pin!(codes.all(scope));
    while let Some((key, record)) = codes.try_next().await? {
        let name = match key {
            CodeKey::Minted(serial) => book.batch_of(serial).map(|batch| &batch.name),
            CodeKey::Imported { .. } => record.batch.as_ref(),
            CodeKey::Partner(_) | CodeKey::Sentinel(_) => None,
        };
        if let (Some(name), Some(hold)) = (name, &record.hold) {
            let of_batch = usage.entry(name.clone()).or_default();
            let count = if hold.redeemed {
                &mut of_batch.redeemed
            } else {
                &mut of_batch.held
            };
            *count += 1;
        }
    }
    Ok(usage)
}
