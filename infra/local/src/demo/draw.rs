use std::ffi::OsString;
use std::time::Duration;

use common::clock::Clock;
use common::config::{self, Env};
use common::domain::draw::DrawName;
use common::domain::{Submission, SubmissionStatus, Timestamp};
use common::random;
use ops_core::failure::Failure;
use ops_core::{EXIT_OK, ServeConsole, Terminal};

use super::past::Past;
use super::{DemoError, unusable};

const CAMPAIGN: &str = "chai-bora-2026";
const ENTRANTS: u32 = 12;
const HOUR_MILLIS: i64 = 60 * 60 * 1000;

/// Storage keeps the commitment's real time, so a draw that has winners cannot be in the past.
const SOON: Duration = Duration::from_secs(10);
const LATER: Duration = Duration::from_hours(72);
/// Divides the notice before a round.
const SPEEDUP: &str = "1000";

pub struct DemoDraw {
    name: &'static str,
    weeks_ago: i64,
    prizes: &'static [&'static str],
    round_in: Duration,
    walk: &'static [&'static str],
}

/// The first winner of the kettle declined, the second has it.
const CALLED: DemoDraw = DemoDraw {
    name: "demo",
    weeks_ago: 0,
    prizes: &["Kettle=1", "Airtime=2"],
    round_in: SOON,
    walk: &[
        "run",
        "call --tier Kettle --winner 1 --outcome reached",
        "skip --tier Kettle --winner 1 --reason declined --inspector A.Inspector --yes",
        "call --tier Kettle --winner 2 --outcome reached",
        "confirm --tier Kettle --winner 2",
        "hand-over --tier Kettle --winner 2",
        "call --tier Airtime --winner 1 --outcome reached",
    ],
};

const OTHERS: [DemoDraw; 4] = [
    DemoDraw {
        name: "week-1",
        weeks_ago: 4,
        prizes: &["Kettle=1"],
        round_in: SOON,
        walk: &[
            "run",
            "call --winner 1 --outcome reached",
            "confirm --winner 1",
            "hand-over --winner 1",
        ],
    },
    DemoDraw {
        name: "week-2",
        weeks_ago: 3,
        prizes: &["Kettle=1"],
        round_in: LATER,
        walk: &[
            "abandon --why wrong-prize --yes",
            "abandon --why wrong-prize --yes --by neema",
        ],
    },
    DemoDraw {
        name: "week-2b",
        weeks_ago: 2,
        prizes: &["Kettle=2"],
        round_in: SOON,
        walk: &[],
    },
    DemoDraw {
        name: "week-3",
        weeks_ago: 1,
        prizes: &["Kettle=1", "Airtime=5"],
        round_in: LATER,
        walk: &[],
    },
];

pub const COMMANDS: &str = "\
The draw `demo` of chai-bora-2026 has winners, who are being called. With the ready file's name in place of ready.json:

  cargo ops --env-file ready.json draw show --campaign chai-bora-2026 --draw demo
  mkdir demo-draw
  cargo ops --env-file ready.json draw certificate --campaign chai-bora-2026 --draw demo --output demo-draw/certificate.html
  cargo ops --env-file ready.json draw verify demo-draw
";

/// Returns those that are new.
pub async fn freeze(
    env: &Env,
    clock: &Clock,
    is_all: bool,
) -> Result<Vec<&'static DemoDraw>, DemoError> {
    let others = OTHERS.iter().filter(|_| is_all);
    let past = Past::connect(env).await?;
    let mut frozen = Vec::new();
    // A freeze reads all entries, and names the earlier draws of its period.
    for draw in others.chain([&CALLED]) {
        if draw.freeze(&past, env, clock).await? {
            frozen.push(draw);
        }
    }
    Ok(frozen)
}

pub async fn walk(env: &Env, clock: &Clock, draws: &[&DemoDraw]) -> Result<(), DemoError> {
    for draw in draws {
        for command in draw.walk {
            let words: Vec<_> = command.split(' ').collect();
            draw.run(&words, env, clock).await?;
        }
    }
    Ok(())
}

impl DemoDraw {
    /// False if the data folder has it.
    async fn freeze(&self, past: &Past, env: &Env, clock: &Clock) -> Result<bool, DemoError> {
        let (campaign, scope) = past.campaign(CAMPAIGN).await?;
        let name: DrawName = self.name.parse().map_err(|_| unusable("draw"))?;
        if past.tables.draws.get(&scope, &name).await?.is_some() {
            return Ok(false);
        }
        let now = clock.now();
        let week = 7 * 24 * self.weeks_ago;
        let ago = |hours: i64| Timestamp::from_millis(now.as_millis() - hours * HOUR_MILLIS);
        for number in 1..=ENTRANTS {
            let (phone, id) = (format!("+2557130000{number:02}"), random::submission_id());
            let at = ago(week + 3);
            let new = past.submission(&scope, id, &phone, Some("Mwanza"), at, &campaign)?;
            let status = SubmissionStatus::accepted(1 + number % 3, None);
            past.write(Submission { status, ..new }, None, &campaign)
                .await?;
        }
        let [from, to] = [week + 4, week + 2].map(|hours| ago(hours).to_string());
        let round = now.after(self.round_in).to_string();
        let folder = tempfile::tempdir().map_err(|_| unusable("temporary folder"))?;
        let output = folder.path().join("draw").display().to_string();
        // A freeze otherwise comes at least ten minutes before its round.
        let speedup = (config::RETRY_SPEEDUP.to_owned(), SPEEDUP.to_owned());
        let env = env.clone().overridden_by([speedup].into_iter().collect());
        let mut freeze = vec!["freeze", "--from", &from, "--to", &to, "--at", &round];
        freeze.extend(["--output", &output, "--yes"]);
        freeze.extend(self.prizes.iter().flat_map(|prize| ["--prize", prize]));
        self.run(&freeze, &env, clock).await?;
        Ok(true)
    }

    /// A second person has an AWS identity too.
    async fn run(&self, arguments: &[&str], env: &Env, clock: &Clock) -> Result<(), DemoError> {
        let by = arguments.iter().skip_while(|word| **word != "--by").nth(1);
        let identity = by.map(|by| ("AWS_ACCESS_KEY_ID".to_owned(), (*by).to_owned()));
        let env = env.clone().overridden_by(identity.into_iter().collect());
        let own_name = ["--by", "demo"].into_iter().filter(|_| by.is_none());
        let draw = ["--campaign", CAMPAIGN, "--draw", self.name];
        let words: Vec<_> = ["ops", "draw"]
            .iter()
            .chain(arguments)
            .chain(&draw)
            .copied()
            .chain(own_name)
            .collect();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut terminal = Terminal::without_input(&mut out, &mut err);
        let no_console: ServeConsole = |_, _| {
            Box::pin(async { Err(Failure::new("not_configured", "the demo has no console")) })
        };
        let words_of_command = words.iter().map(OsString::from);
        let code = Box::pin(ops_core::run(
            words_of_command,
            env,
            clock,
            &mut terminal,
            no_console,
        ))
        .await;
        if code == EXIT_OK {
            return Ok(());
        }
        let says = String::from_utf8_lossy(&err);
        Err(DemoError::Refused(format!(
            "{}: {}",
            words.join(" "),
            says.trim()
        )))
    }
}
