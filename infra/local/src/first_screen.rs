use std::fmt;
use std::path::Path;

use common::domain::Environment;

use crate::demo::{self, Demo};
use crate::try_page;

#[derive(Clone, Copy)]
pub struct FirstScreen<'a> {
    pub base_url: &'a str,
    pub stage: &'a str,
    pub data: Option<&'a Path>,
    pub ready_file: Option<&'a Path>,
    /// Empty with `--no-demo`.
    pub demos: &'a [Demo],
    pub lists_demos: bool,
    pub has_colour: bool,
}

const HEADING: (&str, &str) = ("\u{1b}[1;36m", "\u{1b}[0m");

impl fmt::Display for FirstScreen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            base_url,
            stage,
            demos,
            ..
        } = *self;
        writeln!(f, "\n{}\n", self.heading("Campaign Entry Service"))?;
        writeln!(f, "  {}  {base_url}/api/v1", self.heading("API      "))?;
        writeln!(f, "  {}  {base_url}/docs", self.heading("Reference"))?;
        if !demos.is_empty() {
            writeln!(
                f,
                "  {}  {base_url}{}",
                self.heading("Try page "),
                try_page::PATH
            )?;
        }
        writeln!(
            f,
            "  {}  {}",
            self.heading("Operator "),
            self.operators_command("campaign list")
        )?;
        writeln!(
            f,
            "  {}  {}",
            self.heading("Console  "),
            self.operators_command("console")
        )?;
        if self.lists_demos {
            f.write_str(&demo::describe(demos, base_url, stage))?;
        } else if let Some(demo) = demos.first() {
            self.write_entry(f, demo)?;
        }
        let data = self.data.map_or_else(
            || "in memory".to_owned(),
            |folder| format!("in {}", folder.display()),
        );
        writeln!(
            f,
            "\nServing {base_url} (stage {stage}, data {data}). Ctrl-C stops it."
        )
    }
}

impl FirstScreen<'_> {
    fn operators_command(&self, words: &str) -> String {
        let command = |file: &str| format!("cargo ops --env-file {file} {words}");
        match self.ready_file {
            Some(file) => command(&quoted(&file.display().to_string())),
            None => format!(
                "start with --ready-file ready.json, then: {}",
                command("ready.json")
            ),
        }
    }

    fn write_entry(&self, f: &mut fmt::Formatter<'_>, demo: &Demo) -> fmt::Result {
        writeln!(
            f,
            "\n{} {} ({})",
            self.heading("Campaign"),
            demo.slug(),
            demo.name()
        )?;
        writeln!(
            f,
            "{} {}",
            self.heading("Test key"),
            demo.key(Environment::Test)
        )?;
        writeln!(f, "\nEnter a consumer; paste this line into bash or zsh:\n")?;
        writeln!(f, "{}", demo.first_entry(self.base_url))?;
        writeln!(
            f,
            "\nMore campaigns, keys, codes and commands: start with --show demo, or open the try page."
        )
    }

    fn heading(&self, text: &str) -> String {
        let (start, end) = if self.has_colour { HEADING } else { ("", "") };
        format!("{start}{text}{end}")
    }
}

fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if path.chars().all(is_plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BARE: FirstScreen<'_> = FirstScreen {
        base_url: "http://127.0.0.1:8080",
        stage: "staging",
        data: None,
        ready_file: None,
        demos: &[],
        lists_demos: false,
        has_colour: false,
    };

    #[test]
    fn without_demo_campaigns_the_addresses_remain() {
        let screen = BARE.to_string();
        assert!(
            screen.contains("API        http://127.0.0.1:8080/api/v1\n"),
            "{screen}"
        );
        assert!(!screen.contains("/try"), "{screen}");
        assert!(screen.ends_with(
            "\nServing http://127.0.0.1:8080 (stage staging, data in memory). Ctrl-C stops it.\n"
        ));
    }

    #[test]
    fn the_operators_command_names_the_file_that_was_asked_for() {
        let of = |path| {
            FirstScreen {
                ready_file: Some(Path::new(path)),
                ..BARE
            }
            .to_string()
        };
        assert!(of("ready.env").contains("cargo ops --env-file ready.env campaign list\n"));
        assert!(of("ready.env").contains("Console    cargo ops --env-file ready.env console\n"));
        assert!(
            of("it's here.json")
                .contains(r"cargo ops --env-file 'it'\''s here.json' campaign list")
        );
    }

    #[test]
    fn only_a_coloured_screen_has_escape_sequences() {
        assert!(!BARE.to_string().contains('\u{1b}'));
        assert!(
            FirstScreen {
                has_colour: true,
                ..BARE
            }
            .to_string()
            .contains("\u{1b}[1;36mReference\u{1b}[0m")
        );
    }
}
