//! A stack for each test, and its commands.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, BufRead, Write};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

use common::aws::Aws;
use common::clock::Clock;
use common::config::Env;
use common::domain::codebook::CodeBook;
use common::domain::scope::{Environment, Scope};
use common::domain::timestamp::Timestamp;
use local::stack::Options;
use ops_core::tables::Tables;
use ops_core::{EXIT_FAILURE, EXIT_OK, EXIT_USAGE, Terminal};
use serde_json::Value;
use service_tests::interceptor::Interceptor;
use service_tests::service::{DEPLOYMENT_SECRET, Service, env_with};
use service_tests::text::{list_of, parse_json, text_of};
use tempfile::TempDir;
use tokio::sync::mpsc;

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
    command: String,
    pub(crate) code: u8,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// The error of a command that was refused.
pub(crate) struct Refusal {
    pub(crate) message: String,
    pub(crate) problems: Vec<Value>,
}

impl Ended {
    /// Asserts that it succeeded.
    #[track_caller]
    pub(crate) fn fine(self) -> Self {
        self.ended_with(EXIT_OK)
    }

    /// The standard error of a command that failed and printed nothing else.
    #[track_caller]
    pub(crate) fn failed(self) -> String {
        let ended = self.ended_with(EXIT_FAILURE);
        assert_eq!(ended.out, "", "{}", ended.command);
        ended.err
    }

    /// The standard error of a command that was not understood.
    #[track_caller]
    pub(crate) fn misused(self) -> String {
        self.ended_with(EXIT_USAGE).err
    }

    /// The error of a command with `--json` that was refused with this code.
    #[track_caller]
    pub(crate) fn refused(self, code: &str) -> Refusal {
        // After the lines that tell how far a command is.
        let said = self.failed();
        let error = parse_json(said.lines().last().unwrap_or_default())["error"].clone();
        assert_eq!(error["code"], code, "{error}");
        let message = text_of(&error["message"]).to_owned();
        let problems = error["problems"].as_array().cloned().unwrap_or_default();
        Refusal { message, problems }
    }

    /// The output of a command with `--json` that succeeded.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        parse_json(&self.fine().out)
    }

    #[track_caller]
    fn ended_with(self, code: u8) -> Self {
        let Self {
            command, out, err, ..
        } = &self;
        assert_eq!(self.code, code, "{command}: {out}{err}");
        self
    }
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

    /// A stack without campaigns, whose calls can be held.
    pub(crate) async fn held() -> (Interceptor, Self) {
        let hold = Interceptor::default();
        let options = Options {
            proxy: Some(hold.front()),
            ..Options::default()
        };
        let stack = Self::start(options).await;
        (hold, stack)
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
        let command = format!("campaign apply --yes {file}");
        self.run(&command).await.fine()
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

    /// Runs a command, as typed in a shell.
    pub(crate) async fn run(&self, command: impl AsRef<str>) -> Ended {
        run(command, self.env.clone(), &self.clock).await
    }

    /// Runs a command with other values of some variables.
    pub(crate) async fn run_with(
        &self,
        others: &[(&str, &str)],
        command: impl AsRef<str>,
    ) -> Ended {
        run(command, self.env_with(others), &self.clock).await
    }

    /// Runs a command of an operator whose clock is another one.
    pub(crate) async fn run_at(&self, clock: &Clock, command: impl AsRef<str>) -> Ended {
        run(command, self.env.clone(), clock).await
    }

    /// Runs a command at a terminal with this typed.
    pub(crate) async fn answering(&self, command: impl AsRef<str>, typed: &str) -> Ended {
        run_typing(command, self.env.clone(), &self.clock, Some(typed)).await
    }

    /// Runs a command that must succeed.
    pub(crate) async fn fine(&self, command: impl AsRef<str>) -> String {
        self.run(command).await.fine().out
    }

    /// Runs a command with `--json` that must succeed.
    pub(crate) async fn json(&self, command: impl AsRef<str>) -> Value {
        self.run(with_json(command)).await.json()
    }

    /// A submission as `submission show --json` prints it, by id or reference.
    pub(crate) async fn shown(&self, name: impl Display) -> Value {
        let shown = self.json(format!("submission show {name}")).await;
        shown["submissions"][0].clone()
    }

    /// Runs a command with `--json` that has to be refused with this code, and returns the error.
    pub(crate) async fn refused(&self, command: impl AsRef<str>, code: &str) -> Refusal {
        self.run(with_json(command)).await.refused(code)
    }

    /// Runs a command as [`Self::json`] does, with an AWS identity and a name of its own.
    pub(crate) async fn json_by(&self, operator: &str, command: impl AsRef<str>) -> Value {
        self.run_by(operator, command).await.json()
    }

    /// Runs a command with `--json`, and an AWS identity and a name of its own, such as `asha` or `asha/juma`.
    pub(crate) async fn run_by(&self, operator: &str, command: impl AsRef<str>) -> Ended {
        let (identity, name) = operator.split_once('/').unwrap_or((operator, operator));
        let command = format!("{} --by {name} --json", command.as_ref());
        self.run_with(&[("AWS_ACCESS_KEY_ID", identity)], command)
            .await
    }

    /// Runs a command as [`Self::json_by`] does, by one person and then by another.
    pub(crate) async fn by_two(&self, command: impl AsRef<str>) {
        for operator in ["asha", "juma"] {
            self.json_by(operator, command.as_ref()).await;
        }
    }

    /// Mints live codes of [`CHAI`]; the options begin with the count.
    pub(crate) async fn mint(&self, options: impl Display) -> Vec<String> {
        let output = self.arg("codes.csv");
        let mint = "code mint --campaign chai-bora-2026 --environment live";
        self.fine(format!("{mint} --output {output} --count {options}"))
            .await;
        let file = self.read("codes.csv");
        file.lines().skip(1).map(str::to_owned).collect()
    }

    /// The stack's variables, with others in place of some.
    pub(crate) fn env_with(&self, others: &[(&str, &str)]) -> Env {
        env_with(&self.env, others)
    }

    /// The rows of the audit log, oldest first.
    pub(crate) async fn audit_rows(&self) -> Vec<Value> {
        list_of(&self.json("audit list").await["rows"]).clone()
    }

    pub(crate) async fn audit_actions(&self) -> Vec<String> {
        let rows = self.audit_rows().await;
        let actions = rows.iter().map(|row| text_of(&row["action"]).to_owned());
        actions.collect()
    }

    pub(crate) async fn last_audit_row(&self) -> Value {
        self.audit_rows().await.pop().expect("a row")
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("a file")
    }

    /// The content of the local stack's ready file.
    pub(crate) fn ready_file(&self) -> Value {
        serde_json::json!({ "base_url": self.local.base_url(), "env": self.local.env() })
    }

    pub(crate) fn write_ready_file(&self, path: &str) {
        local::ready_file::write(Path::new(path), &self.local, &[]).expect("a disk");
    }

    /// The tables, for what commands cannot do.
    pub(crate) fn tables(&self) -> Tables {
        tables_of(&self.env)
    }

    /// Runs a PartiQL statement on the tables, as somebody without `ops` does.
    pub(crate) async fn sql(&self, statement: impl Into<String>) {
        let dynamodb = self.aws().dynamodb();
        let ran = dynamodb.execute_statement().statement(statement);
        ran.send().await.expect("it is run");
    }

    /// The live code book of [`CHAI`].
    pub(crate) async fn book(&self) -> CodeBook {
        let books = self.tables().code_books;
        let book = ops_core::codes::book::read(&books, &live()).await;
        book.expect("a book")
    }

    pub(crate) fn aws(&self) -> Aws {
        Aws::for_operator(&self.env).expect("all variables")
    }
}

