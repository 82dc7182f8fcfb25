//! A stack for each test, and its commands.

use std::ffi::OsString;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use common::aws::Aws;
use common::clock::Clock;
use common::config::Env;
use common::domain::scope::{Environment, Scope};
use common::domain::timestamp::Timestamp;
use local::stack::Options;
use ops_core::tables::Tables;
use ops_core::{EXIT_OK, Terminal};
use serde_json::Value;
use service_tests::service::DEPLOYMENT_SECRET;
use tempfile::TempDir;

/// 2026-03-01T00:00:00Z.
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_772_323_200_000);

pub(crate) const CHAI: &str = "\
slug: chai-bora-2026
name: Chai Bora Shinda
brand: Chai Bora
timezone: Africa/Dar_es_Salaam
window: { start: 2026-01-01T00:00:00+03:00, end: null }
code: { checked_by: service }
limits: { phone_daily: 3, phone_total: 20 }
entries_per_submission: 2
messages: { en: { entered: \"You are in!\" }, sw: {} }
";

/// A local stack and a temporary folder.
pub(crate) struct Stack {
    pub(crate) env: Env,
    pub(crate) folder: TempDir,
    /// Used by the stack and the commands.
    pub(crate) clock: Clock,
    local: local::stack::Stack,
}

/// A command's exit code and output.
pub(crate) struct Ended {
    pub(crate) code: u8,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Stack {
    /// A stack without campaigns.
    pub(crate) async fn empty() -> Self {
        Self::start(Options::default()).await
    }

    /// A stack without campaigns, with these options.
    pub(crate) async fn start(options: Options) -> Self {
        // Tests settle by hand.
        let deployment_secret = Some(DEPLOYMENT_SECRET.to_owned());
        let clock = Clock::manual(NOW);
        let options = Options {
            background: false,
            deployment_secret,
            clock: clock.clone(),
            ..options
        };
        let local = local::stack::Stack::start(options)
            .await
            .expect("it starts");
        let operator = [("OPS_BY".to_owned(), "asha".to_owned())];
        let env = local.env().clone().into_iter().chain(operator).collect();
        let folder = tempfile::tempdir().expect("a folder");
        Self {
            env,
            folder,
            clock,
            local,
        }
    }

    /// A stack with the campaign of [`CHAI`].
    pub(crate) async fn with_chai() -> Self {
        let stack = Self::empty().await;
        stack.apply(CHAI).await;
        stack
    }

    /// Applies a campaign file; returns the output.
    pub(crate) async fn apply(&self, text: impl AsRef<[u8]>) -> Ended {
        let file = self.file("chai.yaml", text);
        let ended = self.run(&["campaign", "apply", "--yes", &file]).await;
        assert_eq!(ended.code, EXIT_OK, "{}", ended.err);
        ended
    }

    /// Writes a file into the folder; returns its path.
    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).expect("a disk");
        path.display().to_string()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A path in the folder as argument.
    pub(crate) fn arg(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    pub(crate) async fn run(&self, args: &(impl CommandLine + ?Sized)) -> Ended {
        run(args, self.env.clone(), &self.clock).await
    }

    /// Runs a command at a terminal with this typed.
    pub(crate) async fn answering(&self, args: &(impl CommandLine + ?Sized), typed: &str) -> Ended {
        run_typing(args, self.env.clone(), &self.clock, Some(typed)).await
    }

    /// Runs a command that must succeed.
    pub(crate) async fn fine(&self, args: &(impl CommandLine + ?Sized)) -> String {
        let words = args.words();
        let ended = self.run(&words).await;
        assert_eq!(ended.code, EXIT_OK, "{words:?}: {}{}", ended.out, ended.err);
        ended.out
    }

    /// Runs a command with `--json` that must succeed.
    pub(crate) async fn json(&self, args: &(impl CommandLine + ?Sized)) -> Value {
        let out = self.fine(&with_json(args)).await;
        serde_json::from_str(&out).expect("one JSON document")
    }

    /// Runs a command with `--json` that must fail; returns the error.
    pub(crate) async fn refused(&self, args: &(impl CommandLine + ?Sized)) -> Value {
        let words = with_json(args);
        let ended = self.run(&words).await;
        assert_eq!(
            (ended.code, ended.out.as_str()),
            (ops_core::EXIT_FAILURE, ""),
            "{words:?}: {}",
            ended.err
        );
        let document: Value = serde_json::from_str(&ended.err).expect("one JSON document");
        document.get("error").expect("an error").clone()
    }

    pub(crate) fn ready_file(&self) -> Value {
        serde_json::json!({ "base_url": self.local.base_url(), "env": self.local.env() })
    }

    pub(crate) fn write_ready_file(&self, path: &str) {
        local::ready_file::write(Path::new(path), &self.local, &[]).expect("a disk");
    }

    /// Access for what commands cannot do.
    pub(crate) async fn tables(&self) -> Tables {
        let aws = Aws::for_function(&self.env).expect("all variables");
        Tables::from_env(&self.env, &aws).expect("all variables")
    }
}

/// A scope of [`CHAI`].
pub(crate) fn chai(environment: Environment) -> Scope {
    Scope {
        campaign: "chai-bora-2026".parse().expect("a slug"),
        environment,
    }
}

/// A command's arguments: a shell line, or words.
pub(crate) trait CommandLine {
    fn words(&self) -> Vec<String>;
}

impl CommandLine for str {
    fn words(&self) -> Vec<String> {
        shlex::split(self).expect("quotes that end")
    }
}

impl CommandLine for String {
    fn words(&self) -> Vec<String> {
        self.as_str().words()
    }
}

impl<T: AsRef<str>> CommandLine for [T] {
    fn words(&self) -> Vec<String> {
        self.iter().map(|word| word.as_ref().to_owned()).collect()
    }
}

impl<T: AsRef<str>, const N: usize> CommandLine for [T; N] {
    fn words(&self) -> Vec<String> {
        self.as_slice().words()
    }
}

impl<T: AsRef<str>> CommandLine for Vec<T> {
    fn words(&self) -> Vec<String> {
        self.as_slice().words()
    }
}

impl<T: CommandLine + ?Sized> CommandLine for &T {
    fn words(&self) -> Vec<String> {
        (**self).words()
    }
}

fn with_json(args: &(impl CommandLine + ?Sized)) -> Vec<String> {
    [args.words(), vec!["--json".to_owned()]].concat()
}

/// Runs a command without a terminal.
pub(crate) async fn run(args: &(impl CommandLine + ?Sized), env: Env, clock: &Clock) -> Ended {
    run_typing(args, env, clock, None).await
}

/// Runs a command, at a terminal if `typed` is set.
pub(crate) async fn run_typing(
    args: &(impl CommandLine + ?Sized),
    env: Env,
    clock: &Clock,
    typed: Option<&str>,
) -> Ended {
    let args = [vec!["ops".to_owned()], args.words()].concat();
    let args = args.into_iter().map(OsString::from);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut typed = typed.map(str::as_bytes);
    let input = typed
        .as_mut()
        .map(|typed| -> &mut (dyn BufRead + Send) { typed });
    let mut terminal = Terminal {
        out: &mut out,
        err: &mut err,
        input,
        err_is_terminal: false,
        is_quiet: false,
        yes: false,
    };
    // Boxed: its future is large.
    let code = Box::pin(ops_core::run(
        args,
        env,
        clock,
        &mut terminal,
        console::serve,
    ))
    .await;
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Ended {
        code,
        out: text(out),
        err: text(err),
    }
}

pub(crate) fn files_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<_> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

/// A command's words, without spaces in any.
pub(crate) fn line(typed: &str) -> Vec<&str> {
    typed.split(' ').collect()
}
