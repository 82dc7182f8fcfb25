//! Ends a plan for good: publishes its secret, and its entries.

use std::ops::Range;

use common::aws::evidence::plans_folder;
use common::domain::instant::{Plan, PlanAct, PlanState};
use draw::{Digest, PlanCertificate, PlanFiles, PlanResult, Stop, VERIFY_PY, rows_csv};

use super::{FoundPlan, ROWS, SECRET, plan_secret, request, rows};
use crate::draws::files::{COMMITMENT, DrawFiles, HEADER, NewFolder, RESULT};
use crate::draws::storage_time;
use crate::prelude::*;

pub(crate) const CERTIFICATE: &str = "certificate.html";
const PROGRAM: &str = "verify.py";

/// Writes the folder of a revealed plan; `false` while a second person has to ask for it.
pub(crate) async fn reveal(
    tables: &Tables,
    campaign: &Campaign,
    mut found: FoundPlan,
    why: &str,
    output: &Path,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<bool> {
    let why = validate_reason(why, "the reason")?;
    let now = clock.now();
    let Some(round) = found.state.round else {
        bail!(
            "plan_not_armed",
            "the plan was never armed, so it gave no prize, and nothing waits for its secret"
        );
    };
    if found.state.open {
        bail!(
            "plan_open",
            "the plan is open: once its secret is published, anyone knows its moments. `ops instant stop` stops it"
        );
    }
    let folder = NewFolder::begin(output)?;
    // Who may not read it cannot ask for it either.
    let secret = plan_secret(tables, &found.scope, &found.stored.name).await?;
    let is_first = found.state.rows.is_empty();
    if is_first
        && request::agree(tables, &found, PlanAct::Reveal, &why, now)
            .await?
            .is_none()
    {
        return Ok(false);
    }
    if !is_first {
        let row = found.action("instant.reveal", json!({ "again": true }));
        tables.audit.append(row.because(&why), now).await?;
    }
    let header = found.plan.header();
    if secret.digest() != header.secret {
        bail!(
            "secret_differs",
            "nothing was revealed: the secret of this stack is not the one that the plan was made with; restore it"
        );
    }
    let files = found.files(tables)?;
    let last = last_stop(&found);
    let csv = match published(&files, &found.state, ROWS).await? {
        Some(csv) => csv,
        None => rows_csv(rows::read(tables, &found, last, clock, terminal).await?),
    };
    let result = match published(&files, &found.state, RESULT).await? {
        Some(result) => result,
        None => {
            let result = PlanResult {
                round: header.round,
                signature: round.signature,
                randomness: round.randomness(),
                given: given(&csv, header.prizes.len()),
                stops: stops(&found, last),
                days: Box::pin(found.logged_days(tables)).await?,
                other_plans: Box::pin(other_plans(tables, &found)).await?,
            };
            serde_json::to_string(&result).map_err(|error| {
                failure!("not_revealed", "the result cannot be written: {error}")
            })?
        }
    };
    let (secret, commitment) = (hex::encode(secret.expose()), found.state.plan.to_string());
    let chain = found.chain(&tables.env)?;
    let proof = PlanFiles {
        header: found.stored.header.as_bytes(),
        commitment: commitment.as_bytes(),
        secret: secret.as_bytes(),
        result: result.as_bytes(),
        rows: csv.as_bytes(),
    };
    if let Err(difference) = proof.verify(&chain) {
        terminal.confirm(&format!(
            "The proof does NOT hold; the first difference: {difference}. Once it is published, it stays. Publish it all the same?"
        ))?;
    }
    let mut after = found.state.next();
    let made = [&csv, &result].map(|text| Digest::from_parts(&[text.as_bytes()]));
    let is_new = |made: &Digest| !found.state.rows.contains(made);
    after.rows.extend(made.into_iter().filter(is_new));
    found.change(tables, &after).await?;
    found.state = after;
    let certificate = PlanCertificate {
        campaign: &campaign.name,
        brand: &campaign.brand,
        header: &found.stored.header,
        commitment: &commitment,
        secret: &secret,
        result: &result,
        chain: &chain,
    };
    let few = csv.len() <= MAX_EMBEDDED;
    let page = certificate.html(few.then_some(&csv));
    // The secret comes last.
    for (name, text) in [(ROWS, &csv), (RESULT, &result), (SECRET, &secret)] {
        files.publish_text(name, text).await?;
        folder.write(name, text.as_bytes())?;
    }
    for (name, text) in [
        (HEADER, found.stored.header.as_str()),
        (COMMITMENT, &commitment),
        (PROGRAM, VERIFY_PY),
        (CERTIFICATE, &page),
    ] {
        folder.write(name, text.as_bytes())?;
    }
    if found.state.revealed_at.is_none() {
        let after = PlanState {
            revealed_at: Some(storage_time(tables).await?),
            ..found.state.next()
        };
        found.change(tables, &after).await?;
    }
    folder.finish()?;
    Ok(true)
}

fn last_stop(found: &FoundPlan) -> Timestamp {
    let last = found.state.changes.last().map(|change| change.at);
    let end = || found.plan.header().days.last().map(|day| day.end());
    last.or_else(end).unwrap_or(Timestamp::MAX)
}

/// A file of an earlier run, which stays. Who may write evidence could have put another there.
async fn published(files: &DrawFiles, state: &PlanState, name: &str) -> Result<Option<String>> {
    if !files.published().await?.contains_key(name) {
        return Ok(None);
    }
    let text = files.read_text(name).await?;
    if state.rows.contains(&Digest::from_parts(&[text.as_bytes()])) {
        return Ok(Some(text));
    }
    bail!(
        "evidence_differs",
        "{}{name} is not of a reveal, so nothing was published; ask the administrator of the stack who wrote it, and to delete \
         it: the storage keeps a copy",
        files.evidence_url()
    )
}

/// The most that a phone opens, in bytes.
const MAX_EMBEDDED: usize = 16 * 1024 * 1024;

fn given(csv: &str, prizes: usize) -> Vec<u64> {
    let mut given = vec![0; prizes];
    for line in csv.lines() {
        let mut fields = line.split(',').skip(3);
        let prize = fields.next().and_then(|prize| prize.parse::<usize>().ok());
        if let (Some(prize), Some("")) = (prize, fields.next())
            && let Some(count) = given.get_mut(prize)
        {
            *count += 1;
        }
    }
    given
}

fn stops(found: &FoundPlan, last: Timestamp) -> Vec<Stop> {
    /// Entries after the last stop, by clocks that are ahead.
    const AFTER: Duration = Duration::from_secs(60);
    let millis = |at: Timestamp| u64::try_from(at.as_millis()).unwrap_or_default();
    let days = &found.plan.header().days;
    let first = days.first().map_or(last, |day| day.start());
    // Within a day, its end would be taken for a start.
    let end = days.last().map_or(last, |day| day.end());
    let stops = found.state.stops(first, end.max(last.after(AFTER)));
    let stop = |one: Range<Timestamp>| Stop {
        from: millis(one.start),
        to: millis(one.end),
    };
    stops.into_iter().map(stop).collect()
}

/// Plans that were published for the same campaign; the best of several must not pass for the only
/// one.
async fn other_plans(tables: &Tables, found: &FoundPlan) -> Result<Vec<Digest>> {
    // In the table, a record can be deleted.
    let plans = DrawFiles::in_folder(tables, plans_folder(&found.scope))?;
    let mut others = Vec::new();
    for key in plans.published().await?.keys() {
        let folder = key
            .strip_suffix(HEADER)
            .and_then(|one| one.strip_suffix('/'));
        let Some(commitment) = folder.and_then(|one| one.parse::<Digest>().ok()) else {
            continue;
        };
        // Who may write evidence cannot make up a plan that was none.
        let plan = Plan::read(&plans.read_text(key).await?);
        let is_plan = plan.is_ok_and(|plan| plan.commitment() == commitment);
        if is_plan && commitment != found.state.plan {
            others.push(commitment);
        }
    }
    Ok(others)
}
