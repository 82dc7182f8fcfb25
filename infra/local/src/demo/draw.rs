//! A finished draw of a demo campaign, to look at. It is made with the functions behind the operator's commands, in
//! some seconds.

use std::ffi::OsString;
use std::time::Duration;

use common::aws::Aws;
use common::clock::Clock;
use common::config::{self, Env};
use common::domain::draw::DrawName;
use common::domain::entrant::{Entrant, PhoneChecks};
use common::domain::message::MessageKey;
use common::domain::phone::Phone;
use common::domain::scope::{Environment, Scope};
use common::domain::submission::{NewSubmission, Submission, SubmissionStatus};
use common::domain::timestamp::Timestamp;
use common::random;
use common::store::submission_writes::{RecordKeys, SubmissionWrite};
use ops_core::failure::Failure;
use ops_core::tables::Tables;
use ops_core::{EXIT_OK, ServeConsole, Terminal};

use super::DemoError;

const CAMPAIGN: &str = "chai-bora-2026";
const DRAW: &str = "demo";
const KETTLE: &str = "A kettle";
const ENTRANTS: u32 = 12;

/// The times of the draw, before now.
const FROM: Duration = Duration::from_secs(240 * 60);
const ENTERED: Duration = Duration::from_secs(180 * 60);
const TO: Duration = Duration::from_secs(120 * 60);
/// Time until the round: the storage keeps the real time of the commitment, so the draw cannot be dated in the past.
const ROUND: Duration = Duration::from_secs(10);
/// Divides the notice before a round.
const SPEEDUP: &str = "1000";

/// What to run to look at the draw.
pub const COMMANDS: &str = "\
The draw `demo` of chai-bora-2026 is finished. With the ready file's name in place of ready.json:

  cargo ops --env-file ready.json draw show --campaign chai-bora-2026 --draw demo
  mkdir demo-draw
  cargo ops --env-file ready.json draw certificate --campaign chai-bora-2026 --draw demo --output demo-draw/certificate.html
  cargo ops --env-file ready.json draw verify demo-draw
";

