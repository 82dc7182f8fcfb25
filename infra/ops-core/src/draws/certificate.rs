//! The certificate, the files beside it, and the sheet.

use std::fmt::Display;
use std::fs;
use std::io::Read;

use chrono::FixedOffset;
use draw::{
    Certificate, Event, Log, LoggedPlace, MAX_EMBEDDED_ROWS, Sheet, Step, VERIFY_PY, publishable,
};

use super::assign_winners::Drawing;
use super::files::{holds, taken};
use super::openings::Erasure;
use super::prelude::*;
use super::shown::interrupted_skip;
use crate::atomic_file::write_new;

pub(crate) const BESIDE: [&str; 6] = [ENTRIES, HEADER, COMMITMENT, RESULT, LOG, "verify.py"];

/// Writes the certificate, and the published files beside it. Returns the erasures of its places.
pub(crate) async fn write(
    tables: &Tables,
    scope: &Scope,
    campaign: &Campaign,
    draw: &Draw,
    output: &Path,
) -> Result<Vec<Erasure>> {
    let Some(outcome) = &draw.outcome else {
        bail!(
            "draw_not_run",
            "the draw {} has no winners yet; draw them first with `ops draw run`",
            draw.name
        );
    };
    let contacts = tables.draws.contacts(scope, &draw.name).await?;
    let files = DrawFiles::new(tables, scope, draw)?;
    let (chain, published_at) = published_in_time(tables, scope, draw, &files).await?;
    let committed = files.committed(draw).await?;
    let given_at = committed
        .check_round_time(chain.time_of(draw.round))
        .map_err(unreadable(draw))?;
    let (drawing, result_json) = Drawing::recorded(tables, scope, draw, committed)?;
    let rows = drawing.rows(&contacts).await?;
    drawing.check_without_entrant(&contacts, &rows).await?;
    let Drawing {
        committed, result, ..
    } = drawing;
    let zone = campaign.timezone;
    let places = contacts.iter().map(|contact| {
        let opening = rows.openings.get(&contact.row).cloned();
        published(
            contact,
            opening.filter(|_| contact.reference.is_some()),
            zone,
        )
    });
    // The list was frozen before it was published, which the storage's clock says, in seconds.
    let frozen_at = draw.frozen_at.min(published_at);
    let [frozen_at, published_at, drawn_at] =
        [frozen_at, published_at, outcome.drawn_at].map(|at| local(at, zone));
    let log = Log {
        frozen_at,
        published_at,
        drawn_at,
        places: places.collect(),
    };
    check_all_drawn(draw, committed.header(), &contacts)?;
    let log = serde_json::to_string(&log).map_err(unreadable(draw))?;
    committed
        .read_log(&result, given_at, log.as_bytes())
        .map_err(|error| log_differs(draw, &error))?;
    let certificate = Certificate {
        campaign: &campaign.name,
        brand: &campaign.brand,
        header: &draw.header,
        commitment: &draw.commitment,
        result: &result_json,
        log: &log,
        chain: &chain,
    };
    let mut entries = None;
    if committed.header().rows.get() <= MAX_EMBEDDED_ROWS {
        entries = Some(files.read_text(ENTRIES).await?);
    }
    create(output, &certificate.html(entries.as_deref()))?;
    for name in [ENTRIES, HEADER, COMMITMENT] {
        put(&output.with_file_name(name), files.read(name).await?)?;
    }
    put(&output.with_file_name(RESULT), result_json.as_bytes())?;
    put(&output.with_file_name("verify.py"), VERIFY_PY.as_bytes())?;
    // Over that of an earlier certificate.
    let path = output.with_file_name(LOG);
    fs::write(&path, &log).map_err(Failure::from_io(&path, "writing"))?;
    let erased = contacts.iter().filter_map(|one| rows.erasure(one.row));
    Ok(erased.collect())
}

pub(crate) fn write_sheet(
    tables: &Tables,
    draw: &Draw,
    campaign: &Campaign,
    output: &Path,
) -> Result<()> {
    create(output, &sheet(tables, draw, campaign)?)
}

pub(crate) fn erasure_words(Erasure { row, audit_row }: &Erasure) -> String {
    match audit_row {
        Some(number) => {
            format!("The entrant of row {row} was erased: see row {number} of the audit log.")
        }
        None => format!(
            "The entrant of row {row} counts as erased, but NO row of the audit log is about that: ask the administrator of the \
             stack who wrote the file."
        ),
    }
}

