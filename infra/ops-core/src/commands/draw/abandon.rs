use super::show::ShownDraw;
use crate::cli::DrawArgs;
use crate::draws::{self, abandon};
use crate::prelude::*;

pub(super) async fn run(
    args: DrawArgs,
    why: &str,
    tables: &Tables,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let (scope, name) = args.named();
    let before = ShownDraw::find(tables, &scope, &name).await?;
    let question = format!(
        "{}Give this draw up, so that it never has winners?",
        before.text()?
    );
    terminal.confirm_typed(&question, name.as_str())?;
    let shown = abandon::request(&before.draw, clock.now()).map(|first| first.at);
    let draw = abandon::abandon(tables, &scope, before.draw, why, shown).await?;
    let note = (!draw.is_abandoned()).then(|| {
        "next: a second operator runs the same command, with their own AWS identity and name; until then, the draw is as it was"
            .to_owned()
    });
    ShownDraw::find(tables, &scope, &name).await?.report(note)
}

pub(super) async fn keep(
    args: DrawArgs,
    why: &str,
    tables: &Tables,
    now: Timestamp,
) -> Result<Report> {
    let (scope, name) = args.named();
    let draw = draws::find(tables, &scope, &name).await?;
    let shown = abandon::request(&draw, now).map(|first| first.at);
    abandon::decline(tables, &scope, &draw, why, shown).await?;
    ShownDraw::find(tables, &scope, &name).await?.report(None)
}
