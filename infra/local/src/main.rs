use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use axum::http::Uri;
use clap::{Parser, ValueEnum};
use common::clock::Clock;
use common::config::Env;
use common::telemetry::{Telemetry, error_chain};
use common::upstream::tax_authority::client::{Limits, TaxAuthority};
use local::demo::Demo;
use local::first_screen::FirstScreen;
use local::stack::{Options, Stack};
use local::{demo, private_file, ready_file};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Run the whole Campaign Entry Service on this machine. Nothing else has to be installed.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The API's port on 127.0.0.1; 0 picks a free one.
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Behave like this kind of deployment; staging refuses live keys.
    #[arg(long, value_parser = ["production", "staging"], default_value = "production")]
    stage: String,
    /// Keep everything in this folder; without it, all is gone at the end.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Ask this tax authority instead of the simulated one, such as https://verify.tra.go.tz.
    #[arg(long, value_name = "URL", value_parser = tax_authority_url)]
    tax_authority_url: Option<String>,
    /// Use the partner at this URL for the demo campaign instead of the simulated one.
    #[arg(long, value_name = "URL", value_parser = http_url)]
    partner_url: Option<String>,
    /// Read secrets of partners from this file: a JSON object of names and values.
    #[arg(long, value_name = "PATH")]
    secrets: Option<PathBuf>,
    /// Divide the waits between settling steps by this number, to watch retries.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    speedup: u32,
    /// Once serving, write the base URL, demo keys and codes, and the variables that functions and `ops` need to this file: as
    /// lines if its name ends in .env, else as JSON. Can be given several times.
    #[arg(long, value_name = "PATH")]
    ready_file: Vec<PathBuf>,
    /// Start without the demo campaigns.
    #[arg(long)]
    no_demo: bool,
    /// Add two weeks of entries to the demo campaigns, some of which wait for an operator, and a draw: something to look at in the
    /// console.
    #[arg(long, conflicts_with = "no_demo")]
    demo_entries: bool,
    /// Print more than the first screen.
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "no_demo")]
    show: Option<Shown>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shown {
    /// Every demo campaign, with its keys, codes and commands to paste.
    Demo,
    /// A finished draw of a demo campaign, made for it, with commands to look at it.
    Draw,
}

fn tax_authority_url(text: &str) -> Result<String, String> {
    match TaxAuthority::new(text, Limits::default()) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err("give scheme and host alone, such as https://verify.tra.go.tz".to_owned()),
    }
}

fn http_url(text: &str) -> Result<String, String> {
    let url: Option<Uri> = text.parse().ok();
    let scheme = url
        .as_ref()
        .filter(|url| url.host().is_some())
        .and_then(Uri::scheme_str);
    match scheme {
        Some("http" | "https") => Ok(text.to_owned()),
        _ => Err("give a URL of http or https, such as http://127.0.0.1:4050/redeem".to_owned()),
    }
}

fn main() -> ExitCode {
    // Photos are read in a child process of this same program.
    photo::serve_if_asked();
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let ran = runtime
        .map_err(Into::into)
        .and_then(|runtime| runtime.block_on(run(&arguments)));
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(
                io::stderr(),
                "error: {}",
                error_chain(error.as_ref()).join(": ")
            );
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let clock = Clock::system();
    for path in &arguments.ready_file {
        private_file::remove(path).map_err(|cause| not_written(path, cause))?;
    }
    let stack = Stack::start(options(arguments, &clock)?).await?;
    let env: Env = stack.env().clone().into_iter().collect();
    // A program that reads the last line may stop the stack.
    let mut signals = Signals::new()?;
    let demos = tokio::select! {
        demos = load_demos(arguments, &stack, &env, &clock) => demos?,
        () = signals.next() => return stop(stack, signals).await,
    };
    for path in &arguments.ready_file {
        let written = ready_file::write(path, &stack, &demos);
        written.map_err(|cause| not_written(path, cause))?;
    }
    let screen = FirstScreen {
        base_url: stack.base_url(),
        stage: &arguments.stage,
        data: arguments.data.as_deref(),
        ready_file: arguments.ready_file.first().map(PathBuf::as_path),
        demos: &demos,
        lists_demos: matches!(arguments.show, Some(Shown::Demo)),
        has_colour: has_colour(),
    };
    let screen = screen.to_string();
    stack.show_demos(demos);
    say(&screen);
    signals.next().await;
    stop(stack, signals).await
}

async fn stop(stack: Stack, mut signals: Signals) -> Result<(), Box<dyn std::error::Error>> {
    say("Stopping.\n");
    tokio::select! {
        () = stack.stop() => {}
        // Stop at once on a second signal.
        () = tokio::time::sleep(STOP_TIMEOUT) => {}
        () = signals.next() => {}
    }
    Ok(())
}

fn options(arguments: &Arguments, clock: &Clock) -> Result<Options, FileError> {
    let secrets = arguments.secrets.as_deref().map(read_secrets).transpose()?;
    Ok(Options {
        port: arguments.port,
        stage: match arguments.stage.as_str() {
            "staging" => "staging",
            _ => "production",
        },
        data: arguments.data.clone(),
        tax_authority_url: arguments.tax_authority_url.clone(),
        partner_url: arguments.partner_url.clone(),
        secrets: secrets.unwrap_or_default(),
        speedup: arguments.speedup,
        clock: clock.clone(),
        telemetry: Telemetry::terminal(),
        ..Options::default()
    })
}

async fn load_demos(
    arguments: &Arguments,
    stack: &Stack,
    env: &Env,
    clock: &Clock,
) -> Result<Vec<Demo>, Box<dyn std::error::Error>> {
    let data = arguments.data.as_deref();
    if arguments.no_demo {
        return Ok(Vec::new());
    }
    let demos = demo::load(env, data, stack.partner_url(), clock).await?;
    let shows_draw = matches!(arguments.show, Some(Shown::Draw));
    let mut frozen = Vec::new();
    if shows_draw || arguments.demo_entries {
        frozen = demo::draw::freeze(env, clock, arguments.demo_entries).await?;
    }
    if arguments.demo_entries {
        say("Adding 2,000 demo entries, which takes up to a minute.\n");
        let told = |slug: &str| say(&format!("  {slug} has its entries.\n"));
        demo::entries::load(env, clock, told).await?;
    }
    // The rounds come while entries are added.
    demo::draw::walk(env, clock, &frozen).await?;
    if arguments.demo_entries {
        say("The demo entries are in; numbers count them within a minute.\n");
    }
    if shows_draw {
        say(&format!("\n{}", demo::draw::COMMANDS));
    }
    Ok(demos)
}

const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// Follows <https://no-color.org>.
fn has_colour() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_none_or(|terminal| terminal == "dumb");
    io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb
}

/// Standard output may be closed.
fn say(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[derive(Debug, thiserror::Error)]
#[error("{what}")]
struct FileError {
    what: String,
    #[source]
    cause: io::Error,
}

fn read_secrets(path: &Path) -> Result<BTreeMap<String, String>, FileError> {
    let secrets = std::fs::read(path).and_then(|text| {
        // serde's message could quote a secret.
        serde_json::from_slice(&text).map_err(|_| io::Error::other("it is something else"))
    });
    secrets.map_err(|cause| FileError {
        what: format!(
            "cannot read secrets from {}; it has to hold a JSON object of names and texts",
            path.display()
        ),
        cause,
    })
}

fn not_written(path: &Path, cause: io::Error) -> FileError {
    let path = path.display();
    let what = format!("cannot write {path}; choose another path with --ready-file");
    FileError { what, cause }
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
