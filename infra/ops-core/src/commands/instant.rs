//! `ops instant`.

use chrono::NaiveTime;
use common::domain::instant::{Day, Header, PlanState};
use common::domain::win::WinStatus;
use draw::VerifiedPlan;

use crate::cli::{InstantCommand, Moment, PlanArgs, VerifyArgs};
use crate::draws::chain::described;
use crate::draws::run::RoundSource;
use crate::draws::storage_time;
use crate::instant::plan::{DraftedPlan, draft};
use crate::instant::{FoundPlan, arm, find, reveal, switch, verify};
use crate::prelude::*;

pub(crate) async fn run(
    command: InstantCommand,
    env: &Env,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let tables = async || connection::tables(env).await;
    match command {
        InstantCommand::Verify(args) => verified(&args, env),
        InstantCommand::Plan(args) => plan(args, &tables().await?, clock, terminal).await,
        InstantCommand::Arm { scope, beacon } => {
            armed(&scope.into(), beacon, &tables().await?, clock).await
        }
        InstantCommand::Stop { scope, why } => {
            let (tables, scope) = (tables().await?, scope.into());
            let state = switch::stop(&tables, &scope, &why, clock.now()).await?;
            Ok(show(&scope, &tables).await?.with_note(after_stop(&state)))
        }
        InstantCommand::Start { scope, why } => {
            let (tables, scope) = (tables().await?, scope.into());
            let found = find(&tables, &scope).await?;
            let started = switch::start(&tables, &found, &why, clock.now()).await?;
            let note = started.is_none().then(|| second_person("nothing is given"));
            Ok(show(&scope, &tables).await?.with_note(note))
        }
        InstantCommand::Show { scope } => show(&scope.into(), &tables().await?).await,
        InstantCommand::Reveal { scope, why, output } => {
            let tables = tables().await?;
            revealed(&scope.into(), &why, &output, &tables, clock, terminal).await
        }
    }
}

async fn plan(
    args: PlanArgs,
    tables: &Tables,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let (scope, now): (Scope, _) = (args.scope.into(), clock.now());
    let campaign = tables.campaign(&scope.campaign).await?;
    let zone = campaign.timezone;
    let at = args.at.resolve(zone, now);
    let drafted = draft(tables, &campaign, &scope, at, now).await?;
    let DraftedPlan { plan, round_at, .. } = &drafted;
    let header = plan.header().clone();
    let (days, commitment) = (days_table(&header, zone), plan.commitment());
    let mut json = json!({ "header": header, "round_at": round_at, "dry_run": args.dry_run });
    let facts = lines(&[
        (
            "round",
            format!("{} at {}", header.round, local_time(*round_at, zone)),
        ),
        ("chain", described(&header.chain.to_string())),
        ("caps", caps(&header)),
    ]);
    if args.dry_run {
        let text = format!(
            "{facts}\n{days}\nNothing was written, because of --dry-run; leave it out to make this plan."
        );
        return Ok(Report::new(json, text));
    }
    let question = format!(
        "{facts}\n{days}\nPublish this plan of {}?",
        scope_in_words(&scope)
    );
    terminal.confirm_typed(&question, scope.campaign.as_str())?;
    drafted.publish(tables, &args.output, clock.now()).await?;
    json = extended(
        json,
        [
            ("commitment", json!(commitment)),
            ("output", json!(args.output)),
        ],
    );
    let text = format!(
        "{facts}\n{days}\ncommitment  {}\nfiles       {}\n\nBefore the round's time, read the commitment out and let all present \
         copy it.",
        commitment.in_groups(),
        args.output.display()
    );
    let Scope {
        campaign,
        environment,
    } = &scope;
    let note = format!(
        "next: after the round, `ops instant arm --campaign {campaign} --environment {environment}`; until then, entries win nothing"
    );
    Ok(Report::new(json, text).with_note(note))
}

async fn armed(
    scope: &Scope,
    beacon: Option<RoundSource>,
    tables: &Tables,
    clock: &Clock,
) -> Result<Report> {
    let found = find(tables, scope).await?;
    let zone = tables.zone(scope).await?;
    let state = arm::arm(tables, &found, beacon, zone, clock.now()).await?;
    let note = (!state.open).then(|| {
        "next: two people start it with `ops instant start`, because it follows another plan"
            .to_owned()
    });
    Ok(show(scope, tables).await?.with_note(note))
}

