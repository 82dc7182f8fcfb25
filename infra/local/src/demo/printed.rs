//! The demo campaigns as printed in the terminal: keys, codes, and blocks of commands to paste.
//!
//! A block works in bash and zsh, line by line or pasted at once. Interactive zsh does not accept comments, so `echo`
//! announces each step.

use std::fmt::{self, Write as _};

use common::domain::scope::CampaignSlug;

use super::commands::Caller;
use super::{Access, Demo};
use crate::{partner, tax_portal};

/// A command and the expected result.
pub(super) type Command = (&'static str, String);

/// Describes the demo campaigns with the blocks that work in this stage: staging refuses live keys.
pub fn describe(demos: &[Demo], base_url: &str, stage: &str) -> String {
    let mut text = String::new();
    for demo in demos {
        // Writing to a String cannot fail.
        let _ = demo.describe(&mut text, base_url, stage == "production");
    }
    text
}

impl Demo {
    /// A command that enters a consumer with the test key and a code. Sending it again returns the same entry.
    pub fn first_entry(&self, base_url: &str) -> String {
        let caller = Caller {
            base_url,
            slug: &self.slug,
            key: &self.test.key,
            live: false,
        };
        caller.enter("first-entry", "0715000444", self.test.code(7))
    }

    fn describe(&self, text: &mut String, base_url: &str, takes_live_keys: bool) -> fmt::Result {
        writeln!(text, "\n{} ({})", self.name, self.slug)?;
        self.test.describe(text, "test")?;
        if takes_live_keys {
            self.live.describe(text, "live")?;
        }
        let test = Caller {
            base_url,
            slug: &self.slug,
            key: &self.test.key,
            live: false,
        };
        write_block(
            text,
            &self.slug,
            "with the test key",
            &self.test_commands(&test),
        )?;
        if takes_live_keys {
            let live = Caller {
                key: &self.live.key,
                live: true,
                ..test
            };
            self.describe_live(text, &live)?;
        }
        Ok(())
    }

    /// Blocks for live keys: test keys never reach the simulated partner or tax authority.
    fn describe_live(&self, text: &mut String, caller: &Caller<'_>) -> fmt::Result {
        let (title, commands) = match self.slug.as_str() {
            "duka-kuu-2026" => (
                "with the live key: the simulated tax authority is asked",
                caller.receipt_alone(),
            ),
            "risiti-na-namba-2026" => {
                let commands = caller.receipt_and_code(self.live.code(0));
                (
                    "with the live key: the simulated tax authority is asked",
                    commands,
                )
            }
            "bahati-2026" => (
                "with the live key: the simulated partner is asked",
                partner_commands(caller),
            ),
            _ => return Ok(()),
        };
        write_block(text, &self.slug, title, &commands)?;
        match self.slug.as_str() {
            "duka-kuu-2026" => {
                let cases = tax_portal::cases::CASES
                    .iter()
                    .map(|case| (case.prefix, case.what));
                writeln!(
                    text,
                    "\n  Receipts of the simulated tax authority: these letters, 01 or 02 for the shop, any number:"
                )?;
                write_cases(text, cases)
            }
            "bahati-2026" => {
                let cases = partner::cases::CASES
                    .iter()
                    .map(|case| (case.prefix, case.what));
                writeln!(
                    text,
                    "\n  Codes of the simulated partner: these letters, then anything, such as OKAY-0001:"
                )?;
                write_cases(text, cases)
            }
            _ => Ok(()),
        }
    }

    fn test_commands(&self, caller: &Caller<'_>) -> Vec<Command> {
        let code = |index| self.test.code(index);
        match self.slug.as_str() {
            // Uses another phone than the quickstart, whose entries count towards the daily limit.
            "chai-bora-2026" => vec![
                ("the campaign", caller.campaign()),
                (
                    "enter a consumer; sent again, it is the same entry",
                    caller.enter("attempt-1", "0715000333", code(0)),
                ),
                (
                    "the same code from another phone: already used",
                    caller.enter("attempt-2", "0754000111", code(0)),
                ),
                (
                    "an invalid code",
                    caller.enter("attempt-3", "0754000111", "AAAA-BBBB-CCCC"),
                ),
                (
                    "a second code of the first phone",
                    caller.enter("attempt-4", "0715000333", code(1)),
                ),
                (
                    "its third code",
                    caller.enter("attempt-5", "0715000333", code(2)),
                ),
                (
                    "its fourth code: over the daily limit",
                    caller.enter("attempt-6", "0715000333", code(3)),
                ),
                (
                    "the entries of the first phone",
                    caller.lookup("0715000333"),
                ),
                ("pre-check a code that is free", caller.check(code(4))),
                (
                    "any outcome: TEST-0- and its message key",
                    caller.enter("sentinel-1", "0754000222", "TEST-0-CODE-HELD"),
                ),
            ],
            "duka-kuu-2026" => caller.receipt_alone(),
            "risiti-na-namba-2026" => caller.receipt_and_code(code(0)),
            "bahati-2026" => vec![
                (
                    "tests never reach a partner",
                    caller.enter("test-1", "0712345678", "TEST-0-VALID"),
                ),
                (
                    "unknown at first, entered seconds later",
                    caller.enter("test-2", "0712345678", "TEST-0-SLOW"),
                ),
            ],
            "soda-rush-2026" => {
                let prize = self
                    .test
                    .prize_codes
                    .first()
                    .map(String::as_str)
                    .unwrap_or_default();
                vec![(
                    "win an instant prize",
                    caller.enter("attempt-1", "0712345678", prize),
                )]
            }
            _ => vec![(
                "it has ended",
                caller.enter("attempt-1", "0712345678", code(0)),
            )],
        }
    }
}

impl Access {
    fn describe(&self, text: &mut String, environment: &str) -> fmt::Result {
        writeln!(text, "  {environment} key    {}", self.key)?;
        if !self.codes.is_empty() {
            writeln!(text, "  {environment} codes  {}", self.codes.join(" "))?;
        }
        if !self.prize_codes.is_empty() {
            writeln!(
                text,
                "  {environment} prizes {}",
                self.prize_codes.join(" ")
            )?;
        }
        Ok(())
    }

    fn code(&self, index: usize) -> &str {
        self.codes
            .get(index)
            .map(String::as_str)
            .unwrap_or_default()
    }
}

fn partner_commands(caller: &Caller<'_>) -> Vec<Command> {
    vec![
        (
            "the partner accepts",
            caller.enter("okay", "0712345678", "OKAY-0001"),
        ),
        (
            "the partner gives a prize",
            caller.enter("wins", "0712345678", "WINS-0001"),
        ),
        (
            "the partner has seen it before",
            caller.enter("used", "0712345678", "USED-0001"),
        ),
        (
            "the partner is down: unknown, and the service asks again; paste it again later to see it settled",
            caller.enter("down", "0712345678", "DOWN-0001"),
        ),
    ]
}

fn write_block(
    text: &mut String,
    slug: &CampaignSlug,
    title: &str,
    commands: &[Command],
) -> fmt::Result {
    writeln!(text, "\n  echo '== {slug} {title}'")?;
    for (says, command) in commands {
        writeln!(text, "  echo '-- {says}'\n  {command}")?;
    }
    Ok(())
}

fn write_cases<'a>(
    text: &mut String,
    cases: impl Iterator<Item = (&'a str, &'a str)>,
) -> fmt::Result {
    for (prefix, what) in cases {
        writeln!(text, "    {prefix}  {what}")?;
    }
    Ok(())
}
