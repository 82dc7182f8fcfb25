//! `ops campaign clear-test-data`.

use common::config::Env;
use common::domain::scope::CampaignSlug;
use common::domain::timestamp::Timestamp;
use serde_json::{Map, json};

use crate::audit::Action;
use crate::campaigns::test_data;
use crate::confirm::{Answer, ConfirmArgs};
use crate::connection;
use crate::failure::Failure;
use crate::format::grouped;
use crate::terminal::{Report, Terminal};

pub(super) async fn clear(
    env: &Env,
    slug: &CampaignSlug,
    confirm: ConfirmArgs,
    now: Timestamp,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    let tables = connection::tables(env).await?;
    let photos = tables.photos(env)?;
    tables.campaign(slug).await?;
    let question = format!(
        "This deletes the submissions, entrants, receipts and photos of {slug} in test mode, and frees the codes that were \
         used there; live data stays. Draws of test mode stay too, under their names, but without their entrants: nobody can \
         be called, and the next draw needs another name. Stop your test callers first. It reads five whole tables (submissions, entrants, \
         codes, receipts, requests), which takes and costs a read of every record of all campaigns."
    );
    terminal.confirm(&question, Answer::Word(slug.as_str()), confirm)?;
    tables.audit.append(Action::new("campaign.clear_test_data").in_campaign(slug), now).await?;
    let mut counts = Map::new();
    let mut text = String::new();
    test_data::clear(&tables, env, &photos, slug, now, |kind, count| {
        counts.insert(kind.replace(' ', "_"), json!(count));
        text.push_str(&format!("{} {kind}\n", grouped(count)));
    })
    .await?;
    Ok(Report::new(json!({ "slug": slug, "cleared": counts }), format!("cleared:\n{text}")))
}
