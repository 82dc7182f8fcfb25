//! `ops campaign`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use common::config::Env;
use common::domain::campaign::{Campaign, CampaignStatus, CodePolicy};
use common::domain::message::MessageKey;
use common::domain::partner::PartnerRules;
use common::domain::receipt::rules::{OnNoMatch, ReceiptRules};
use common::domain::receipt::schedule::LOOK_UPS_PER_MINUTE;
use common::domain::scope::{CampaignSlug, Environment, Scope};
use common::domain::timestamp::Timestamp;
use serde_json::{Value, json};

use super::{lines, or_nothing};
use crate::campaign_file::{self, CampaignFile, Problem};
use crate::campaigns::{self, Applied, Change};
use crate::cli::CampaignCommand;
use crate::connection;
use crate::console::Report;
use crate::failure::Failure;
use crate::tables::Tables;
use crate::words::{grouped, local_time, table, zoned_time};

pub(crate) async fn run(command: CampaignCommand, env: &Env, now: Timestamp) -> Result<Report, Failure> {
    match command {
        CampaignCommand::Apply { files } => {
            // Files first: an error in a file should not need a stack to be found.
            let files = read_all(&files)?;
            apply(&connection::tables(env).await?, &files, now).await
        }
        CampaignCommand::List => list(&connection::tables(env).await?, now).await,
        CampaignCommand::Show { slug } => show(&connection::tables(env).await?, &slug, now).await,
        CampaignCommand::Pause { slug } => switch(&connection::tables(env).await?, &slug, true).await,
        CampaignCommand::Resume { slug } => switch(&connection::tables(env).await?, &slug, false).await,
    }
}

fn read_all(paths: &[PathBuf]) -> Result<Vec<CampaignFile>, Failure> {
    let mut files: Vec<CampaignFile> = Vec::new();
    let mut problems = Vec::new();
    for path in paths {
        let name = path.display().to_string();
        match campaign_file::read_bytes(&name, &read(path)?) {
            Err(found) => problems.extend(found),
            Ok(file) if files.iter().any(|other| other.campaign.slug == file.campaign.slug) => {
                let message = "is also in another file; give each campaign one file".to_owned();
                problems.push(Problem { file: name, line: 1, field: Some("slug".to_owned()), message });
            }
            Ok(file) => files.push(file),
        }
    }
    if problems.is_empty() {
        Ok(files)
    } else {
        Err(Failure::from_problems("campaign_file_invalid", problems))
    }
}

/// Reads a file; of one that is too large only as much as the parser needs to notice.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let most = u64::try_from(campaign_file::MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    read.map_err(|error| Failure::from_io(path, "reading", &error))?;
    Ok(bytes)
}

async fn apply(tables: &Tables, files: &[CampaignFile], now: Timestamp) -> Result<Report, Failure> {
    let applied = campaigns::apply(tables, files).await?;
    let line = |campaign: &Applied| {
        let resumed = if campaign.resumed { "; it is no longer paused" } else { "" };
        format!("{} {}{resumed}\n", campaign.slug, campaign.change.as_str())
    };
    let text: String = applied.iter().map(line).collect();
    let mut notes = Vec::new();
    for Applied { slug, change, .. } in &applied {
        let campaign = tables.campaign(slug).await?;
        let is_live = campaign.status(now) == CampaignStatus::Live;
        if is_live && campaign.window.start.is_none() && *change != Change::Unchanged {
            notes.push(format!(
                "{slug} takes entries from now on: it has no window.start and is not paused; \
                 `ops campaign pause {slug}` stops it"
            ));
        }
        if *change != Change::Unchanged {
            notes.extend(rate_notes(&campaign));
        }
        if !campaign.needs_code() && !campaign.needs_receipt() {
            notes.push(format!(
                "{slug} asks for neither a code nor a receipt: anybody can enter as often as its limits allow, with \
                 any number of phones; set code.checked_by, or add a receipt block with `required: true`"
            ));
        }
    }
    let json = json!({ "campaigns": applied, "notes": notes });
    let note = (!notes.is_empty()).then(|| notes.join("\n"));
    Ok(Report { note, ..Report::new(json, text) })
}

