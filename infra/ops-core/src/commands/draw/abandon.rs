use common::clock::Clock;

use super::show::ShownDraw;
use crate::cli::DrawArgs;
use crate::confirm::{Answer, ConfirmArgs};
use crate::draws::abandon;
use crate::failure::Failure;
use crate::tables::Tables;
use crate::terminal::{Report, Terminal};

pub(super) async fn run(
    args: DrawArgs,
    why: &str,
    confirm: ConfirmArgs,
    tables: &Tables,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    let (scope, name) = args.named();
    let before = ShownDraw::find(tables, &scope, &name).await?;
    let question = format!(
        "{}Give this draw up, so that it never has winners?",
        before.text()?
    );
    terminal.confirm(&question, Answer::Word(name.as_str()), confirm)?;
    let draw = abandon::abandon(tables, &scope, before.draw, why, clock.now()).await?;
    let note = (!draw.is_abandoned()).then(|| {
        "next: a second operator runs the same command, with their own AWS identity and name; until then, the draw is as it was"
            .to_owned()
    });
    ShownDraw::find(tables, &scope, &name).await?.report(note)
}
