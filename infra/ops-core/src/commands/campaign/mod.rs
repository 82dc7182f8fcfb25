mod apply;
mod files;
mod retention;
mod show;
mod test_data;
mod versions;

use crate::campaigns;
use crate::cli::CampaignCommand;
use crate::pace::PartnerConcurrency;
use crate::prelude::*;

pub(crate) async fn run(
    command: CampaignCommand,
    env: &Env,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let now = clock.now();
    // Boxed: it would not fit on a test's stack.
    let tables = Box::pin(connection::tables(env));
    match command {
        CampaignCommand::Apply(args) => {
            // Files first: an error in one needs no stack to be found.
            let files = files::read_all(&args.files)?;
            let concurrency = PartnerConcurrency::from_env(env)?;
            let tables = tables.await?;
            let change = change(&tables, now).await?;
            let applying = apply::apply(&tables, &files, &args, change, concurrency, terminal);
            Box::pin(applying).await
        }
        CampaignCommand::Init { file } => files::init(&file),
        CampaignCommand::Schema => Ok(files::schema()),
        CampaignCommand::List { all } => list(&tables.await?, all, now).await,
        CampaignCommand::Show {
            slug,
            yaml,
            revision,
        } => {
            let tables = tables.await?;
            if yaml {
                show::yaml(&tables, &slug, revision).await
            } else {
                show::show(&tables, &slug, now).await
            }
        }
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
        CampaignCommand::Archive { slug, undo } => {
            Box::pin(versions::archive(&tables.await?, &slug, !undo, now)).await
        }
        CampaignCommand::ClearTestData { slug } => {
            let tables = tables.await?;
            let clearing = test_data::clear(&tables, &slug, clock, terminal);
            Box::pin(clearing).await
        }
    }
}

async fn change(tables: &Tables, now: Timestamp) -> Result<CampaignChange> {
    Ok(CampaignChange {
        at: now,
        by: Some(tables.audit.operator_in_full().await?),
    })
}

const COLUMNS: &Columns = &[
    ("SLUG", "/slug"),
    ("STATUS", "/status"),
    ("START", "/window/start"),
    ("END", "/window/end"),
    ("ZONE", "/timezone"),
    ("BRAND", "/brand"),
    ("NAME", "/name"),
];

async fn list(tables: &Tables, all: bool, now: Timestamp) -> Result<Report> {
    let mut campaigns = tables.campaigns.list().await?;
    let count = campaigns.len();
    campaigns.retain(|campaign| all || !campaign.archived);
    let views = campaigns
        .iter()
        .map(|campaign| show::as_json(campaign, now));
    let views: Vec<Value> = views.collect::<Result<_, _>>()?;
    let row = |(view, campaign): (&Value, &Campaign)| {
        let status = campaign.archived.then(|| ("status", json!("archived")));
        extended(view.clone(), status)
    };
    let rows: Vec<_> = views.iter().zip(&campaigns).map(row).collect();
    let text = if count == 0 {
        "There are no campaigns yet; `ops campaign apply FILE.yaml` adds one.".to_owned()
    } else {
        table(COLUMNS, &rows, Tz::UTC)
    };
    let hidden = count - campaigns.len();
    let note = (hidden > 0).then(|| format!("{hidden} archived; --all lists them too"));
    Ok(Report::new(json!({ "campaigns": views }), text).with_note(note))
}

async fn switch(
    tables: &Tables,
    slug: &CampaignSlug,
    paused: bool,
    why: Option<String>,
    now: Timestamp,
) -> Result<Report> {
    let why = why.map(|why| validate_reason(&why, "--why")).transpose()?;
    campaigns::set_paused(tables, slug, paused, why.as_deref(), now).await?;
    let text = if paused {
        format!(
            "{slug} paused; callers see it within 5 seconds; `ops campaign resume {slug}` takes entries again"
        )
    } else {
        format!("{slug} resumed; callers see it within 5 seconds")
    };
    Ok(Report::new(json!({ "slug": slug, "paused": paused }), text))
}
