//! `ops draw run`.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use common::clock::Clock;
use common::config::Env;
use common::domain::scope::Scope;

use super::show::{as_json, described};
use crate::cli::DrawArgs;
use crate::draws::files::RESULT;
use crate::draws::run::{RoundSource, RunReport};
use crate::draws::{self, find};
use crate::failure::Failure;
use crate::tables::Tables;
use crate::terminal::{Report, Terminal};

pub(super) async fn run(
    args: DrawArgs,
    source: RoundSource,
    output: Option<&Path>,
    tables: &Tables,
    env: &Env,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    let scope = Scope::from(args.scope);
    let zone = tables.campaign(&scope.campaign).await?.timezone;
    let draw = find(tables, &scope, &args.name).await?;
    let ran = Box::pin(draws::run::run(tables, env, &scope, draw, source, clock, terminal)).await?;
    let RunReport { draw, contacts, result } = ran;
    let mut text = described(&scope, &draw, &contacts, zone)?;
    if let Some(folder) = output {
        let path = folder.join(RESULT);
        write_once(&path, &result)?;
        text.push_str(&format!("\nThe whole order is in {}.\n", path.display()));
    }
    Ok(Report::new(as_json(&scope, &draw, &contacts)?, text))
}

/// Writes the result, unless it is there.
fn write_once(path: &Path, result: &str) -> Result<(), Failure> {
    let written = File::options().write(true).create_new(true).open(path).and_then(|mut file| {
        file.write_all(result.as_bytes())?;
        file.sync_all()
    });
    match written {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let found =
                std::fs::read_to_string(path).map_err(|error| Failure::from_io(path, "reading", &error))?;
            if found == result {
                return Ok(());
            }
            let message = format!("{} is of another draw; choose another --output", path.display());
            Err(Failure::new("file_exists", message))
        }
        written => written.map_err(|error| Failure::from_io(path, "writing", &error)),
    }
}
