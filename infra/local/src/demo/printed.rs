//! Blocks to paste into bash or zsh. Interactive zsh refuses comments, so `echo` announces each
//! step.

use common::domain::Environment;

use super::campaigns::DEMO;
use super::{Access, Demo};

/// Staging refuses live keys.
pub fn describe(demos: &[Demo], base_url: &str, stage: &str) -> String {
    let describe = |demo: &Demo| demo.describe(base_url, stage == "production");
    demos.iter().map(describe).collect()
}

impl Demo {
    pub fn first_entry(&self, base_url: &str) -> String {
        self.fill(&DEMO.first_entry, base_url, Environment::Test)
    }

    fn describe(&self, base_url: &str, takes_live_keys: bool) -> String {
        let Self { name, slug, .. } = self;
        let mut text = format!("\n{name} ({slug})\n{}", self.test.describe("test"));
        if takes_live_keys {
            text += &self.live.describe("live");
        }
        let Some(campaign) = self.campaign() else {
            return text;
        };
        let block = |environment, title: &str, commands: &[(String, String)]| {
            let lines = commands.iter().map(|(says, command)| {
                let command = self.fill(command, base_url, environment);
                format!("  echo '-- {says}'\n  {command}\n")
            });
            let lines: String = lines.collect();
            format!("\n  echo '== {slug} {title}'\n{lines}")
        };
        text += &block(
            Environment::Test,
            "with the test key",
            &campaign.test.commands,
        );
        if takes_live_keys && let Some(simulator) = campaign.simulator {
            let title = format!("with the live key: {} is asked", simulator.name());
            text += &block(Environment::Live, &title, &campaign.live.commands);
            if campaign.lists_cases {
                text += &simulator.cases();
            }
        }
        text
    }

    fn fill(&self, command: &str, base_url: &str, environment: Environment) -> String {
        let Access {
            key,
            codes,
            prize_codes,
        } = self.access(environment);
        let numbered = |name: &'static str, codes: &[String]| {
            let codes = (1..).zip(codes.to_owned());
            codes.map(move |(number, code)| (format!("{name}{number}"), code))
        };
        let own = [
            ("url", base_url),
            ("key", key),
            ("slug", self.slug.as_str()),
        ];
        let own = own.map(|(name, word)| (name.to_owned(), word.to_owned()));
        let words = DEMO.parts.iter().cloned().chain(own);
        let words = words
            .chain(numbered("code", codes))
            .chain(numbered("prize", prize_codes));
        words.fold(command.to_owned(), |command, (name, word)| {
            command.replace(&format!("{{{name}}}"), &word)
        })
    }
}

impl Access {
    fn describe(&self, environment: &str) -> String {
        let mut text = format!("  {environment} key    {}\n", self.key);
        for (kind, codes) in [("codes ", &self.codes), ("prizes", &self.prize_codes)] {
            if !codes.is_empty() {
                text += &format!("  {environment} {kind} {}\n", codes.join(" "));
            }
        }
        text
    }
}
