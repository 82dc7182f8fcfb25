use clap::ArgGroup;
use draw::{Digest, Prize};

use super::LiveScopeArgs;
use super::time::{Moment, TimeOfDay};
use crate::draws::run::RoundSource;
use crate::prelude::*;

#[derive(Subcommand)]
pub(crate) enum DrawCommand {
    /// Freeze the accepted entries of a period, and commit to them before the winners can be known; takes about a
    /// minute for ten million submissions
    Freeze(FreezeArgs),
    /// Wait for the beacon's round and draw the winners; run again, it shows the same ones
    Run {
        #[command(flatten)]
        draw: DrawArgs,
        /// Ask this relay of the beacon instead of drand's public ones; or, where none can be reached, take a file with the
        /// whole reply of one
        #[arg(long, value_name = "URL-OR-FILE")]
        beacon: Option<RoundSource>,
        /// Folder of `draw freeze`, to write result.json to
        #[arg(long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
    /// Show a draw: its commitment, round, and winners; without --draw, list the draws
    Show {
        #[command(flatten)]
        scope: LiveScopeArgs,
        /// Name of the draw
        #[arg(long, value_name = "NAME")]
        draw: Option<DrawName>,
        /// Write the sheet that the inspector signs: commitment, header, steps, on one page to print;
        /// the file must not exist yet
        #[arg(long, value_name = "FILE.html", requires = "draw")]
        sheet: Option<PathBuf>,
    },
    /// Show the opening of an entrant's row, for the entrant who asks; it tells all references of the entrant
    Opening {
        /// A reference of the entrant
        #[arg(value_name = "REF")]
        reference: Reference,
    },
    /// Log a call to a winner: three without an answer at most; with --show-phone, show the number to call
    Call(CallArgs<WinnerArgs>),
    /// Log that a winner who was reached has shown an identity card
    Confirm(WinnerArgs),
    /// Log that a winner who was confirmed has the prize
    HandOver(WinnerArgs),
    /// Skip a winner, for a reason and before an inspector; the next in the order is drawn
    Skip(SkipArgs<WinnerArgs>),
    /// Take the request to give a draw up back: decline another operator's, or withdraw your own
    Keep {
        #[command(flatten)]
        draw: DrawArgs,
        /// Reason, in your words; it is recorded
        #[arg(long, value_name = "TEXT")]
        why: String,
    },
    /// Give up a frozen draw before or after its round, until its run is finished; two people run this, it is published beside the
    /// commitment, and the name is not used again
    Abandon {
        #[command(flatten)]
        draw: DrawArgs,
        /// Reason, in your words; it is published with the commitment
        #[arg(long, value_name = "TEXT")]
        why: String,
    },
    /// Write the certificate, which anyone can check in a browser, and the files to publish beside it
    Certificate {
        #[command(flatten)]
        draw: DrawArgs,
        /// File to write; must not exist yet
        #[arg(long, value_name = "FILE.html")]
        output: PathBuf,
    },
    /// Verify a draw from its published files; needs no stack and no credentials
    Verify(VerifyArgs),
}

#[derive(Args)]
pub(crate) struct WinnerArgs {
    #[command(flatten)]
    pub(crate) draw: DrawArgs,
    /// Place in the order of the prize, from 1, as `draw show` has it
    #[arg(long, value_name = "N")]
    pub(crate) winner: NonZeroU64,
    /// Name of the prize; only needed if the draw has several
    #[arg(long, value_name = "PRIZE")]
    pub(crate) tier: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum CallOutcome {
    Reached,
    NoAnswer,
}

#[derive(Args)]
#[command(group = ArgGroup::new("call").required(true).args(["outcome", "show_phone"]))]
pub(crate) struct CallArgs<W: Args> {
    #[command(flatten)]
    pub(crate) winner: W,
    /// Outcome of the call
    #[arg(long)]
    pub(crate) outcome: Option<CallOutcome>,
    /// Show the number to call, and log no call; recorded in the audit log
    #[arg(long)]
    pub(crate) show_phone: bool,
}

#[derive(Args)]
pub(crate) struct SkipArgs<W: Args> {
    #[command(flatten)]
    pub(crate) winner: W,
    /// Why: no-answer after three calls, wrong-number, under-age, not-identified, declined, excluded by the terms,
    /// not-collected, or revoked
    #[arg(long, value_name = "KEY", value_parser = skip_reason)]
    pub(crate) reason: SkipReason,
    /// Name of the inspector or another witness
    #[arg(long, value_name = "NAME")]
    pub(crate) inspector: String,
}

fn skip_reason(text: &str) -> Result<SkipReason, String> {
    // Records have underscores, options have dashes.
    let given = SkipReason::ALL
        .into_iter()
        .filter(|reason| reason.is_given());
    let names: Vec<_> = given
        .map(|reason| reason.as_str().replace('_', "-"))
        .collect();
    if names.iter().any(|name| name == text) {
        text.replace('-', "_").parse()
    } else {
        Err(format!("it must be one of {}", names.join(", ")))
    }
}

#[derive(Args)]
pub(crate) struct VerifyArgs {
    /// Folder with the published files
    #[arg(value_name = "FOLDER")]
    pub(crate) path: PathBuf,
    /// The commitment that you copied before the round; spaces do not matter
    #[arg(long, value_name = "DIGITS", value_parser = copied)]
    pub(crate) commitment: Option<Digest>,
}

#[derive(Args)]
pub(crate) struct DrawArgs {
    #[command(flatten)]
    pub(crate) scope: LiveScopeArgs,
    /// Name of the draw
    #[arg(long = "draw", value_name = "NAME")]
    pub(crate) name: DrawName,
}

impl DrawArgs {
    pub(crate) fn named(self) -> (Scope, DrawName) {
        (self.scope.into(), self.name)
    }
}

#[derive(Args)]
pub(crate) struct FreezeArgs {
    #[command(flatten)]
    pub(crate) draw: DrawArgs,
    /// First day of the period, or its first time, such as 2026-11-22 or 2026-11-22T08:00; days and times are the campaign's.
    /// An entry belongs to the time when it was accepted
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Moment,
    /// Last day of the period, or the time that it ends before
    #[arg(long, value_name = "TIME")]
    pub(crate) to: Moment,
    /// A prize and how many there are of it, such as "Kettle=10"; prizes are drawn in the order given
    #[arg(long = "prize", required = true, value_name = "NAME=N", value_parser = prize)]
    pub(crate) prizes: Vec<Prize>,
    /// Time of the beacon's round, at least 10 minutes ahead, such as 18:00 today or 2026-11-23T18:00, in the campaign's zone
    #[arg(long, value_name = "TIME")]
    pub(crate) at: TimeOfDay,
    /// An entrant who has a prize of this draw is skipped for all others
    #[arg(long)]
    pub(crate) one_prize_per_entrant: bool,
    /// Folder to write the draw's files to; must not exist yet
    #[arg(long, value_name = "DIR")]
    pub(crate) output: PathBuf,
}

fn prize(text: &str) -> Result<Prize, String> {
    let parts = text
        .rsplit_once('=')
        .map(|(name, number)| (name.trim(), number.trim().parse::<NonZeroU64>()));
    match parts {
        Some((name, Ok(number))) if !name.is_empty() => Ok(Prize {
            name: name.to_owned(),
            number,
        }),
        Some(_) | None => {
            Err("write the prize and how many there are, such as \"Kettle=10\"".to_owned())
        }
    }
}

/// A commitment that was copied by hand: groups, capitals and line ends do not matter.
fn copied(text: &str) -> Result<Digest, String> {
    let digits: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    digits.to_ascii_lowercase().parse().map_err(|_| {
        format!(
            "a commitment has 64 hexadecimal digits, and this has {} characters",
            digits.chars().count()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prize_has_a_name_and_a_number() {
        let parsed = prize("A = B kettle = 10").expect("a prize");
        assert_eq!(
            (parsed.name.as_str(), parsed.number.get()),
            ("A = B kettle", 10)
        );
        for other in [
            "",
            "Kettle",
            "Kettle=",
            "Kettle=0",
            "Kettle=-1",
            "=3",
            "Kettle=ten",
        ] {
            assert!(prize(other).is_err(), "{other}");
        }
    }
}
