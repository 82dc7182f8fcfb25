//! `ops draw certificate` and the sheet of `ops draw show`.

use crate::cli::DrawArgs;
use crate::draws::certificate::{self, BESIDE, erasure_words};
use crate::draws::files::OPENINGS;
use crate::draws::find;
use crate::prelude::*;

pub(super) async fn run(args: DrawArgs, output: &Path, tables: &Tables) -> Result<Report> {
    let (scope, name) = args.named();
    let campaign = tables.campaign(&scope.campaign).await?;
    let draw = find(tables, &scope, &name).await?;
    let write = certificate::write(tables, &scope, &campaign, &draw, output);
    let erasures = Box::pin(write).await?;
    let mut text = format!(
        "the certificate is {}; publish it with what is beside it: {}. Anyone can check it: the page in a \
         browser, the folder by `ops draw verify` or by verify.py\n",
        output.display(),
        joined(BESIDE)
    );
    for erasure in &erasures {
        text += &format!("{}\n", erasure_words(erasure));
    }
    if output.with_file_name(OPENINGS).exists() {
        text += &format!("{OPENINGS} in the same folder is SECRET: do not publish it.\n");
    }
    Ok(Report::new(
        json!({ "certificate": output, "files": BESIDE, "erasures": erasures }),
        text,
    ))
}

pub(super) async fn sheet(
    scope: &Scope,
    name: &DrawName,
    output: &Path,
    tables: &Tables,
) -> Result<Report> {
    let campaign = tables.campaign(&scope.campaign).await?;
    let draw = find(tables, scope, name).await?;
    certificate::write_sheet(tables, &draw, &campaign, output)?;
    let text = format!(
        "the sheet is {}; print it, and let the inspector compare the commitment before the round's time",
        output.display()
    );
    Ok(Report::new(json!({ "sheet": output }), text))
}
