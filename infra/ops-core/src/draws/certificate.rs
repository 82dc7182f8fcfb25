//! The certificate of a draw with the files to publish beside it, and the sheet that an inspector signs before the draw.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufWriter, Read, Seek};
use std::path::Path;

use chrono::{DateTime, FixedOffset};
use chrono_tz::Tz;
use common::config::Env;
use common::domain::draw::contact::{Contact, ContactEvent};
use common::domain::draw::{Draw, DrawOutcome};
use common::domain::scope::Scope;
use common::domain::timestamp::Timestamp;
use draw::{Certificate, Committed, Evidence, MAX_EMBEDDED_ROWS, Sheet, Times, VERIFY_PY};

use super::contacts::read_result;
use super::files::{COMMITMENT, DrawFiles, ENTRIES, HEADER, RESULT, holds};
use super::run::unreadable;
use super::{chain, openings};
use crate::failure::Failure;
use crate::tables::Tables;

const VERIFY: &str = "verify.py";

/// Writes the certificate of a drawn draw, and the published files beside it. Returns their names.
pub(crate) async fn write(
    tables: &Tables,
    env: &Env,
    scope: &Scope,
    draw: &Draw,
    zone: Tz,
    output: &Path,
) -> Result<Vec<&'static str>, Failure> {
    let (Some(outcome), Some(published_at)) = (&draw.outcome, draw.published_at) else {
        let message =
            format!("the draw {} has no winners yet; draw them first with `ops draw run`", draw.name);
        return Err(Failure::new("draw_not_run", message));
    };
    let contacts = tables.draws.contacts(scope, &draw.name).await?;
    let files = DrawFiles::new(tables, env, scope, &draw.name, &draw.commitment)?;
    let (mut entries, mut opened) = (files.read(ENTRIES).await?, files.read_openings().await?.0);
    let evidence = Evidence {
        entries: &mut entries,
        header: draw.header.as_bytes(),
        commitment: &draw.commitment,
        openings: Some(&mut opened),
    };
    let differs = |difference| unreadable(draw, &difference);
    let committed = Committed::read(evidence).map_err(differs)?;
    let (result, _) = read_result(&committed, &files, draw).await?;
    // The log of many skips reaches further than `result.json`, which never changes.
    let more = contacts.iter().filter_map(|contact| {
        let tier = result.tiers.iter().find(|tier| tier.name == contact.prize)?;
        contact.place.checked_sub(u64::try_from(tier.order.len()).ok()?)
    });
    let result = committed.with_more_places(&result, more.max().unwrap_or(0));
    let rows: HashSet<_> = contacts.iter().map(|contact| contact.row).collect();
    opened.rewind().map_err(|error| super::files::temporary(&error))?;
    let openings = openings::of_rows(opened, &rows)?;
    let contacts: Vec<_> = contacts
        .iter()
        .map(|contact| {
            let opening = openings.get(&contact.row).cloned().filter(|_| contact.reference.is_some());
            published(contact, opening)
        })
        .collect();
    let times = times(draw, outcome, published_at, zone);
    let certificate = Certificate { committed: &committed, result: &result, times, contacts: &contacts };
    let mut out = create(output)?;
    let is_embedded = committed.header().rows.get() <= MAX_EMBEDDED_ROWS;
    entries.rewind().map_err(|error| super::files::temporary(&error))?;
    let embedded: Option<&mut dyn BufRead> = if is_embedded { Some(&mut entries) } else { None };
    let written = certificate.write_html(embedded, &mut out).and_then(|()| out.get_ref().sync_all());
    written.map_err(|error| Failure::from_io(output, "writing", &error))?;
    for name in [ENTRIES, HEADER, COMMITMENT, RESULT] {
        put(&output.with_file_name(name), files.read(name).await?)?;
    }
    put(&output.with_file_name(VERIFY), VERIFY_PY.as_bytes())?;
    Ok(vec![ENTRIES, HEADER, COMMITMENT, RESULT, VERIFY])
}

/// Writes the sheet of a frozen draw.
pub(crate) fn write_sheet(draw: &Draw, zone: Tz, output: &Path) -> Result<(), Failure> {
    let header = super::header(draw)?;
    let digest = |text: &str| text.parse().map_err(|error: draw::NotADigest| unreadable(draw, &error));
    let sheet = Sheet {
        header: &header,
        header_json: &draw.header,
        root: digest(&draw.root)?,
        commitment: digest(&draw.commitment)?,
        frozen_at: local(draw.frozen_at, zone),
        round_at: local(draw.round_at, zone),
        beacon: &chain::described(&draw.chain),
    };
    let mut out = create(output)?;
    let written = sheet.write_html(&mut out).and_then(|()| out.get_ref().sync_all());
    written.map_err(|error| Failure::from_io(output, "writing", &error))
}

fn times(draw: &Draw, outcome: &DrawOutcome, published_at: Timestamp, zone: Tz) -> Times {
    let [frozen_at, published_at, round_at, drawn_at] =
        [draw.frozen_at, published_at, draw.round_at, outcome.drawn_at].map(|at| local(at, zone));
    Times { frozen_at, published_at, round_at, drawn_at }
}

fn local(at: Timestamp, zone: Tz) -> DateTime<FixedOffset> {
    DateTime::from(at).with_timezone(&zone).fixed_offset()
}

/// A contact as it is published.
fn published(contact: &Contact, opening: Option<draw::Opening>) -> draw::Contact {
    let state = contact.state();
    let skipped_by = contact.steps.last().and_then(|step| match &step.event {
        ContactEvent::Skipped { inspector, .. } => {
            Some(inspector.as_deref().unwrap_or("the rules of the draw"))
        }
        _ => None,
    });
    let happened = skipped_by.map_or_else(|| state.to_string(), |by| format!("{state} ({by})"));
    let erased = || draw::ERASED.to_owned();
    // Without its opening, nothing proves a reference.
    let reference = contact.reference.as_ref().filter(|_| opening.is_some());
    draw::Contact {
        tier: contact.prize.clone(),
        place: contact.place,
        row: contact.row,
        reference: reference.map_or_else(erased, ToString::to_string),
        region: contact.region.clone(),
        phone: contact.masked_phone.clone().unwrap_or_else(erased),
        opening,
        happened,
        is_skipped: skipped_by.is_some(),
    }
}

fn create(path: &Path) -> Result<BufWriter<File>, Failure> {
    let file = File::options().write(true).create_new(true).open(path);
    file.map(BufWriter::new).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            let message = format!("{} exists already; choose another --output", path.display());
            Failure::new("file_exists", message)
        }
        _ => Failure::from_io(path, "creating", &error),
    })
}

/// Writes a published file. One that is there has to be the same.
pub(crate) fn put(path: &Path, mut content: impl Read) -> Result<(), Failure> {
    let failed = |doing: &'static str| move |error| Failure::from_io(path, doing, &error);
    match File::options().write(true).create_new(true).open(path) {
        Ok(mut file) => {
            io::copy(&mut content, &mut file).and_then(|_| file.sync_all()).map_err(failed("writing"))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if holds(path, content).map_err(failed("reading"))? {
                return Ok(());
            }
            let message = format!("{} is of another draw; choose another --output", path.display());
            Err(Failure::new("file_exists", message))
        }
        Err(error) => Err(failed("creating")(error)),
    }
}
