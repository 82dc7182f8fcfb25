use crate::campaigns::test_data;
use crate::prelude::*;

pub(super) async fn clear(
    tables: &Tables,
    slug: &CampaignSlug,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    // A stack without storage is refused before anything is deleted.
    let photos = tables.photos()?;
    tables.campaign(slug).await?;
    let question = format!(
        "This deletes the submissions, entrants, receipts and photos of {slug} in test mode, and frees the codes that were \
         used there; live data stays. Draws of test mode stay too, under their names, but without their entrants: no winner \
         can be called, and the next draw needs another name. Stop your test callers first. It reads five whole tables (submissions, entrants, \
         codes, receipts, requests), which takes and costs a read of every record of all campaigns."
    );
    terminal.confirm_typed(&question, slug.as_str())?;
    let begun = Action::new("campaign.clear_test_data").in_campaign(slug);
    tables.audit.append(begun, clock.now()).await?;
    let mut counts = Map::new();
    let mut text = String::from("cleared:\n");
    test_data::clear(tables, &photos, slug, clock.now(), |kind, count| {
        counts.insert(kind.replace(' ', "_"), json!(count));
        text += &format!("{} {kind}\n", grouped(count));
    })
    .await?;
    // It can take long, and `ops numbers recount` needs its end.
    let ended = Action::new("campaign.test_data_cleared").in_campaign(slug);
    let ended = ended.with(json!(counts));
    tables.audit.append(ended, clock.now()).await?;
    Ok(Report::new(
        json!({ "slug": slug, "cleared": counts }),
        text,
    ))
}
