use common::clock::Clock;
use common::config::Env;
use common::domain::scope::Scope;
use serde_json::{Value, json};

use crate::audit::Action;
use crate::cli::{ExportArgs, ExportCommand};
use crate::connection;
use crate::export::{self, Export, ExportContent, Phones, format};
use crate::failure::Failure;
use crate::format::grouped;
use crate::terminal::{Report, Terminal};

pub(crate) async fn run(
    command: ExportCommand,
    env: &Env,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    let (content, args, states, draw) = match command {
        ExportCommand::Submissions { args, state } => {
            (ExportContent::Submissions, args, state, None)
        }
        ExportCommand::Entrants(args) => (ExportContent::Entrants, args, Vec::new(), None),
        ExportCommand::Winners { args, draw } => (ExportContent::Winners, args, Vec::new(), draw),
    };
    let ExportArgs {
        campaign,
        environment,
        from,
        to,
        phones,
        output,
    } = args;
    format::check_name(&output)?;
    let tables = connection::tables(env).await?;
    let zone = tables.campaign(&campaign).await?.timezone;
    let (from, to) = (from.map(|from| from.begin(zone)), to.map(|to| to.end(zone)));
    if from.zip(to).is_some_and(|(from, to)| from >= to) {
        let message = "no time is from --from to --to: give --to a later day or time than --from";
        return Err(Failure::new("period_empty", message));
    }
    let phones = if phones {
        Phones::Whole
    } else {
        Phones::Masked
    };
    let scope = Scope {
        campaign,
        environment,
    };
    let export = Export {
        content,
        scope,
        from,
        to,
        states,
        phones,
        draw,
        zone,
    };
    if export.phones == Phones::Whole {
        let details = json!({ "content": export.content, "phones": export.phones });
        let action = Action::new("export").in_scope(&export.scope).with(details);
        let action = export.draw.iter().fold(action, Action::on);
        tables.audit.append(action, clock.now()).await?;
    }
    let manifest = export::write(&tables, &export, &output, clock, terminal).await?;
    let rows = grouped(manifest.get("rows").and_then(Value::as_u64).unwrap_or(0));
    let text = format!("{rows} {} in {}", content.rows(), output.display());
    let of_draws =
        "these won an instant prize; with --draw NAME, the winners of a draw are exported";
    let note =
        (content == ExportContent::Winners && export.draw.is_none()).then(|| of_draws.to_owned());
    Ok(Report {
        note,
        ..Report::new(manifest, text)
    })
}