/// Tables under the credentials in these variables.
pub(crate) fn tables_of(env: &Env) -> Tables {
    let aws = Aws::for_operator(env).expect("credentials");
    Tables::from_env(env, &aws).expect("all variables")
}

/// The live scope of [`CHAI`].
pub(crate) fn live() -> Scope {
    chai(Environment::Live)
}

/// A scope of [`CHAI`].
pub(crate) fn chai(environment: Environment) -> Scope {
    Scope {
        campaign: "chai-bora-2026".parse().expect("a slug"),
        environment,
    }
}

fn with_json(command: impl AsRef<str>) -> String {
    format!("{} --json", command.as_ref())
}

/// Runs a command without a terminal.
pub(crate) async fn run(command: impl AsRef<str>, env: Env, clock: &Clock) -> Ended {
    run_typing(command, env, clock, None).await
}

/// Runs a command on a stack of the black-box tests.
pub(crate) async fn ops(service: &Service, command: impl AsRef<str>) -> Ended {
    run(command, service.env.clone(), &service.clock).await
}

/// Runs a command, at a terminal if `typed` is set.
pub(crate) async fn run_typing(
    command: impl AsRef<str>,
    env: Env,
    clock: &Clock,
    typed: Option<&str>,
) -> Ended {
    let command = command.as_ref().to_owned();
    let words = shlex::split(&command).expect("quotes that end");
    let args = iter::once("ops".to_owned())
        .chain(words)
        .map(OsString::from);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut typed = typed.map(str::as_bytes);
    let input = typed
        .as_mut()
        .map(|typed| -> &mut (dyn BufRead + Send) { typed });
    let mut terminal = Terminal {
        input,
        ..Terminal::without_input(&mut out, &mut err)
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
        command,
        code,
        out: text(out),
        err: text(err),
    }
}

/// What a command shows first; the command ends there.
pub(crate) async fn first_output(command: &str, env: Env, clock: &Clock) -> String {
    let (sender, mut shown) = mpsc::unbounded_channel();
    let words = shlex::split(command).expect("quotes that end").into_iter();
    let args = iter::once("ops".to_owned()).chain(words);
    let (mut out, mut err) = (Shown(sender), io::sink());
    let mut terminal = Terminal::without_input(&mut out, &mut err);
    let args = args.map(OsString::from);
    let running = ops_core::run(args, env, clock, &mut terminal, console::serve);
    tokio::select! {
        first = shown.recv() => first.expect("it shows something"),
        code = Box::pin(running) => panic!("it ended with {code}"),
    }
}

struct Shown(mpsc::UnboundedSender<String>);

impl Write for Shown {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let sent = self.0.send(String::from_utf8_lossy(text).into_owned());
        sent.map_err(io::Error::other)?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Interrupts a program as Ctrl-C does, and waits for its end.
pub(crate) async fn ctrl_c(child: Child) -> Output {
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.expect("it can be told").success());
    let ended = tokio::task::spawn_blocking(|| child.wait_with_output()).await;
    ended.expect("it is waited for").expect("it ends")
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
