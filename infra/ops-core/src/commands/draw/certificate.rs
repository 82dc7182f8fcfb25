//! `ops draw certificate` and `ops draw sheet`.

use std::path::Path;

use common::domain::scope::Scope;
use serde_json::json;

use crate::cli::DrawArgs;
use crate::draws::files::OPENINGS;
use crate::draws::{self, find};
use crate::failure::Failure;
use crate::tables::Tables;
use crate::terminal::Report;

pub(super) async fn run(args: DrawArgs, output: &Path, tables: &Tables) -> Result<Report, Failure> {
    let scope = Scope::from(args.scope);
    let campaign = tables.campaign(&scope.campaign).await?;
    let draw = find(tables, &scope, &args.name).await?;
    let files = Box::pin(draws::certificate::write(
        tables, &scope, &campaign, &draw, output,
    ))
    .await?;
    let beside = files.join(", ");
    let mut text = format!(
        "the certificate is {}; publish it with what is beside it: {beside}. Anybody can check it: the page in a \
         browser, the folder by `ops draw verify` or by verify.py\n",
        output.display()
    );
    if output.with_file_name(OPENINGS).exists() {
        text.push_str(&format!(
            "{OPENINGS} in the same folder is SECRET: do not publish it.\n"
        ));
    }
    Ok(Report::new(
        json!({ "certificate": output, "files": files }),
        text,
    ))
}

pub(super) async fn sheet(
    args: DrawArgs,
    output: &Path,
    tables: &Tables,
) -> Result<Report, Failure> {
    let scope = Scope::from(args.scope);
    let campaign = tables.campaign(&scope.campaign).await?;
    let draw = find(tables, &scope, &args.name).await?;
    draws::certificate::write_sheet(tables, &draw, &campaign, output)?;
    let text = format!(
        "the sheet is {}; print it, and let the inspector compare the commitment before the round's time",
        output.display()
    );
    Ok(Report::new(json!({ "sheet": output }), text))
}
