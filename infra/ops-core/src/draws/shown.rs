//! A draw in words, for the command line and the console.

use draw::LeftOut;

use super::entries::ReadReport;
use super::header;
use super::prelude::*;

pub fn state(draw: &Draw) -> &'static str {
    match (&draw.outcome, draw.published_at) {
        _ if draw.is_abandoned() => "abandoned",
        (Some(_), _) => "drawn",
        (None, Some(_)) => "frozen",
        (None, None) => "not published",
    }
}

pub fn facts(scope: &Scope, draw: &Draw, zone: Tz) -> Result<Vec<(&'static str, String)>> {
    let time = |time: Timestamp| zoned_time(time, zone);
    let grouped_commitment = draw.commitment.parse().map_or_else(
        |_| draw.commitment.clone(),
        |digest: Digest| digest.in_groups(),
    );
    let mut pairs = vec![(
        "draw",
        format!(
            "{} of {}: {}",
            draw.name,
            scope_in_words(scope),
            state(draw)
        ),
    )];
    pairs.extend(header_facts(&header(draw)?));
    pairs.extend([
        ("commitment", grouped_commitment),
        (
            "frozen",
            format!("{} by {}", time(draw.frozen_at), draw.frozen_by.name()),
        ),
        ("published", or_dash(draw.published_at.map(time))),
        ("chain", chain::described(&draw.chain)),
        (
            "round",
            format!("{} at {}", draw.round, time(draw.round_at)),
        ),
    ]);
    if let Some(OperatorDecision {
        by,
        at,
        why,
        confirmed,
        ..
    }) = &draw.abandonment
    {
        let second = confirmed.as_ref().map(|second| second.by.as_str());
        pairs.push((
            "abandoned",
            format!(
                "{} by {by} and {}: {}",
                time(*at),
                second.unwrap_or("no second person yet"),
                why.as_deref().unwrap_or_default()
            ),
        ));
    }
    if let Some(outcome) = &draw.outcome {
        pairs.push(("randomness", outcome.randomness.clone()));
        pairs.push(("drawn", time(outcome.drawn_at)));
    }
    Ok(pairs)
}

pub(super) fn freeze_facts(
    header: &Header,
    read: &ReadReport,
    round_at: Timestamp,
    zone: Tz,
) -> Vec<(&'static str, String)> {
    let mut pairs = header_facts(header);
    pairs.push((
        "round",
        format!("{} at {}", header.round, zoned_time(round_at, zone)),
    ));
    let largest = read
        .largest
        .iter()
        .map(|row| format!("{} ({})", grouped(row.entries.get()), row.reference));
    let unsettled = grouped(read.unsettled.len());
    pairs.extend([
        ("largest rows", joined(largest)),
        (
            "by hand",
            format!(
                "{} entries were given by people, not by the service",
                grouped(read.given_by_hand)
            ),
        ),
        (
            "unsettled",
            format!("{unsettled} submissions are not settled, and not in this draw"),
        ),
    ]);
    pairs
}

/// Too many prizes, and earlier draws of the period.
pub fn warnings(header: &Header) -> Vec<String> {
    let mut warnings = Vec::new();
    let prizes = header.prize_count();
    if prizes > header.rows.get() {
        warnings.push(format!(
            "There are {} prizes and {} entrants: some prizes can have no winner.",
            grouped(prizes),
            grouped(header.rows.get())
        ));
    }
    if !header.overlapping.is_empty() {
        warnings.push(
            "Earlier draws have entries of this period. The sheet and the certificate name them: be ready to say why there \
             are several."
                .to_owned(),
        );
    }
    warnings
}

