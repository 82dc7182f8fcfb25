//! `ops campaign`.

mod apply;
mod files;
mod retention;
mod show;
mod test_data;
mod versions;

use common::clock::Clock;
use common::config::Env;
use common::domain::campaign::CampaignStatus;
use common::domain::scope::CampaignSlug;
use common::domain::timestamp::Timestamp;
use common::store::campaign_versions::CampaignChange;
use serde_json::{Value, json};

use crate::audit::words;
use crate::campaigns;
use crate::cli::CampaignCommand;
use crate::connection;
use crate::failure::Failure;
use crate::format::{local_time, or_dash, table};
use crate::pace::PartnerConcurrency;
use crate::tables::Tables;
use crate::terminal::{Report, Terminal};

pub(crate) async fn run(
    command: CampaignCommand,
    env: &Env,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    let now = clock.now();
    // Boxed, like the longest of the commands: together they would not fit on a test's stack.
    let tables = Box::pin(connection::tables(env));
    let change = async |tables: &Tables| -> Result<CampaignChange, Failure> {
        Ok(CampaignChange {
            at: now,
            by: Some(tables.audit.operator_in_full().await?),
        })
    };
    match command {
        CampaignCommand::Apply(args) => {
            // Files first: an error in a file should not need a stack to be found.
            let files = files::read_all(&args.files)?;
            let concurrency = PartnerConcurrency::from_env(env)?;
            let tables = tables.await?;
            let change = change(&tables).await?;
            Box::pin(apply::apply(
                &tables,
                &files,
                &args,
                change,
                concurrency,
                terminal,
            ))
            .await
        }
        CampaignCommand::Init { file } => files::init(&file),
        CampaignCommand::Schema { markdown } => Ok(files::schema(markdown)),
        CampaignCommand::List { all } => list(&tables.await?, all, now).await,
        CampaignCommand::Show {
            slug, yaml: false, ..
        } => show::show(&tables.await?, &slug, now).await,
        CampaignCommand::Show {
            slug,
            yaml: true,
            revision,
        } => show::yaml(&tables.await?, &slug, revision).await,
        CampaignCommand::History { slug, limit } => {
            Box::pin(versions::history(&tables.await?, &slug, limit, now)).await
        }
        CampaignCommand::Clone { slug, new, output } => {
            files::clone(&tables.await?, &slug, new, output.as_deref()).await
        }
        CampaignCommand::Pause { slug, why } => switch(&tables.await?, &slug, true, why, now).await,
        CampaignCommand::Resume { slug, why } => {
            switch(&tables.await?, &slug, false, why, now).await
        }
        CampaignCommand::Archive { slug } => {
            let tables = tables.await?;
            Box::pin(versions::archive(
                &tables,
                &slug,
                true,
                change(&tables).await?,
            ))
            .await
        }
        CampaignCommand::Unarchive { slug } => {
            let tables = tables.await?;
            Box::pin(versions::archive(
                &tables,
                &slug,
                false,
                change(&tables).await?,
            ))
            .await
        }
        CampaignCommand::ClearTestData { slug, confirm } => {
            Box::pin(test_data::clear(env, &slug, confirm, clock, terminal)).await
        }
    }
}

async fn list(tables: &Tables, all: bool, now: Timestamp) -> Result<Report, Failure> {
    let mut campaigns = tables.campaigns.list().await?;
    let count = campaigns.len();
    campaigns.retain(|campaign| all || !campaign.archived);
    let rows: Vec<Vec<String>> = campaigns
        .iter()
        .map(|campaign| {
            let time =
                |at: Option<Timestamp>| or_dash(at.map(|at| local_time(at, campaign.timezone)));
            let status = status_word(campaign.status(now));
            vec![
                campaign.slug.to_string(),
                if campaign.archived {
                    "archived"
                } else {
                    status
                }
                .to_owned(),
                time(campaign.window.start),
                time(campaign.window.end),
                campaign.timezone.name().to_owned(),
                campaign.brand.clone(),
                campaign.name.clone(),
            ]
        })
        .collect();
    let text = if count == 0 {
        "There are no campaigns yet; `ops campaign apply FILE.yaml` adds one.".to_owned()
    } else {
        table(
            &["SLUG", "STATUS", "START", "END", "ZONE", "BRAND", "NAME"],
            &rows,
        )
    };
    let hidden = count - campaigns.len();
    let note = (hidden > 0).then(|| format!("{hidden} archived; --all lists them too"));
    let json: Vec<Value> = campaigns
        .iter()
        .map(|campaign| show::as_json(campaign, now))
        .collect::<Result<_, _>>()?;
    Ok(Report {
        note,
        ..Report::new(json!({ "campaigns": json }), text)
    })
}

async fn switch(
    tables: &Tables,
    slug: &CampaignSlug,
    paused: bool,
    why: Option<String>,
    now: Timestamp,
) -> Result<Report, Failure> {
    let why = why.map(|why| words(&why, "--why")).transpose()?;
    campaigns::set_paused(tables, slug, paused, why.as_deref(), now).await?;
    let word = if paused { "paused" } else { "resumed" };
    let back = if paused {
        format!("; `ops campaign resume {slug}` takes entries again")
    } else {
        String::new()
    };
    let text = format!("{slug} {word}; callers see it within 5 seconds{back}");
    Ok(Report::new(json!({ "slug": slug, "paused": paused }), text))
}

fn status_word(status: CampaignStatus) -> &'static str {
    match status {
        CampaignStatus::Live => "live",
        CampaignStatus::Paused => "paused",
        CampaignStatus::NotStarted => "not_started",
        CampaignStatus::Ended => "ended",
    }
}
