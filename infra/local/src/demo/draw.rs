//! A finished draw, made with the operator's commands in seconds.

use std::ffi::OsString;
use std::time::Duration;

use common::clock::Clock;
use common::config::{self, Env};
use common::domain::draw::DrawName;
use common::domain::{Submission, SubmissionStatus, Timestamp};
use common::random;
use ops_core::failure::Failure;
use ops_core::{EXIT_OK, ServeConsole, Terminal};

use super::past::Past;
use super::{DemoError, unusable};

const CAMPAIGN: &str = "chai-bora-2026";
const DRAW: &str = "demo";
const ENTRANTS: u32 = 12;

/// Minutes before now.
const FROM: i64 = 240;
const ENTERED: i64 = 180;
const TO: i64 = 120;
/// Storage keeps the commitment's real time, so the draw cannot be in the past.
const ROUND: Duration = Duration::from_secs(10);
/// Divides the notice before a round.
const SPEEDUP: &str = "1000";

/// The commands after the freeze: the first winner of the kettle declines, the second takes it.
const WALK: [&str; 7] = [
    "run",
    "call --tier Kettle --winner 1 --outcome reached",
    "skip --tier Kettle --winner 1 --reason declined --inspector A.Inspector --yes",
    "call --tier Kettle --winner 2 --outcome reached",
    "confirm --tier Kettle --winner 2",
    "hand-over --tier Kettle --winner 2",
    "call --tier Airtime --winner 1 --outcome reached",
];

pub const COMMANDS: &str = "\
The draw `demo` of chai-bora-2026 is finished. With the ready file's name in place of ready.json:

  cargo ops --env-file ready.json draw show --campaign chai-bora-2026 --draw demo
  mkdir demo-draw
  cargo ops --env-file ready.json draw certificate --campaign chai-bora-2026 --draw demo --output demo-draw/certificate.html
  cargo ops --env-file ready.json draw verify demo-draw
";

pub async fn load(env: &Env, clock: &Clock) -> Result<(), DemoError> {
    let past = Past::connect(env).await?;
    let (campaign, scope) = past.campaign(CAMPAIGN).await?;
    let name: DrawName = DRAW.parse().map_err(|_| unusable("draw"))?;
    if past.tables.draws.get(&scope, &name).await?.is_some() {
        return Ok(());
    }
    let now = clock.now();
    let ago = |minutes: i64| Timestamp::from_millis(now.as_millis() - minutes * 60_000);
    for number in 1..=ENTRANTS {
        let (phone, id) = (format!("+2557130000{number:02}"), random::submission_id());
        let new = past.submission(&scope, id, &phone, Some("Mwanza"), ago(ENTERED), &campaign)?;
        let status = SubmissionStatus::accepted(1 + number % 3, None);
        past.write(Submission { status, ..new }, None, &campaign)
            .await?;
    }

    let [from, to] = [FROM, TO].map(|minutes| ago(minutes).to_string());
    let round = now.after(ROUND).to_string();
    let folder = tempfile::tempdir().map_err(|_| unusable("temporary folder"))?;
    let output = folder.path().join("draw").display().to_string();
    // A freeze comes at least ten minutes before its round otherwise.
    let speedup = (config::RETRY_SPEEDUP.to_owned(), SPEEDUP.to_owned());
    let env = env.clone().overridden_by([speedup].into_iter().collect());
    let freeze = [
        "freeze",
        "--from",
        &from,
        "--to",
        &to,
        "--at",
        &round,
        "--prize",
        "Kettle=1",
        "--prize",
        "Airtime=2",
        "--output",
        &output,
        "--yes",
    ];
    run(&freeze, &env, clock).await?;
    for command in WALK {
        let words: Vec<_> = command.split(' ').collect();
        run(&words, &env, clock).await?;
    }
    Ok(())
}

async fn run(arguments: &[&str], env: &Env, clock: &Clock) -> Result<(), DemoError> {
    let draw = ["--campaign", CAMPAIGN, "--draw", DRAW, "--by", "demo"];
    let words = [&["ops", "draw"], arguments, &draw].concat();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut terminal = Terminal {
        out: &mut out,
        err: &mut err,
        input: None,
        err_is_terminal: false,
        is_quiet: false,
        yes: false,
    };
    let no_console: ServeConsole =
        |_, _| Box::pin(async { Err(Failure::new("not_configured", "the demo has no console")) });
    let words_of_command = words.iter().map(OsString::from);
    let code = Box::pin(ops_core::run(
        words_of_command,
        env.clone(),
        clock,
        &mut terminal,
        no_console,
    ))
    .await;
    if code == EXIT_OK {
        return Ok(());
    }
    let says = String::from_utf8_lossy(&err);
    Err(DemoError::Refused(format!(
        "{}: {}",
        words.join(" "),
        says.trim()
    )))
}