fn header_facts(header: &Header) -> Vec<(&'static str, String)> {
    let overlapping = joined(header.overlapping.iter().map(|other| &other.draw));
    let rule = if header.one_prize_per_row {
        "one prize for each entrant"
    } else {
        "an entrant can win prizes of several kinds"
    };
    vec![
        (
            "period",
            format!("{} to before {}", header.period.from, header.period.to),
        ),
        ("entrants", grouped(header.rows.get())),
        ("entries", grouped(header.total.get())),
        ("left out", left_out(header)),
        (
            "overlaps",
            or_dash(Some(overlapping).filter(|names| !names.is_empty())),
        ),
        ("prizes", header.prizes_in_words()),
        ("rule", rule.to_owned()),
    ]
}

fn left_out(
    Header {
        left_out: LeftOut {
            blocked,
            without_phone,
        },
        ..
    }: &Header,
) -> String {
    let sum = |days: &BTreeMap<String, u64>| {
        grouped(
            days.values()
                .fold(0_u64, |sum, entries| sum.saturating_add(*entries)),
        )
    };
    format!(
        "{} entries of blocked phones, {} of people who were erased",
        sum(blocked),
        sum(without_phone)
    )
}

pub fn is_blocked(contact: &Contact, blocked: &HashSet<SubmissionId>) -> bool {
    contact
        .submission_id
        .is_some_and(|id| blocked.contains(&id))
}

pub fn state_of(contact: &Contact, blocked: &HashSet<SubmissionId>) -> String {
    let mark = match is_blocked(contact, blocked) {
        true => ", BLOCKED",
        false => "",
    };
    format!("{}{mark}", contact.state())
}

/// The options that name a draw in a command.
pub fn options(scope: &Scope, name: &DrawName) -> String {
    let environment = match scope.environment {
        Environment::Live => "",
        Environment::Test => " --environment test",
    };
    format!("--campaign {}{environment} --draw {name}", scope.campaign)
}

/// The option that names a prize; empty where there is only one.
pub fn prize_option(header: &Header, prize: &str) -> String {
    if header.prizes.len() == 1 {
        String::new()
    } else {
        format!(" --tier \"{prize}\"")
    }
}

/// The next step with a draw; `None` once each prize has a winner.
pub fn next_step(
    scope: &Scope,
    draw: &Draw,
    contacts: &[Contact],
    zone: Tz,
    now: Timestamp,
) -> Result<Option<String>> {
    let options = options(scope, &draw.name);
    let run = format!("`ops draw run {options}` draws the winners");
    let next = match (&draw.outcome, draw.published_at) {
        _ if draw.is_abandoned() => abandoned(draw).message,
        (Some(_), _) => {
            let header = header(draw)?;
            return Ok(interrupted_skip(&header, contacts).map(|last| {
                format!(
                    "a prize has no winner, because a skip was interrupted; `ops draw skip {options}{} --winner {} --reason KEY \
                     --inspector NAME` finishes it, and draws the next winner",
                    prize_option(&header, &last.prize),
                    last.place
                )
            }));
        }
        (None, None) if now < draw.round_at => unpublished(draw).message,
        (None, _) if !draw.is_published_in_time() => published_late(draw).message,
        (None, _) if now < draw.round_at => {
            format!(
                "the round comes at {}; after it, {run}",
                zoned_time(draw.round_at, zone)
            )
        }
        (None, _) => format!("the round is there; {run}"),
    };
    Ok(Some(next))
}

/// The last skipped place of a prize that has too few winners.
pub fn interrupted_skip<'a>(header: &Header, contacts: &'a [Contact]) -> Option<&'a Contact> {
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    header.prizes.iter().find_map(|prize| {
        let drawn: Vec<_> = contacts
            .iter()
            .filter(|contact| contact.prize == prize.name)
            .collect();
        let winners = drawn.iter().filter(|contact| contact.holds_prize()).count();
        let is_short =
            count(winners) < prize.number.get() && count(drawn.len()) < header.rows.get();
        let is_skipped =
            |contact: &&Contact| matches!(contact.state(), ContactState::Skipped { .. });
        drawn
            .into_iter()
            .filter(is_skipped)
            .max_by_key(|contact| contact.place)
            .filter(|_| is_short)
    })
}
