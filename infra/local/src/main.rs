//! `cargo run -p local`: the whole service on this machine.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use common::clock::Clock;
use common::config::Env;
use common::telemetry::{Telemetry, causes};
use local::demo;
use local::stack::{Options, Stack};
use serde_json::json;

/// Runs the whole Campaign Entry Service on this machine, with everything embedded.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The API's port on 127.0.0.1; 0 picks a free one.
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Which kind of deployment to be; staging refuses live keys.
    #[arg(long, value_enum, default_value_t = StageName::Production)]
    stage: StageName,
    /// Keep everything in this folder; otherwise it is gone at the end.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Once serving, write the base URL and the variables that the functions and `ops` need, as JSON.
    #[arg(long, value_name = "PATH")]
    ready_file: Option<PathBuf>,
    /// Start without the demo campaigns.
    #[arg(long)]
    no_demo: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StageName {
    Production,
    Staging,
}

impl StageName {
    fn as_str(self) -> &'static str {
        match self {
            Self::Production => "production",
            Self::Staging => "staging",
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {}", causes(error.as_ref()).join(": "));
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let clock = Clock::system();
    let stage = arguments.stage.as_str();
    let stack = Stack::start(Options {
        port: arguments.port,
        stage,
        data: arguments.data.clone(),
        dynamodb_url: None,
        clock: clock.clone(),
        telemetry: Telemetry::Terminal,
    })
    .await?;
    let env: Env = stack.env().clone().into_iter().collect();
    let demos = if arguments.no_demo {
        Vec::new()
    } else {
        demo::load(&env, arguments.data.as_deref(), &clock).await?
    };
    print!("{}", demo::describe(&demos, stack.base_url(), stage));
    if let Some(path) = &arguments.ready_file {
        write_ready_file(path, &stack)?;
    }
    let kept = arguments
        .data
        .as_deref()
        .map_or_else(|| "in memory".to_owned(), |data| format!("in {}", data.display()));
    println!("\nServing {} ({stage}, data {kept}). Ctrl-C stops it.", stack.base_url());
    told_to_stop().await?;
    println!("Stopping.");
    stack.stop().await;
    Ok(())
}

/// Whoever waits for the file finds it whole or not at all.
fn write_ready_file(path: &Path, stack: &Stack) -> io::Result<()> {
    let ready = json!({ "base_url": stack.base_url(), "env": stack.env() });
    let partial = path.with_extension("partial");
    std::fs::write(&partial, format!("{ready:#}\n"))?;
    std::fs::rename(&partial, path)
}

/// Waits for Ctrl-C, or for the signal that ends a service.
async fn told_to_stop() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminate.recv() => Ok(()),
    }
}