/// Notes on the rates at which pending submissions are settled.
fn rate_notes(campaign: &Campaign) -> Vec<String> {
    /// The template's default of `PartnerConcurrency`, for settle-partners.
    const PARTNER_CONCURRENCY: u32 = 10;
    let slug = &campaign.slug;
    let mut notes = Vec::new();
    if let Some(PartnerRules { max_in_flight, timeout_seconds, .. }) = &campaign.partner {
        let a_minute = |seconds: u32| PARTNER_CONCURRENCY.saturating_mul(60) / seconds.max(1);
        let slowest = a_minute(*timeout_seconds);
        notes.push(format!(
            "{slug}: at most {max_in_flight} requests ask the partner at a time (partner.max_in_flight); the queue asks \
             about the rest, {slowest} a minute while an answer takes {timeout_seconds} s, {} at 1 s \
             (PartnerConcurrency of the deployment: {PARTNER_CONCURRENCY} unless it was set)",
            a_minute(1)
        ));
    }
    if campaign.receipt.is_some() {
        notes.push(format!(
            "{slug}: receipts are looked up at the tax authority at {LOOK_UPS_PER_MINUTE} a minute, {} an hour, for all \
             campaigns of the deployment together; what comes faster waits",
            grouped(LOOK_UPS_PER_MINUTE * 60)
        ));
    }
    notes
}

async fn list(tables: &Tables, now: Timestamp) -> Result<Report, Failure> {
    let campaigns = tables.campaigns.list().await?;
    let rows: Vec<Vec<String>> = campaigns
        .iter()
        .map(|campaign| {
            let time = |at: Option<Timestamp>| or_nothing(at.map(|at| local_time(at, campaign.timezone)));
            vec![
                campaign.slug.to_string(),
                status_word(campaign.status(now)).to_owned(),
                time(campaign.window.start),
                time(campaign.window.end),
                campaign.timezone.name().to_owned(),
                campaign.brand.clone(),
                campaign.name.clone(),
            ]
        })
        .collect();
    let text = if rows.is_empty() {
        "There are no campaigns yet; `ops campaign apply FILE.yaml` adds one.".to_owned()
    } else {
        table(&["SLUG", "STATUS", "START", "END", "ZONE", "BRAND", "NAME"], &rows)
    };
    let json: Result<Vec<Value>, Failure> = campaigns.iter().map(|campaign| as_json(campaign, now)).collect();
    Ok(Report::new(json!({ "campaigns": json? }), text))
}

/// The campaign with its file's field names, and its status.
fn as_json(campaign: &Campaign, now: Timestamp) -> Result<Value, Failure> {
    let mut json = serde_json::to_value(campaign).map_err(|error| {
        Failure::new("not_shown", format!("showing the campaign failed: {error}; report this"))
    })?;
    if let Some(fields) = json.as_object_mut() {
        let time = |at: Option<Timestamp>| at.map(|at| at.to_string());
        let window = json!({ "start": time(campaign.window.start), "end": time(campaign.window.end) });
        fields.insert("window".to_owned(), window);
        fields.insert("code".to_owned(), json!({ "checked_by": campaign.code }));
        fields.insert("status".to_owned(), json!(campaign.status(now)));
    }
    Ok(json)
}

/// A summary of the receipt rules; `--json` has all of them.
fn receipt_lines(rules: Option<&ReceiptRules>) -> Vec<(&'static str, String)> {
    let Some(rules) = rules else { return vec![("receipt", "none are taken".to_owned())] };
    let count = |count: usize, without: &str| {
        if count == 0 { without.to_owned() } else { count.to_string() }
    };
    let on_no_match = match rules.on_no_match {
        OnNoMatch::Review => "review",
        OnNoMatch::Decline => "decline",
    };
    vec![
        ("receipt.required", rules.required.to_string()),
        ("receipt.typed", rules.typed.to_string()),
        ("receipt.on_no_match", on_no_match.to_owned()),
        ("receipt.ranges", rules.ranges.len().to_string()),
        ("receipt.products", count(rules.products.len(), "none: any purchase counts")),
        ("receipt.branches", count(rules.branches.len(), "none: any shop counts")),
        ("receipt.draw_period", or_nothing(rules.draw_period.as_ref())),
    ]
}

/// A summary of the partner's block; `--json` has all of it.
fn partner_lines(rules: Option<&PartnerRules>) -> Vec<(&'static str, String)> {
    let Some(rules) = rules else { return Vec::new() };
    // Not shown: the URL's query and the values of headers, which may hold a secret.
    let url = rules.url.split_once('?').map_or(rules.url.as_str(), |(url, _query)| url);
    let headers: Vec<_> = rules.headers.keys().map(String::as_str).collect();
    let secret = rules.secret.as_ref().map(|secret| format!("{} from {}", secret.header, secret.name));
    vec![
        ("partner.url", url.to_owned()),
        ("partner.method", rules.method.as_str().to_owned()),
        ("partner.headers", or_nothing((!headers.is_empty()).then(|| headers.join(", ")))),
        ("partner.secret", or_nothing(secret)),
        ("partner.timeout_seconds", rules.timeout_seconds.to_string()),
        ("partner.max_in_flight", rules.max_in_flight.to_string()),
        ("partner.outcomes", rules.outcomes.len().to_string()),
    ]
}

