mod abandon;
mod call_log;
mod certificate;
mod freeze;
mod opening;
mod run;
mod show;
mod verify;

use common::clock::Clock;
use common::config::Env;
use common::domain::draw::contact::ContactEvent;

use crate::cli::DrawCommand;
use crate::connection;
use crate::failure::Failure;
use crate::terminal::{Report, Terminal};

pub(crate) async fn run(
    command: DrawCommand,
    env: &Env,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    let tables = async || connection::tables(env).await;
    match command {
        DrawCommand::Verify(args) => verify::run(&args, env),
        DrawCommand::Freeze(args) => freeze::run(args, &tables().await?, clock, terminal).await,
        DrawCommand::Run {
            draw,
            beacon,
            output,
        } => {
            run::run(
                draw,
                beacon,
                output.as_deref(),
                &tables().await?,
                clock,
                terminal,
            )
            .await
        }
        DrawCommand::Show { draw } => show::one(draw, &tables().await?, clock.now()).await,
        DrawCommand::List { scope } => show::all(scope, &tables().await?).await,
        DrawCommand::Opening { reference } => {
            opening::run(reference, &tables().await?, clock.now()).await
        }
        DrawCommand::Call(args) => call_log::call(args, &tables().await?, clock.now()).await,
        DrawCommand::Confirm(args) => {
            call_log::log_step(
                args,
                ContactEvent::Identified,
                &tables().await?,
                clock.now(),
            )
            .await
        }
        DrawCommand::HandOver(args) => {
            call_log::log_step(
                args,
                ContactEvent::HandedOver,
                &tables().await?,
                clock.now(),
            )
            .await
        }
        DrawCommand::Skip(args) => {
            call_log::skip(args, &tables().await?, clock.now(), terminal).await
        }
        DrawCommand::Abandon { draw, why, confirm } => {
            let tables = tables().await?;
            abandon::run(draw, &why, confirm, &tables, clock, terminal).await
        }
        DrawCommand::Certificate { draw, output } => {
            certificate::run(draw, &output, &tables().await?).await
        }
        DrawCommand::Sheet { draw, output } => {
            certificate::sheet(draw, &output, &tables().await?).await
        }
    }
}