async fn revealed(
    scope: &Scope,
    why: &str,
    output: &Path,
    tables: &Tables,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let found = find(tables, scope).await?;
    let campaign = tables.campaign(&scope.campaign).await?;
    let last = found.plan.header().days.last().map(|day| day.end());
    let early = last.is_some_and(|last| clock.now() < last);
    let days = Box::pin(day_rows(tables, &found)).await?;
    let not_logged = days.iter().filter(|day| day["sha256"].is_null());
    let not_logged = match not_logged.count() {
        0 => String::new(),
        count => format!("Days that ended and are not logged: {count}. "),
    };
    let question = format!(
        "{}{not_logged}Publish the secret of the plan of {}, so that it never gives a prize again?",
        if early {
            "Its last day is not over yet. "
        } else {
            ""
        },
        scope_in_words(scope)
    );
    terminal.confirm_typed(&question, scope.campaign.as_str())?;
    let done = reveal::reveal(tables, &campaign, found, why, output, clock, terminal).await?;
    if !done {
        let note = second_person("nothing is published");
        return Ok(show(scope, tables).await?.with_note(note));
    }
    let verified = verify::verify(output, None, &tables.env)?;
    let report = verified_report(&verified, false);
    let note = format!(
        "next: publish the folder {}; anyone can check it with verify.py, or in a browser with {}",
        output.display(),
        reveal::CERTIFICATE
    );
    Ok(report.with_note(note))
}

fn after_stop(state: &PlanState) -> Option<String> {
    let note = if state.round.is_none() {
        "the plan was not open: `ops instant arm` opens it, and `ops instant plan` makes another in its place"
    } else if state.rows.is_empty() {
        "next: `ops instant start` gives prizes again, those too that were due meanwhile; `ops instant reveal` ends the plan"
    } else {
        return None;
    };
    Some(note.to_owned())
}

fn second_person(meanwhile: &str) -> String {
    format!(
        "next: a second operator runs the same command, with their own AWS identity and name; until then, {meanwhile}"
    )
}

async fn show(scope: &Scope, tables: &Tables) -> Result<Report> {
    let found = find(tables, scope).await?;
    let zone = tables.zone(scope).await?;
    let round_at = found.round_at(&found.chain(&tables.env)?)?;
    let published_at = found.published_at(tables).await?;
    let FoundPlan { state, plan, .. } = &found;
    let header = plan.header();
    let prizes = prizes(tables, &found, zone).await?;
    let days = Box::pin(day_rows(tables, &found)).await?;
    let json = json!({
        "scope": scope,
        "state": state_words(state),
        "commitment": state.plan,
        "header": header,
        "round_at": round_at,
        "published_at": published_at,
        "planned_at": found.stored.planned_at,
        "planned_by": found.stored.planned_by,
        "changes": state.changes,
        "requested": state.request,
        "revealed_at": state.revealed_at,
        "prizes": prizes,
        "days": days,
    });
    let text = lines(&[
        ("state", state_words(state).to_owned()),
        ("commitment", state.plan.in_groups()),
        (
            "round",
            format!("{} at {}", header.round, local_time(round_at, zone)),
        ),
        ("chain", described(&header.chain.to_string())),
        (
            "published at",
            published_at.map_or("NOT PUBLISHED".to_owned(), |at| local_time(at, zone)),
        ),
        ("caps", caps(header)),
        ("evidence", found.files(tables)?.evidence_url()),
    ]);
    let columns = [
        ("PRIZE", "/prize"),
        ("IN ALL", "/planned"),
        ("DUE UP TO MIDNIGHT", "/due"),
        ("GIVEN UP TO MIDNIGHT", "/given"),
    ];
    let mut text = format!("{text}\n{}", table(&columns, &prizes, zone));
    if !days.is_empty() {
        let columns = [
            ("DAY", "/day"),
            ("ENDED AT", "/to"),
            ("LOGGED AT", "/logged_at"),
            ("SHA-256 OF ITS WINS", "/sha256"),
        ];
        text = format!("{text}\n{}", table(&columns, &days, zone));
    }
    Ok(Report::new(json, text))
}

/// The days of a live plan that are over, and what was logged of each.
async fn day_rows(tables: &Tables, found: &FoundPlan) -> Result<Vec<Value>> {
    if found.scope.environment == Environment::Test || found.state.round.is_none() {
        return Ok(Vec::new());
    }
    let (now, logged) = (
        storage_time(tables).await?,
        found.logged_days(tables).await?,
    );
    let days = (0_u64..).zip(&found.plan.header().days);
    let over = days.take_while(|(_, day)| day.end() <= now);
    let row = |(index, day): (u64, &Day)| {
        let logged = logged.iter().find(|one| one.day == index);
        let logged_at = logged.map(|one| millis(one.logged_at));
        json!({
            "day": index,
            "from": day.start(),
            "to": day.end(),
            "logged_at": logged_at,
            "sha256": logged.map(|one| one.sha256),
        })
    };
    Ok(over.map(row).collect())
}

/// Counts up to the last midnight: one of today would tell who knows it when to enter.
async fn prizes(tables: &Tables, found: &FoundPlan, zone: Tz) -> Result<Vec<Value>> {
    let now = storage_time(tables).await?;
    let today = now.in_zone(zone).date_naive();
    let midnight = Moment::Local(today.and_time(NaiveTime::MIN)).begin(zone);
    let header = found.plan.header();
    let wins = tables.wins().list(&found.scope).await?;
    let row = |(index, prize): (usize, &String)| {
        let count = |is_counted: &dyn Fn(Timestamp) -> bool| -> u64 {
            let days = header.days.iter().filter(|day| is_counted(day.end()));
            days.filter_map(|day| day.prizes.get(index).copied().map(u64::from))
                .sum()
        };
        let given = wins.iter().filter(|win| {
            win.is_by_moment()
                && win.status() != WinStatus::Revoked
                && win.prize == *prize
                && win.accepted_at < midnight
                && win.accepted_at >= found.stored.planned_at
        });
        json!({
            "prize": prize,
            "planned": count(&|_| true),
            "due": count(&|end| end <= midnight),
            "given": given.count(),
        })
    };
    Ok(header.prizes.iter().enumerate().map(row).collect())
}

