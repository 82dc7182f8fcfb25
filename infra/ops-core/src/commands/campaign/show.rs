//! `ops campaign show`.

use std::collections::BTreeMap;

use common::domain::campaign::{Campaign, CodePolicy};
use common::domain::message::TextKey;
use common::domain::partner::PartnerRules;
use common::domain::receipt::rules::{OnNoMatch, ReceiptRules};
use common::domain::scope::{CampaignSlug, Environment, Scope};
use common::domain::timestamp::Timestamp;
use common::store::campaigns::{PauseChange, StoredCampaign};
use serde_json::{Value, json};

use super::{retention, status_word};
use crate::campaign_file::write::{to_json, to_yaml};
use crate::campaigns::versions;
use crate::failure::Failure;
use crate::format::{grouped, lines, or_dash, zoned_time};
use crate::tables::{Tables, unknown_campaign};
use crate::terminal::Report;

/// The campaign with its file's field names, and its status.
pub(super) fn as_json(campaign: &Campaign, now: Timestamp) -> Result<Value, Failure> {
    let mut fields = to_json(campaign)?;
    fields.insert("status".to_owned(), json!(campaign.status(now)));
    fields.insert("archived".to_owned(), json!(campaign.archived));
    Ok(Value::Object(fields))
}

/// The campaign as a file that applies as it is, or was.
pub(super) async fn yaml(
    tables: &Tables,
    slug: &CampaignSlug,
    revision: Option<u64>,
) -> Result<Report, Failure> {
    let campaign = match revision {
        Some(revision) => versions::version(tables, slug, revision).await?,
        None => tables.campaign(slug).await?,
    };
    let yaml = to_yaml(&campaign)?;
    Ok(Report::new(json!({ "slug": slug, "yaml": yaml }), yaml))
}

/// A summary of the receipt rules; `--json` has all of them.
fn receipt_lines(rules: Option<&ReceiptRules>) -> Vec<(&'static str, String)> {
    let Some(rules) = rules else {
        return vec![("receipt", "none are taken".to_owned())];
    };
    let count = |count: usize, without: &str| {
        if count == 0 {
            without.to_owned()
        } else {
            count.to_string()
        }
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
        (
            "receipt.products",
            count(rules.products.len(), "none: any purchase counts"),
        ),
        (
            "receipt.branches",
            count(rules.branches.len(), "none: any shop counts"),
        ),
        ("receipt.draw_period", or_dash(rules.draw_period.as_ref())),
    ]
}