fn code_policy_word(policy: CodePolicy) -> &'static str {
    match policy {
        CodePolicy::Service => "service",
        CodePolicy::Partner => "partner",
        CodePolicy::None => "none",
    }
}

/// The messages for which the campaign has its own text.
fn messages_line(own: &BTreeMap<MessageKey, String>) -> String {
    if own.is_empty() {
        return "the service's words".to_owned();
    }
    let keys: Vec<_> = own.keys().map(|key| key.as_str()).collect();
    format!("own words for {}; else the service's", keys.join(", "))
}

fn status_word(status: CampaignStatus) -> &'static str {
    match status {
        CampaignStatus::Live => "live",
        CampaignStatus::Paused => "paused",
        CampaignStatus::NotStarted => "not_started",
        CampaignStatus::Ended => "ended",
    }
}

async fn show(tables: &Tables, slug: &CampaignSlug, now: Timestamp) -> Result<Report, Failure> {
    let campaign = tables.campaign(slug).await?;
    let zone = campaign.timezone;
    let time = |at: Option<Timestamp>| or_nothing(at.map(|at| zoned_time(at, zone)));
    let limit = |limit: Option<u32>| limit.map_or_else(|| "no limit".to_owned(), |limit| limit.to_string());
    let mut pairs = vec![
        ("slug", slug.to_string()),
        ("name", campaign.name.clone()),
        ("brand", campaign.brand.clone()),
        ("status", status_word(campaign.status(now)).to_owned()),
        ("paused", campaign.paused.to_string()),
        ("window.start", time(campaign.window.start)),
        ("window.end", time(campaign.window.end)),
        ("timezone", zone.name().to_owned()),
        ("code.checked_by", code_policy_word(campaign.code).to_owned()),
        ("limits.phone_daily", limit(campaign.limits.phone_daily)),
        ("limits.phone_total", limit(campaign.limits.phone_total)),
        ("entries_per_submission", campaign.entries_per_submission.to_string()),
        ("wrong_codes.count", campaign.wrong_codes.count.to_string()),
        ("wrong_codes.minutes", campaign.wrong_codes.minutes.to_string()),
        ("messages.en", messages_line(&campaign.messages.en)),
        ("messages.sw", messages_line(&campaign.messages.sw)),
    ];
    pairs.extend(partner_lines(campaign.partner.as_ref()));
    pairs.extend(receipt_lines(campaign.receipt.as_ref()));
    let mut json = as_json(&campaign, now)?;
    let mut codes = serde_json::Map::new();
    for environment in Environment::ALL {
        let scope = Scope { campaign: slug.clone(), environment };
        // The campaign of `ops smoke` has no book.
        let Some(stored) = tables.code_books.get(&scope).await? else {
            codes.insert(environment.to_string(), Value::Null);
            continue;
        };
        let minted = stored.book.minted;
        let imported: u64 =
            stored.book.batches.iter().filter(|b| b.origin.is_imported()).map(super::code::count_of).sum();
        // Other campaigns have no codes of the service, except those made before their policy changed.
        if campaign.code == CodePolicy::Service || minted + imported > 0 {
            let name = if environment.is_live() { "codes, live" } else { "codes, test" };
            pairs.push((name, format!("{} minted, {} imported", grouped(minted), grouped(imported))));
        }
        codes.insert(environment.to_string(), json!({ "minted": minted, "imported": imported }));
    }
    if let Some(fields) = json.as_object_mut() {
        fields.insert("codes".to_owned(), Value::Object(codes));
    }
    Ok(Report::new(json, lines(&pairs)))
}

async fn switch(tables: &Tables, slug: &CampaignSlug, paused: bool) -> Result<Report, Failure> {
    campaigns::set_paused(tables, slug, paused).await?;
    let word = if paused { "paused" } else { "resumed" };
    let text = format!("{slug} {word}; callers see it within 5 seconds");
    Ok(Report::new(json!({ "slug": slug, "paused": paused }), text))
}
