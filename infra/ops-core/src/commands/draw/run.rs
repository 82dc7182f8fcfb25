//! `ops draw run`.

use std::path::Path;

use common::clock::Clock;
use common::domain::scope::Scope;

use super::show::{as_json, described};
use crate::cli::DrawArgs;
use crate::draws::call_log::blocked;
use crate::draws::certificate::put;
use crate::draws::files::RESULT;
use crate::draws::run::{RoundSource, RunReport};
use crate::draws::shown::options;
use crate::draws::{self, find};
use crate::failure::Failure;
use crate::tables::Tables;
use crate::terminal::{Report, Terminal};

pub(super) async fn run(
    args: DrawArgs,
    source: Option<RoundSource>,
    output: Option<&Path>,
    tables: &Tables,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    let scope = Scope::from(args.scope);
    let zone = tables.campaign(&scope.campaign).await?.timezone;
    let draw = find(tables, &scope, &args.name).await?;
    let ran = Box::pin(draws::run::run(
        tables, &scope, draw, source, clock, terminal,
    ))
    .await?;
    let RunReport {
        draw,
        contacts,
        result,
    } = ran;
    let blocked = blocked(tables, &scope, &contacts).await?;
    let mut text = described(&scope, &draw, &contacts, &blocked, zone)?;
    if let Some(folder) = output {
        let path = folder.join(RESULT);
        put(&path, result.as_bytes())?;
        text.push_str(&format!("\nThe whole order is in {}.\n", path.display()));
    }
    let options = options(&scope, &draw.name);
    let note = format!(
        "next: call each winner who is not skipped: `ops draw call {options} --winner N --show-phone` shows the number, and \
         --outcome logs the call. `ops draw certificate {options} --output FILE.html` writes what the public checks"
    );
    Ok(Report {
        note: Some(note),
        ..Report::new(as_json(&scope, &draw, &contacts, &blocked)?, text)
    })
}