/// A summary of the partner's block; `--json` has all of it.
fn partner_lines(rules: Option<&PartnerRules>) -> Vec<(&'static str, String)> {
    let Some(rules) = rules else {
        return Vec::new();
    };
    // Not shown: the URL's query and the values of headers, which may hold a secret.
    let url = rules
        .url
        .split_once('?')
        .map_or(rules.url.as_str(), |(url, _query)| url);
    let headers: Vec<_> = rules.headers.keys().map(String::as_str).collect();
    let secret = rules
        .secret
        .as_ref()
        .map(|secret| format!("{} from {}", secret.header, secret.name));
    vec![
        ("partner.url", url.to_owned()),
        ("partner.method", rules.method.as_str().to_owned()),
        (
            "partner.headers",
            or_dash((!headers.is_empty()).then(|| headers.join(", "))),
        ),
        ("partner.secret", or_dash(secret)),
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
fn messages_line(own: &BTreeMap<TextKey, String>) -> String {
    if own.is_empty() {
        return "the service's words".to_owned();
    }
    let keys: Vec<_> = own.keys().map(|key| key.as_str()).collect();
    format!("own words for {}; else the service's", keys.join(", "))
}

/// The pause switch, and who turned it.
fn paused(campaign: &Campaign, change: Option<&PauseChange>) -> String {
    let Some(PauseChange { at, by, why, .. }) = change else {
        return campaign.paused.to_string();
    };
    let why = why
        .as_ref()
        .map_or_else(String::new, |why| format!(": {why}"));
    let word = if campaign.paused { "paused" } else { "resumed" };
    format!(
        "{}, {word} {} by {by}{why}",
        campaign.paused,
        zoned_time(*at, campaign.timezone)
    )
}

/// How many codes each environment has, as JSON and as lines.
async fn code_counts(
    tables: &Tables,
    campaign: &Campaign,
) -> Result<(serde_json::Map<String, Value>, Vec<(&'static str, String)>), Failure> {
    let (mut codes, mut lines) = (serde_json::Map::new(), Vec::new());
    for environment in Environment::ALL {
        let scope = Scope {
            campaign: campaign.slug.clone(),
            environment,
        };
        // The campaign of `ops smoke` has no book.
        let Some(book) = tables.code_books.overview(&scope).await? else {
            codes.insert(environment.to_string(), Value::Null);
            continue;
        };
        let minted = book.minted;
        let imported: u64 = book
            .batches
            .iter()
            .filter(|b| b.origin.is_imported())
            .map(|b| b.count())
            .sum();
        // Other campaigns have no codes of the service, except those made before their policy changed.
        if campaign.code == CodePolicy::Service || minted + imported > 0 {
            let name = if environment.is_live() {
                "codes, live"
            } else {
                "codes, test"
            };
            lines.push((
                name,
                format!("{} minted, {} imported", grouped(minted), grouped(imported)),
            ));
        }
        codes.insert(
            environment.to_string(),
            json!({ "minted": minted, "imported": imported }),
        );
    }
    Ok((codes, lines))
}

pub(super) async fn show(
    tables: &Tables,
    slug: &CampaignSlug,
    now: Timestamp,
) -> Result<Report, Failure> {
    let stored = tables
        .campaigns
        .get_stored(slug)
        .await?
        .ok_or_else(|| unknown_campaign(slug))?;
    let StoredCampaign {
        campaign, pause, ..
    } = stored;
    let pause = pause.filter(|pause| pause.paused == campaign.paused);
    let zone = campaign.timezone;
    let time = |at: Option<Timestamp>| or_dash(at.map(|at| zoned_time(at, zone)));
    let limit =
        |limit: Option<u32>| limit.map_or_else(|| "no limit".to_owned(), |limit| limit.to_string());
    let mut pairs = vec![
        ("slug", slug.to_string()),
        ("name", campaign.name.clone()),
        ("brand", campaign.brand.clone()),
        ("status", status_word(campaign.status(now)).to_owned()),
        ("paused", paused(&campaign, pause.as_ref())),
        ("window.start", time(campaign.window.start)),
        ("window.end", time(campaign.window.end)),
        ("timezone", zone.name().to_owned()),
        (
            "code.checked_by",
            code_policy_word(campaign.code).to_owned(),
        ),
        ("limits.phone_daily", limit(campaign.limits.phone_daily)),
        ("limits.phone_total", limit(campaign.limits.phone_total)),
        (
            "entries_per_submission",
            campaign.entries_per_submission.to_string(),
        ),
        ("wrong_codes.count", campaign.wrong_codes.count.to_string()),
        (
            "wrong_codes.minutes",
            campaign.wrong_codes.minutes.to_string(),
        ),
        ("messages.en", messages_line(&campaign.messages.en)),
        ("messages.sw", messages_line(&campaign.messages.sw)),
    ];
    if let Some(consent) = &campaign.consent {
        pairs.push(("consent.version", consent.version.clone()));
    }
    let retention = tables.retention.get(slug).await?.value;
    pairs.extend(retention::retention_lines(&campaign, &retention, now));
    if campaign.archived {
        pairs.push((
            "archived",
            "true: `ops campaign unarchive` takes it back".to_owned(),
        ));
    }
    pairs.extend(partner_lines(campaign.partner.as_ref()));
    pairs.extend(receipt_lines(campaign.receipt.as_ref()));
    let mut json = as_json(&campaign, now)?;
    let (codes, code_pairs) = code_counts(tables, &campaign).await?;
    pairs.extend(code_pairs);
    if let Some(fields) = json.as_object_mut() {
        fields.insert("codes".to_owned(), Value::Object(codes));
        fields.insert("pause_change".to_owned(), json!(pause));
        fields.insert(
            "retention_progress".to_owned(),
            retention::as_json(&campaign, &retention),
        );
    }
    Ok(Report::new(json, lines(&pairs)))
}
