//! The operator's command line, around the library.

use std::io::{self, BufRead, BufReader, IsTerminal};
use std::process::ExitCode;

use common::clock::Clock;
use common::config::Env;
use ops_core::Terminal;

fn main() -> ExitCode {
    // Photos are copied in a child process of this same program.
    photo::copy_if_asked();
    run()
}

#[tokio::main(flavor = "current_thread")]
async fn run() -> ExitCode {
    let (mut out, mut err) = (io::stdout(), io::stderr());
    let err_is_terminal = err.is_terminal();
    let mut answers = BufReader::new(io::stdin());
    // The question goes to standard error, which must be seen too.
    let asks = io::stdin().is_terminal() && err_is_terminal;
    let input: Option<&mut (dyn BufRead + Send)> = if asks { Some(&mut answers) } else { None };
    let mut terminal = Terminal {
        out: &mut out,
        err: &mut err,
        input,
        err_is_terminal,
        is_quiet: false,
        yes: false,
    };
    let (args, env) = (std::env::args_os(), Env::from_process());
    ops_core::run(args, env, &Clock::system(), &mut terminal, console::serve)
        .await
        .into()
}
