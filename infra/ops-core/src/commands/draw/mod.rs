//! `ops draw`.

mod freeze;
mod opening;
mod run;
mod show;
mod verify;

use common::clock::Clock;
use common::config::Env;

use crate::cli::DrawCommand;
use crate::connection;
use crate::draws;
use crate::failure::Failure;
use crate::terminal::{Report, Terminal};

pub(crate) async fn run(
    command: DrawCommand,
    env: &Env,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    let command = match command {
        DrawCommand::Verify(args) => return verify::run(&args, env),
        command => command,
    };
    let tables = connection::tables(env).await?;
    match command {
        DrawCommand::Freeze(args) => freeze::run(args, &tables, env, clock, terminal).await,
        DrawCommand::Run { draw, beacon, signature, output } => {
            let source =
                signature.map_or(draws::run::RoundSource::Relay(beacon), draws::run::RoundSource::Pasted);
            run::run(draw, source, output.as_deref(), &tables, env, clock, terminal).await
        }
        DrawCommand::Show { draw } => show::one(draw, &tables).await,
        DrawCommand::List { scope } => show::all(scope, &tables).await,
        DrawCommand::Opening { reference } => opening::run(&reference, &tables, env, clock.now()).await,
    }
}
