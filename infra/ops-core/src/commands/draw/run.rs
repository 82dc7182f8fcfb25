use super::show::ShownDraw;
use crate::cli::DrawArgs;
use crate::draws::certificate::put;
use crate::draws::files::RESULT;
use crate::draws::run::RoundSource;
use crate::draws::shown::options;
use crate::draws::{self, find};
use crate::prelude::*;

pub(super) async fn run(
    args: DrawArgs,
    source: Option<RoundSource>,
    output: Option<&Path>,
    tables: &Tables,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let (scope, name) = args.named();
    let draw = find(tables, &scope, &name).await?;
    let run = draws::run::run(tables, &scope, &draw, source, clock, terminal);
    let result = Box::pin(run).await?;
    let shown = ShownDraw::find(tables, &scope, &name).await?;
    let mut text = shown.text()?;
    if let Some(folder) = output {
        let path = folder.join(RESULT);
        put(&path, result.as_bytes())?;
        text += &format!("\nThe whole order is in {}.\n", path.display());
    }
    let options = options(&scope, &name);
    let note = format!(
        "next: call each winner who is not skipped: `ops draw call {options} --winner N --show-phone` shows the number, and \
         --outcome logs the call. `ops draw certificate {options} --output FILE.html` writes what the public checks"
    );
    Ok(Report::new(shown.json()?, text).with_note(note))
}
