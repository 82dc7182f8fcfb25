//! `ops audit`.

use common::domain::audit::{AuditCheck, AuditFinding, VerifiedAudit};

use crate::audit::{AuditRows, list};
use crate::cli::AuditCommand;
use crate::prelude::*;

pub(crate) async fn run(command: AuditCommand, tables: &Tables, now: Timestamp) -> Result<Report> {
    match command {
        AuditCommand::List { filter, from, to } => {
            Ok(report_list(&list(tables, &filter, from, to, now).await?))
        }
        AuditCommand::Verify => verify(tables).await,
    }
}

fn report_list(found: &AuditRows) -> Report {
    let AuditRows {
        rows,
        from,
        to,
        zone,
    } = found;
    let views: Vec<_> = rows.iter().map(as_json).collect();
    let time = format!("TIME ({})", zone.name());
    let columns = [
        ("ROW", "/sequence"),
        (&time, "/at"),
        ("WHO", "/who"),
        ("BY", "/by"),
        ("ACTION", "/action"),
        ("CAMPAIGN", "/campaign"),
        ("ENVIRONMENT", "/environment"),
        ("ABOUT", "/subject"),
        ("WHY", "/why"),
    ];
    let mut text = if rows.is_empty() {
        format!("The audit log has no such rows from {from} to {to}.")
    } else {
        table(&columns, &views, *zone)
    };
    if rows.iter().any(|stored| stored.row.is_none()) {
        text += "A row without a time cannot be read; run ops audit verify.\n";
    }
    let json = json!({
        "from": from.to_string(),
        "to": to.to_string(),
        "time_zone": zone.name(),
        "rows": views,
    });
    Report::new(json, text)
}

/// Details are text, which the hash covers.
fn as_json(stored: &StoredAuditRow) -> Value {
    match &stored.row {
        Some(row) => extended(of_record(row), [("time", row.at.to_string().into())]),
        None => json!({ "sequence": stored.sequence, "day": stored.day, "readable": false }),
    }
}

async fn verify(tables: &Tables) -> Result<Report> {
    // First, because rows may be added meanwhile.
    let log = tables.audit.log();
    let head = log.head().await?;
    let mut check = AuditCheck::new(head.as_ref());
    log.read_all(|row| check.add(row)).await?;
    let has_grown = log.head().await? != head;
    match check.finish(has_grown) {
        Ok(VerifiedAudit { count, last_hash }) => {
            let text = format!(
                "The audit log is as it was written: {} rows, and the hash of the last one is {last_hash}.\n\
                 The account's owner could write a whole log anew: keep number and hash of the last row elsewhere, \
                 and see whether a later log still has them.",
                grouped(count)
            );
            Ok(Report::new(
                json!({ "verified": true, "count": count, "last_hash": last_hash }),
                text,
            ))
        }
        Err(findings) => Err(broken(&findings)),
    }
}

fn broken(findings: &[AuditFinding]) -> Failure {
    const MAX_NAMED: usize = 50;
    let line = |AuditFinding {
                    sequence,
                    day,
                    found,
                }: &AuditFinding| {
        let day = day
            .as_ref()
            .map(|day| format!(" of {}", printable(day)))
            .unwrap_or_default();
        format!("row {sequence}{day}: {found}\n")
    };
    let named: String = findings.iter().take(MAX_NAMED).map(line).collect();
    failure!(
        "audit_broken",
        "{} rows of the audit log do not fit; the first {MAX_NAMED} at most:\n{named}Compare the table with its backups \
         (point-in-time recovery), and look in CloudTrail for who wrote to it",
        findings.len()
    )
}