fn state_words(state: &PlanState) -> &'static str {
    match state {
        PlanState {
            revealed_at: Some(_),
            ..
        } => "revealed",
        PlanState { rows, .. } if !rows.is_empty() => "being revealed",
        PlanState { open: true, .. } => "open",
        PlanState { round: None, .. } => "planned",
        PlanState { changes, .. } if changes.is_empty() => "armed",
        PlanState { .. } => "stopped",
    }
}

fn caps(header: &Header) -> String {
    let caps = header.caps;
    format!(
        "{} a day and {} in all for each phone",
        caps.day, caps.total
    )
}

fn days_table(header: &Header, zone: Tz) -> String {
    let row = |day: &Day| {
        let numbers = day.prizes.iter().zip(&header.prizes);
        let numbers = numbers.map(|(number, prize)| format!("{number} x {prize}"));
        json!({
            "from": local_time(day.start(), zone), "to": local_time(day.end(), zone),
            "curve": day.curve, "prizes": joined(numbers),
        })
    };
    let rows: Vec<_> = header.days.iter().map(row).collect();
    let columns = [
        ("FROM", "/from"),
        ("TO", "/to"),
        ("CURVE", "/curve"),
        ("PRIZES", "/prizes"),
    ];
    table(&columns, &rows, zone)
}

fn verified(args: &VerifyArgs, env: &Env) -> Result<Report> {
    let verified = verify::verify(&args.path, args.commitment, env)?;
    Ok(verified_report(&verified, args.commitment.is_some()))
}

fn verified_report(verified: &VerifiedPlan, is_compared: bool) -> Report {
    let VerifiedPlan {
        plan,
        result,
        given_at,
        rows,
        moments,
        not_logged,
        won_after_days,
    } = verified;
    let (header, commitment) = (plan.header(), plan.commitment());
    let given_at = given_at.to_rfc3339();
    let prizes = header.prizes.iter().zip(&result.given).zip(moments);
    let prizes: Vec<_> = prizes
        .map(|((prize, given), planned)| json!({ "prize": prize, "given": given, "planned": planned }))
        .collect();
    let json = json!({
        "holds": true,
        "campaign": header.campaign,
        "environment": header.environment,
        "rows": rows,
        "commitment": commitment,
        "commitment_compared": is_compared,
        "chain": header.chain,
        "round": header.round,
        "round_at": given_at,
        "prizes": prizes,
        "stops": result.stops,
        "days": result.days,
        "not_logged": not_logged,
        "won_after_days": won_after_days,
        "other_plans": result.other_plans,
    });
    let compared = if is_compared {
        "it is the one that you copied"
    } else {
        "compare it with the one that was published before the round"
    };
    let mut pairs = vec![
        ("entries", rows.to_string()),
        (
            "commitment",
            format!("{}: {compared}", commitment.in_groups()),
        ),
        (
            "round",
            format!(
                "{} was given at {given_at}: your copy of the commitment has to be older",
                header.round
            ),
        ),
        ("chain", described(&header.chain.to_string())),
    ];
    if !not_logged.is_empty() {
        let days = joined(not_logged);
        let warning =
            format!("within a day of their end, so that their wins could be changed: days {days}");
        pairs.push(("not logged", warning));
    }
    if *won_after_days > 0 {
        pairs.push((
            "not logged",
            format!("{won_after_days} prizes that were won after the last day"),
        ));
    }
    pairs.extend(result.stops.iter().map(|one| {
        (
            "stopped",
            format!(
                "from {} to {}: nothing could be won",
                millis(one.from),
                millis(one.to)
            ),
        )
    }));
    pairs.extend(
        result
            .other_plans
            .iter()
            .map(|other| ("other plan", format!("{other} was published too; ask why"))),
    );
    let columns = [
        ("PRIZE", "/prize"),
        ("PLANNED", "/planned"),
        ("GIVEN", "/given"),
    ];
    let text = format!(
        "HOLDS: {}: {}each prize went to the first eligible entry after a moment that follows from secret and round\n{}\n{}",
        header.campaign,
        if result.stops.is_empty() {
            ""
        } else {
            "outside of the stops below, "
        },
        lines(&pairs),
        table(&columns, &prizes, Tz::UTC)
    );
    Report::new(json, text)
}

fn millis(at: u64) -> Timestamp {
    Timestamp::from_millis(i64::try_from(at).unwrap_or(i64::MAX))
}
