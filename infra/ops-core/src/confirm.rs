//! Asks an operator before a change: `y` for what can be undone, a typed word for what cannot.

use crate::prelude::*;

impl Terminal<'_> {
    /// Call it before a change that can be undone, with `question` saying what it is.
    pub(crate) fn confirm(&mut self, question: &str) -> Result<()> {
        let agrees = |given: &str| matches!(given.to_ascii_lowercase().as_str(), "y" | "yes");
        self.ask(&format!("{question} [y/N] "), agrees, "answer `y`")
    }

    /// Call it before a change that cannot be undone, with a word to type, such as the campaign's slug.
    pub(crate) fn confirm_typed(&mut self, question: &str, word: &str) -> Result<()> {
        let prompt = format!("{question} This cannot be undone. Type {word} to continue: ");
        let agree = format!("type exactly `{word}`");
        self.ask(&prompt, |given| given == word, &agree)
    }

    fn ask(&mut self, prompt: &str, agrees: impl FnOnce(&str) -> bool, agree: &str) -> Result<()> {
        if self.yes {
            return Ok(());
        }
        let given = self.read_line(prompt).map_err(|error| {
            failure!(
                "not_confirmed",
                "nothing was changed: asking failed: {error}; use --yes"
            )
        })?;
        let Some(given) = given else {
            bail!(
                "confirmation_needed",
                "nothing was changed: this command asks first, and there is no terminal to ask on; \
                           run it in a terminal, or add --yes once you have checked what it will do"
            );
        };
        if agrees(&given) {
            return Ok(());
        }
        bail!("not_confirmed", "nothing was changed; {agree} to continue")
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
        word: Option<&str>,
        yes: bool,
    ) -> (String, Result<(), &'static str>) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut input = text.map(str::as_bytes);
        let mut terminal = Terminal {
            input: input
                .as_mut()
                .map(|input| -> &mut (dyn io::BufRead + Send) { input }),
            err_is_terminal: true,
            yes,
            ..Terminal::without_input(&mut out, &mut err)
        };
        let ended = match word {
            Some(word) => terminal.confirm_typed("Void 7 codes?", word),
            None => terminal.confirm("Void 7 codes?"),
        };
        (
            String::from_utf8(err).expect("text"),
            ended.map_err(|failure| failure.code),
        )
    }

    #[test]
    fn what_can_be_undone_takes_a_y_and_nothing_else() {
        for text in ["y\n", " YES \n", "y"] {
            assert_eq!(
                typed(Some(text), None, false),
                ("Void 7 codes? [y/N] ".to_owned(), Ok(()))
            );
        }
        for text in ["n\n", "\n", "", "yess\n"] {
            assert_eq!(
                typed(Some(text), None, false).1,
                Err("not_confirmed"),
                "{text:?}"
            );
        }
    }

    #[test]
    fn what_cannot_be_undone_takes_its_word_alone() {
        let asked = "Void 7 codes? This cannot be undone. Type demo to continue: ".to_owned();
        assert_eq!(typed(Some("demo\n"), Some("demo"), false), (asked, Ok(())));
        for text in ["y\n", "yes\n", "Demo\n", ""] {
            assert_eq!(
                typed(Some(text), Some("demo"), false).1,
                Err("not_confirmed"),
                "{text:?}"
            );
        }
    }

    #[test]
    fn without_a_terminal_only_the_option_agrees() {
        assert_eq!(
            typed(None, None, false),
            (String::new(), Err("confirmation_needed"))
        );
        assert_eq!(typed(None, Some("demo"), true), (String::new(), Ok(())));
    }
}
