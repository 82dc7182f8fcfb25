mod abandon;
mod call_log;
mod certificate;
mod freeze;
mod opening;
mod run;
mod show;
mod verify;

use crate::cli::DrawCommand;
use crate::prelude::*;

pub(crate) async fn run(
    command: DrawCommand,
    env: &Env,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let tables = async || connection::tables(env).await;
    match command {
        DrawCommand::Verify(args) => verify::run(&args, env),
        DrawCommand::Freeze(args) => freeze::run(args, &tables().await?, clock, terminal).await,
        DrawCommand::Run {
            draw,
            beacon,
            output,
        } => {
            let tables = &tables().await?;
            run::run(draw, beacon, output.as_deref(), tables, clock, terminal).await
        }
        DrawCommand::Show { scope, draw, sheet } => {
            let (tables, scope, now) = (&tables().await?, &scope.into(), clock.now());
            match (draw, sheet) {
                (None, _) => show::all(scope, tables).await,
                (Some(name), None) => show::one(scope, &name, tables, now).await,
                (Some(name), Some(file)) => certificate::sheet(scope, &name, &file, tables).await,
            }
        }
        DrawCommand::Opening { reference } => {
            opening::run(reference, &tables().await?, clock.now()).await
        }
        DrawCommand::Call(args) => call_log::call(args, &tables().await?, clock.now()).await,
        DrawCommand::Confirm(args) => {
            let event = ContactEvent::Identified;
            call_log::log_step(args, event, &tables().await?, clock.now()).await
        }
        DrawCommand::HandOver(args) => {
            let event = ContactEvent::HandedOver;
            call_log::log_step(args, event, &tables().await?, clock.now()).await
        }
        DrawCommand::Skip(args) => {
            call_log::skip(args, &tables().await?, clock.now(), terminal).await
        }
        DrawCommand::Keep { draw, why } => {
            abandon::keep(draw, &why, &tables().await?, clock.now()).await
        }
        DrawCommand::Abandon { draw, why } => {
            let tables = tables().await?;
            abandon::run(draw, &why, &tables, clock, terminal).await
        }
        DrawCommand::Certificate { draw, output } => {
            certificate::run(draw, &output, &tables().await?).await
        }
    }
}
