use common::store::campaigns::PauseChange;

use super::retention;
use crate::campaign_file::write::{to_json, to_yaml};
use crate::campaigns::summary;
use crate::campaigns::versions::{stored, version};
use crate::prelude::*;
use crate::webhooks;

pub(super) fn as_json(campaign: &Campaign, now: Timestamp) -> Result<Value> {
    let fields = Value::Object(to_json(campaign)?);
    let more = [
        ("status", json!(campaign.status(now))),
        ("archived", json!(campaign.archived)),
    ];
    Ok(extended(fields, more))
}

pub(super) async fn yaml(
    tables: &Tables,
    slug: &CampaignSlug,
    revision: Option<u64>,
) -> Result<Report> {
    let campaign = match revision {
        Some(revision) => version(tables, slug, revision).await?,
        None => tables.campaign(slug).await?,
    };
    let yaml = to_yaml(&campaign)?;
    Ok(Report::new(json!({ "slug": slug, "yaml": yaml }), yaml))
}

pub(super) async fn show(tables: &Tables, slug: &CampaignSlug, now: Timestamp) -> Result<Report> {
    let stored = stored(tables, slug).await?;
    let campaign = stored.campaign;
    let pause = stored.pause.filter(|pause| pause.paused == campaign.paused);
    let retention = tables.retention.get(slug).await?.value;
    let mut pairs = summary(&campaign)?;
    // `code.checked_by` shows a missing partner; lines below, the retention.
    pairs.retain(|(name, _)| name != "partner" && !name.starts_with("retention"));
    let mut push = |name: &str, value: String| pairs.push((name.to_owned(), value));
    push("status", campaign.status(now).to_string());
    if let Some(pause) = &pause {
        push("pause", pause_in_words(pause, &campaign));
    }
    for (name, value) in retention::retention_lines(&campaign, &retention, now) {
        push(name, value);
    }
    let mut codes = Map::new();
    for scope in slug.scopes() {
        let environment = scope.environment.to_string();
        // The campaign of `ops smoke` has no book.
        let Some(book) = tables.code_books.overview(&scope).await? else {
            codes.insert(environment, Value::Null);
            continue;
        };
        let minted = book.minted;
        let imported = book
            .batches
            .iter()
            .filter(|batch| batch.origin.is_imported());
        let imported: u64 = imported.map(Batch::count).sum();
        // Other campaigns have codes only from before a change of policy.
        if campaign.code == CodePolicy::Service || minted + imported > 0 {
            let counts = format!("{} minted, {} imported", grouped(minted), grouped(imported));
            push(&format!("codes, {environment}"), counts);
        }
        codes.insert(
            environment,
            json!({ "minted": minted, "imported": imported }),
        );
    }
    let mut failing = Vec::new();
    if campaign.has_webhooks() {
        for scope in slug.scopes() {
            let listed = webhooks::list(tables, &scope).await?;
            let words = listed
                .iter()
                .filter_map(|one| one.failing(campaign.timezone, now));
            failing.extend(words);
        }
    }
    for words in &failing {
        push("webhook", words.clone());
    }
    let more = [
        ("webhooks_failing", json!(failing)),
        ("codes", Value::Object(codes)),
        ("pause_change", json!(pause)),
        (
            "retention_progress",
            retention::as_json(&campaign, &retention),
        ),
    ];
    Ok(Report::new(
        extended(as_json(&campaign, now)?, more),
        lines(&pairs),
    ))
}

fn pause_in_words(pause: &PauseChange, campaign: &Campaign) -> String {
    let PauseChange {
        paused,
        at,
        by,
        why,
    } = pause;
    let word = if *paused { "paused" } else { "resumed" };
    let at = zoned_time(*at, campaign.timezone);
    let why = why.iter().map(|why| format!(": {why}")).collect::<String>();
    format!("{word} {at} by {by}{why}")
}