/// The page that an inspector signs.
pub fn sheet(tables: &Tables, draw: &Draw, campaign: &Campaign) -> Result<String> {
    chain::of_draw(tables, draw)?;
    let header = super::header(draw)?;
    let digest = |text: &str| text.parse().map_err(unreadable(draw));
    if draw::commitment(draw.header.as_bytes(), digest(&draw.root)?) != digest(&draw.commitment)? {
        return Err(log_differs(
            draw,
            &"header and root do not lead to the commitment",
        ));
    }
    let round_address = chain::public_address(&header);
    let sheet = Sheet {
        campaign: &campaign.name,
        brand: &campaign.brand,
        header: &header,
        header_json: &draw.header,
        root: digest(&draw.root)?,
        commitment: digest(&draw.commitment)?,
        frozen_at: local(draw.frozen_at, campaign.timezone),
        round_at: local(draw.round_at, campaign.timezone),
        beacon: &chain::described(&draw.chain),
        round_address: round_address.as_deref(),
        largest_rows: &draw.largest_rows,
        given_by_hand: draw.given_by_hand,
    };
    Ok(sheet.html())
}

fn local(at: Timestamp, zone: Tz) -> DateTime<FixedOffset> {
    at.in_zone(zone).fixed_offset()
}

/// Publishes a reference with the opening that proves it.
fn published(contact: &Contact, opening: Option<Opening>, zone: Tz) -> LoggedPlace {
    let reference = contact.reference.as_ref().filter(|_| opening.is_some());
    LoggedPlace {
        tier: contact.prize.clone(),
        place: NonZeroU64::new(contact.place).unwrap_or(NonZeroU64::MAX),
        row: contact.row,
        reference: reference.map(ToString::to_string),
        region: contact.region.as_deref().and_then(publishable),
        phone: contact.masked_phone.clone(),
        opening,
        steps: contact
            .steps
            .iter()
            .map(|step| published_step(step, zone))
            .collect(),
    }
}

fn published_step(step: &ContactStep, zone: Tz) -> Step {
    let (is, reason, inspector) = match &step.event {
        ContactEvent::Drawn => (Event::Drawn, None, None),
        ContactEvent::NoAnswer => (Event::NoAnswer, None, None),
        ContactEvent::Reached => (Event::Reached, None, None),
        ContactEvent::Identified => (Event::Identified, None, None),
        ContactEvent::HandedOver => (Event::HandedOver, None, None),
        ContactEvent::Skipped { reason, inspector } => (
            Event::Skipped,
            Some(reason.as_str().to_owned()),
            inspector.as_deref().and_then(publishable),
        ),
    };
    Step {
        at: local(step.at, zone),
        is,
        reason,
        inspector,
    }
}

/// A skip that was interrupted leaves a prize without a winner.
fn check_all_drawn(draw: &Draw, header: &Header, contacts: &[Contact]) -> Result<()> {
    let is_skipped = |prize: &str| {
        let mut last = contacts
            .iter()
            .filter(|contact| contact.prize == prize && !contact.holds_prize())
            .filter_map(|contact| contact.steps.last());
        last.any(|step| step.by.is_some())
    };
    let short = interrupted_skip(header, contacts);
    let Some(Contact { prize, .. }) = short.filter(|short| is_skipped(&short.prize)) else {
        return Ok(());
    };
    bail!(
        "winner_missing",
        "a prize {prize} of the draw {} has no winner, because a skip was interrupted; run `ops draw skip` for that winner \
         again, which draws the next one",
        draw.name
    )
}

pub(super) fn log_differs(draw: &Draw, difference: &dyn Display) -> Failure {
    failure!(
        "draw_log_differs",
        "the log of the draw {} is not one that its verifiers accept: {difference}; nothing was written. The table of draws \
         was changed without `ops`: keep it, and ask the administrator of the stack who changed it",
        draw.name
    )
}

fn create(path: &Path, page: &str) -> Result<()> {
    match write_new(path, page.as_bytes())? {
        true => Ok(()),
        false => Err(taken(path, "exists already")),
    }
}

/// Writes a published file. One that is there has to be the same.
pub(crate) fn put(path: &Path, mut content: impl Read) -> Result<()> {
    let failed = Failure::from_io(path, "reading");
    if write_new(path, &mut content)? || holds(path, content).map_err(failed)? {
        return Ok(());
    }
    Err(taken(path, "is of another draw"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is full"))
        }
    }

    #[test]
    fn file_that_cannot_be_finished_is_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("entries.csv");
        let half = b"row,tickets".chain(Broken);
        put(&path, half).expect_err("the disk is full");
        assert!(!path.exists());
        put(&path, &b"row,tickets\n"[..]).expect("there is no other file");
    }
}
