use std::ffi::OsString;

use clap::{CommandFactory, Parser};
use futures_util::future::BoxFuture;

use crate::audit::BY_VARIABLE;
use crate::cli::{Cli, Command};
use crate::commands::{
    audit, campaign, code, draw, instant, key, numbers, person, phone, prize, secret, smoke,
    submission, webhook, whoami,
};
use crate::export;
use crate::prelude::*;

#[derive(Clone)]
pub struct ConsoleSettings {
    /// Has the operator's credentials, too.
    pub env: Env,
    pub clock: Clock,
    /// 0 picks a free port on 127.0.0.1.
    pub port: u16,
    pub opens_browser: bool,
}

/// Prints a link, serves the console until it ends, and says why it ended.
pub type ServeConsole =
    for<'a> fn(ConsoleSettings, &'a mut (dyn Write + Send)) -> BoxFuture<'a, Result<String>>;

/// Returns 0 for success, 1 if refused or failed (standard error says why), 2 for an invalid
/// command line. `args` begins with the program's name; `console` is `ops console`.
pub async fn run(
    args: impl IntoIterator<Item = OsString>,
    env: Env,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
    console: ServeConsole,
) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    let json_wanted = args.iter().any(|arg| arg == "--json");
    match Cli::try_parse_from(args) {
        Ok(cli) => {
            let as_json = cli.json;
            terminal.is_quiet = as_json;
            terminal.yes = cli.yes;
            // Boxed, because the compiler follows nested futures only so deep.
            let ended = Box::pin(execute(cli, env, clock, terminal, console)).await;
            terminal.show(ended, as_json)
        }
        Err(error) => terminal.usage(&error, json_wanted),
    }
}

async fn execute(
    cli: Cli,
    env: Env,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
    console: ServeConsole,
) -> Result<Report> {
    let env = connection::with_usual_env_file(env, cli.env_file.as_deref())?;
    if cli.by.is_some() && cli.command.only_reads() {
        bail!(
            "by_unused",
            "--by adds your name to what is recorded, and this command records nothing; leave it out \
                       (`ops audit list --who NAME` shows what a person did)"
        );
    }
    let env = match cli.by {
        Some(by) => env.overridden_by([(BY_VARIABLE.to_owned(), by)].into_iter().collect()),
        None => env,
    };
    if let Some(by) = env.optional(BY_VARIABLE) {
        validate_reason(&by, "--by, or OPS_BY,")?;
    }
    match cli.command {
        Command::Campaign(command) => Box::pin(campaign::run(command, &env, clock, terminal)).await,
        Command::Key(command) => key::run(command, &env, clock.now(), terminal).await,
        Command::Code(command) => {
            code::run(command, &connection::tables(&env).await?, clock, terminal).await
        }
        Command::Draw(command) => Box::pin(draw::run(command, &env, clock, terminal)).await,
        Command::Instant(command) => Box::pin(instant::run(command, &env, clock, terminal)).await,
        Command::Prize(command) => {
            let tables = connection::tables(&env).await?;
            Box::pin(prize::run(command, &tables, clock.now(), terminal)).await
        }
        Command::Export(args) => Box::pin(export::run(args, &env, clock, terminal)).await,
        Command::Submission(command) => {
            Box::pin(submission::run(command, &env, clock.now(), terminal)).await
        }
        Command::Secret(command) => {
            secret::run(command, &connection::tables(&env).await?, clock.now()).await
        }
        Command::Smoke { url } => {
            smoke::run(&url, &connection::tables(&env).await?, clock.now()).await
        }
        Command::Person(command) => person::run(command, &env, clock, terminal).await,
        Command::Audit(command) => {
            Box::pin(audit::run(
                command,
                &connection::tables(&env).await?,
                clock.now(),
            ))
            .await
        }
        Command::Console { port, no_browser } => {
            let order = ConsoleSettings {
                env,
                clock: clock.clone(),
                port,
                opens_browser: !no_browser,
            };
            let ended = console(order, terminal.out).await?;
            Ok(Report::new(json!({ "ended": ended }), ended))
        }
        Command::Whoami => whoami::run(&env).await,
        Command::Completions { shell } => Ok(completions(shell)),
        // Boxed, because their futures are large.
        Command::Numbers(args) => {
            Box::pin(numbers::run(
                args,
                &connection::tables(&env).await?,
                clock,
                terminal,
            ))
            .await
        }
        Command::Phone(command) => phone::run(command, &env, clock, terminal).await,
        Command::Webhook(command) => {
            let tables = connection::tables(&env).await?;
            Box::pin(webhook::run(command, &tables, clock, terminal)).await
        }
    }
}

fn completions(shell: clap_complete::Shell) -> Report {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "ops", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    Report::new(json!({ "script": script }), script)
}
