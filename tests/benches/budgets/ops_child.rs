//! `ops` in its own process, apart from the memory of the embedded database and S3.

use std::ffi::{OsStr, OsString};
use std::io;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use common::clock::Clock;
use common::config::Env;
use common::domain::timestamp::Timestamp;
use ops_core::failure::Failure;
use ops_core::{ServeConsole, Terminal};
use service_tests::service::Service;

use crate::stopwatch;

/// First argument of the child; time and command follow.
pub(crate) const ARGUMENT: &str = "ops-child";

/// A command that succeeded.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) taken: Duration,
    /// MB; `None` without `/proc`.
    pub(crate) peak_mb: Option<f64>,
}

pub(crate) fn run(service: &Service, now: Timestamp, args: &[impl AsRef<OsStr>]) -> Ran {
    let started = stopwatch::now();
    let ended = Command::new(std::env::current_exe().expect("this program"))
        .args([ARGUMENT, &now.as_millis().to_string(), "ops"])
        .args(args)
        .envs(&service.variables)
        .stderr(Stdio::inherit())
        .output()
        .expect("it starts");
    let taken = started.elapsed();
    assert!(ended.status.success(), "the command failed");
    let printed = String::from_utf8(ended.stdout).expect("text");
    let kibibytes: Option<f64> = printed.trim().parse().ok();
    Ran {
        taken,
        peak_mb: kibibytes.map(|peak| peak / 1024.0),
    }
}

/// Runs the command in the child, and prints its peak memory in KiB.
pub(crate) async fn child(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let now = args
        .next()
        .and_then(|millis| millis.to_str()?.parse().ok())
        .expect("a time");
    let clock = Clock::manual(Timestamp::from_millis(now));
    let (mut out, mut err) = (io::sink(), io::stderr());
    let mut terminal = Terminal::without_input(&mut out, &mut err);
    let no_console: ServeConsole =
        |_, _| Box::pin(async { Err(Failure::new("not_configured", "no console")) });
    let code = Box::pin(ops_core::run(
        args,
        Env::from_process(),
        &clock,
        &mut terminal,
        no_console,
    ))
    .await;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    println!("{}", peak.unwrap_or_default());
    code.into()
}