/// Makes the draw, unless it exists.
///
/// # Errors
/// When a table or storage does not answer, or the campaign is not there.
pub async fn load(env: &Env, clock: &Clock) -> Result<(), DemoError> {
    let tables = Tables::from_env(env, &Aws::for_function(env)?)?;
    let refused =
        |what: &str| DemoError::Refused(format!("the {what} of the demo draw cannot be used"));
    let campaign = CAMPAIGN.parse().map_err(|_| refused("campaign"))?;
    let scope = Scope {
        campaign,
        environment: Environment::Live,
    };
    let name: DrawName = DRAW.parse().map_err(|_| refused("name"))?;
    if tables
        .draws
        .get(&scope, &name)
        .await
        .map_err(Failure::from)?
        .is_some()
    {
        return Ok(());
    }
    let now = clock.now();
    let ago = |span: Duration| Timestamp::from_millis(now.as_millis().saturating_sub(millis(span)));
    enter(&tables, &scope, ago(ENTERED)).await?;

    let [from, to] = [FROM, TO].map(|span| ago(span).to_string());
    let round = now.after(ROUND).to_string();
    let folder = tempfile::tempdir().map_err(|_| refused("temporary folder"))?;
    let output = folder.path().join("draw").display().to_string();
    let (prize, airtime) = (format!("{KETTLE}=1"), "Airtime=2");
    let period = [
        "--from", &from, "--to", &to, "--at", &round, "--prize", &prize, "--prize", airtime,
    ];
    // Otherwise a freeze comes at least ten minutes before its round.
    let speedup = [(config::RETRY_SPEEDUP.to_owned(), SPEEDUP.to_owned())]
        .into_iter()
        .collect();
    let env = env.clone().overridden_by(speedup);
    let skip = [
        "--reason",
        "declined",
        "--inspector",
        "A. Inspector",
        "--yes",
    ];
    let walk: [(&str, &[&str]); 8] = [
        (
            "freeze",
            &[&period[..], &["--output", &output, "--yes"]].concat(),
        ),
        ("run", &[]),
        (
            "call",
            &["--tier", KETTLE, "--winner", "1", "--outcome", "reached"],
        ),
        (
            "skip",
            &[&["--tier", KETTLE, "--winner", "1"], &skip[..]].concat(),
        ),
        (
            "call",
            &["--tier", KETTLE, "--winner", "2", "--outcome", "reached"],
        ),
        ("confirm", &["--tier", KETTLE, "--winner", "2"]),
        ("hand-over", &["--tier", KETTLE, "--winner", "2"]),
        (
            "call",
            &["--tier", "Airtime", "--winner", "1", "--outcome", "reached"],
        ),
    ];
    for (command, arguments) in walk {
        run(command, arguments, &env, clock).await?;
    }
    Ok(())
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

async fn run(command: &str, arguments: &[&str], env: &Env, clock: &Clock) -> Result<(), DemoError> {
    let own = [
        "ops",
        "draw",
        command,
        "--campaign",
        CAMPAIGN,
        "--draw",
        DRAW,
        "--by",
        "demo",
    ];
    let arguments = [&own[..], arguments]
        .concat()
        .into_iter()
        .map(OsString::from);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut terminal = Terminal {
        out: &mut out,
        err: &mut err,
        input: None,
        err_is_terminal: false,
        is_quiet: false,
    };
    let no_console: ServeConsole =
        |_, _| Box::pin(async { Err(Failure::new("not_configured", "the demo has no console")) });
    let code = Box::pin(ops_core::run(
        arguments,
        env.clone(),
        clock,
        &mut terminal,
        no_console,
    ))
    .await;
    if code == EXIT_OK {
        return Ok(());
    }
    Err(DemoError::Refused(format!(
        "ops draw {command}: {}",
        String::from_utf8_lossy(&err).trim()
    )))
}

/// Entrants with 1 to 3 entries each.
async fn enter(tables: &Tables, scope: &Scope, at: Timestamp) -> Result<(), DemoError> {
    let unusable =
        |what: &str| DemoError::Refused(format!("the {what} of the demo draw cannot be used"));
    let keys = tables
        .secrets()
        .version_for_phones()
        .await
        .map_err(Failure::from)?;
    let secret = &keys.secret;
    let campaign = tables.campaign(&scope.campaign).await?;
    for number in 1..=ENTRANTS {
        let phone: Phone = format!("+2557130000{number:02}")
            .parse()
            .map_err(|_| unusable("phone"))?;
        let submission_id = random::submission_id();
        let new = NewSubmission {
            submission_id,
            scope: scope.clone(),
            phone: secret.encrypt_phone(scope, submission_id, &phone, random::bytes()),
            entrant_id: secret.consumer(scope, phone).id,
            region: Some("Mwanza".to_owned()),
            claimed: None,
            consent: None,
            day: at.day_in(campaign.timezone),
            created_at: at,
            request_id: None,
        };
        let submission = Submission {
            reasons: vec![MessageKey::Entered.as_str().to_owned()],
            ..Submission::new(new, SubmissionStatus::accepted(1 + number % 3, None))
        };
        let key = format!("entry-of-the-demo-draw-{number}")
            .parse()
            .map_err(|_| unusable("key"))?;
        let write = SubmissionWrite {
            keys: RecordKeys {
                scope: &submission.scope,
                key: &key,
                entrant: &submission.entrant_id,
                code: None,
                receipt: None,
            },
            body_hash: "",
            submission: &submission,
        };
        let (entrant, checks) = (Entrant::default(), PhoneChecks::default());
        let created = tables
            .store
            .create_admitted(write, &entrant, &campaign, checks, at)
            .await;
        created.map_err(Failure::from)?;
    }
    Ok(())
}
