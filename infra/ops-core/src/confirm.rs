//! Asks an operator before a change: `y` for what can be undone, a typed word for what cannot.

use std::io;

use clap::Args;

use crate::failure::Failure;
use crate::terminal::Terminal;

/// Flattened into every command that asks.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ConfirmArgs {
    /// Do it without asking, for scripts
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer<'a> {
    /// `y` or `yes`, for what can be undone.
    Yes,
    /// A word, such as the campaign's slug, for what cannot be undone.
    Word(&'a str),
}

impl Terminal<'_> {
    /// Call it before the change, with `question` saying what it is; `args.yes` agrees to
    /// everything.
    pub(crate) fn confirm(
        &mut self,
        question: &str,
        answer: Answer<'_>,
        args: ConfirmArgs,
    ) -> Result<(), Failure> {
        if args.yes {
            return Ok(());
        }
        let prompt = match answer {
            Answer::Yes => format!("{question} [y/N] "),
            Answer::Word(word) => {
                format!("{question} This cannot be undone. Type {word} to continue: ")
            }
        };
        let given = self.read_line(&prompt).map_err(|error| {
            Failure::new(
                "not_confirmed",
                format!("nothing was changed: asking failed: {error}; use --yes"),
            )
        })?;
        let Some(given) = given else {
            let message = "nothing was changed: this command asks first, and there is no terminal to ask on; \
                           run it in a terminal, or add --yes once you have checked what it will do";
            return Err(Failure::new("confirmation_needed", message));
        };
        let agrees = match answer {
            Answer::Yes => matches!(given.to_ascii_lowercase().as_str(), "y" | "yes"),
            Answer::Word(word) => given == word,
        };
        if agrees {
            return Ok(());
        }
        let message = match answer {
            Answer::Yes => "nothing was changed; answer `y` to continue".to_owned(),
            Answer::Word(word) => format!("nothing was changed; type exactly `{word}` to continue"),
        };
        Err(Failure::new("not_confirmed", message))
    }

    /// Trimmed; `None` without a terminal.
    pub(crate) fn read_line(&mut self, prompt: &str) -> io::Result<Option<String>> {
        let Some(input) = self.input.as_mut() else {
            return Ok(None);
        };
        write!(self.err, "{prompt}")?;
        self.err.flush()?;
        let mut line = String::new();
        input.read_line(&mut line)?;
        Ok(Some(line.trim().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output and result when the operator types this.
    fn typed(
        text: Option<&str>,
        answer: Answer<'_>,
        yes: bool,
    ) -> (String, Result<(), &'static str>) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut input = text.map(str::as_bytes);
        let mut terminal = Terminal {
            out: &mut out,
            err: &mut err,
            input: input
                .as_mut()
                .map(|input| -> &mut (dyn io::BufRead + Send) { input }),
            err_is_terminal: true,
            is_quiet: false,
        };
        let ended = terminal.confirm("Void 7 codes?", answer, ConfirmArgs { yes });
        (
            String::from_utf8(err).expect("text"),
            ended.map_err(|failure| failure.code),
        )
    }

    #[test]
    fn what_can_be_undone_takes_a_y_and_nothing_else() {
        for text in ["y\n", " YES \n", "y"] {
            assert_eq!(
                typed(Some(text), Answer::Yes, false),
                ("Void 7 codes? [y/N] ".to_owned(), Ok(()))
            );
        }
        for text in ["n\n", "\n", "", "yess\n"] {
            assert_eq!(
                typed(Some(text), Answer::Yes, false).1,
                Err("not_confirmed"),
                "{text:?}"
            );
        }
    }

    #[test]
    fn what_cannot_be_undone_takes_its_word_alone() {
        let asked = "Void 7 codes? This cannot be undone. Type demo to continue: ".to_owned();
        assert_eq!(
            typed(Some("demo\n"), Answer::Word("demo"), false),
            (asked, Ok(()))
        );
        for text in ["y\n", "yes\n", "Demo\n", ""] {
            assert_eq!(
                typed(Some(text), Answer::Word("demo"), false).1,
                Err("not_confirmed"),
                "{text:?}"
            );
        }
    }

    #[test]
    fn without_a_terminal_only_the_option_agrees() {
        assert_eq!(
            typed(None, Answer::Yes, false),
            (String::new(), Err("confirmation_needed"))
        );
        assert_eq!(
            typed(None, Answer::Word("demo"), true),
            (String::new(), Ok(()))
        );
    }
}
