//! The demo campaigns as printed: keys, codes, and blocks to paste.
//!
//! A block works in bash and zsh, line by line or at once. Interactive zsh refuses comments, so
//! `echo` announces each step.

use common::domain::scope::Environment;

use super::campaigns::DemoCampaign;
use super::commands::{Caller, Command};
use super::{Access, Demo};

/// Blocks that work in this stage: staging refuses live keys.
pub fn describe(demos: &[Demo], base_url: &str, stage: &str) -> String {
    let describe = |demo: &Demo| demo.describe(base_url, stage == "production");
    demos.iter().map(describe).collect()
}

impl Demo {
    /// Repeated, it returns the same entry.
    pub fn first_entry(&self, base_url: &str) -> String {
        let caller = self.caller(base_url, Environment::Test);
        caller.enter("first-entry", "0715000444", caller.code(7))
    }

    fn caller<'a>(&'a self, base_url: &'a str, environment: Environment) -> Caller<'a> {
        Caller {
            base_url,
            slug: self.slug.as_str(),
            access: self.access(environment),
            live: environment == Environment::Live,
        }
    }

    fn describe(&self, base_url: &str, takes_live_keys: bool) -> String {
        let Self { name, slug, .. } = self;
        let mut text = format!("\n{name} ({slug})\n{}", self.test.describe("test"));
        if takes_live_keys {
            text += &self.live.describe("live");
        }
        let Some(DemoCampaign {
            commands,
            simulator,
            cases,
            ..
        }) = self.campaign()
        else {
            return text;
        };
        let block = |environment, title: &str| {
            let commands = commands(&self.caller(base_url, environment));
            let lines = commands
                .iter()
                .map(|(says, command): &Command| format!("  echo '-- {says}'\n  {command}\n"));
            format!(
                "\n  echo '== {slug} {title}'\n{}",
                lines.collect::<String>()
            )
        };
        text += &block(Environment::Test, "with the test key");
        // Test keys never reach a simulator.
        if takes_live_keys && let Some(simulator) = simulator {
            text += &block(
                Environment::Live,
                &format!("with the live key: {simulator}"),
            );
            if let Some((heading, cases)) = cases {
                let cases = cases().into_iter();
                let lines = cases.map(|(prefix, what)| format!("    {prefix}  {what}\n"));
                text += &format!("\n  {heading}\n{}", lines.collect::<String>());
            }
        }
        text
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
