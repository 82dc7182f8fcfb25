use chrono::{Days, NaiveDate};
use chrono_tz::Tz;
use common::domain::audit::{
    AuditCheck, AuditEntry, AuditFinding, AuditRow, StoredAuditRow, VerifiedAudit,
};
use common::domain::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::audit::{RowFilter, rows, zone};
use crate::cli::AuditCommand;
use crate::failure::Failure;
use crate::format::{grouped, local_time, or_dash, printable, table};
use crate::tables::Tables;
use crate::terminal::Report;
use crate::view::{extended, of_record};

const USUAL_DAYS: u64 = 30;

pub(crate) async fn run(
    command: AuditCommand,
    tables: &Tables,
    now: Timestamp,
) -> Result<Report, Failure> {
    match command {
        AuditCommand::List {
            campaign,
            action,
            who,
            about,
            from,
            to,
        } => {
            let zone = zone(tables, campaign.as_ref()).await?;
            let to = to.map_or_else(|| today(now, zone), Ok)?;
            let from = from
                .or_else(|| to.checked_sub_days(Days::new(USUAL_DAYS - 1)))
                .unwrap_or(to);
            let filter = RowFilter {
                campaign,
                action,
                who,
                about,
            };
            Ok(report_list(
                &rows(tables, from, to, zone, &filter).await?,
                from,
                to,
                zone,
            ))
        }
        AuditCommand::Verify => verify(tables).await,
    }
}

fn today(now: Timestamp, zone: Tz) -> Result<NaiveDate, Failure> {
    let parsed = now.day_in(zone).parse();
    parsed.map_err(|_| {
        Failure::new(
            "clock_wrong",
            "this machine's clock is far off; set it, or name the days with --from and --to",
        )
    })
}

fn report_list(rows: &[StoredAuditRow], from: NaiveDate, to: NaiveDate, zone: Tz) -> Report {
    let views: Vec<_> = rows.iter().map(as_json).collect();
    let time = format!("TIME ({})", zone.name());
    let row = |(stored, view): (&StoredAuditRow, &Value)| {
        let Some(AuditRow { at, entry, .. }) = &stored.row else {
            let unreadable = "cannot be read; run ops audit verify".to_owned();
            return vec![stored.sequence.to_string(), unreadable];
        };
        let AuditEntry {
            who,
            by,
            action,
            why,
            ..
        } = entry;
        let about = ["campaign", "environment", "subject"].map(|name| view.get(name)?.as_str());
        let about: Vec<_> = about.into_iter().flatten().collect();
        let by = by.as_ref().map(|by| format!(" ({by})")).unwrap_or_default();
        vec![
            stored.sequence.to_string(),
            local_time(*at, zone),
            format!("{who}{by}"),
            action.clone(),
            or_dash((!about.is_empty()).then(|| about.join(" "))),
            or_dash(why.as_ref()),
        ]
    };
    let text = if rows.is_empty() {
        format!("The audit log has no such rows from {from} to {to}.")
    } else {
        let rows: Vec<_> = rows.iter().zip(&views).map(row).collect();
        table(&["ROW", &time, "WHO", "ACTION", "ABOUT", "WHY"], &rows)
    };
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

async fn verify(tables: &Tables) -> Result<Report, Failure> {
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
    let message = format!(
        "{} rows of the audit log do not fit; the first {MAX_NAMED} at most:\n{named}Compare the table with its backups \
         (point-in-time recovery), and look in CloudTrail for who wrote to it",
        findings.len()
    );
    Failure::new("audit_broken", message)
}
