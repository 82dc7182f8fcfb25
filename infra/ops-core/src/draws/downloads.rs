//! Files of a draw for the console, in one ZIP file each.

use std::io::Cursor;

use super::certificate;
use super::files::temporary;
use super::prelude::*;
use crate::zip_file::ZipFile;

const CERTIFICATE: &str = "certificate.html";

pub async fn evidence(
    tables: &Tables,
    scope: &Scope,
    draw: &Draw,
    now: Timestamp,
) -> Result<Vec<u8>> {
    let files = DrawFiles::new(tables, scope, draw)?;
    files.committed(draw).await?;
    let mut zip = ZipFile::begin(Cursor::default(), now);
    zip.add(ENTRIES, files.read(ENTRIES).await?)?;
    zip.add(HEADER, draw.header.as_bytes())?;
    zip.add(COMMITMENT, draw.commitment.as_bytes())?;
    Ok(zip.finish()?.into_inner())
}

/// The certificate with the files beside it, and what an operator has to know of erased entrants.
pub async fn certificate(
    tables: &Tables,
    scope: &Scope,
    campaign: &Campaign,
    draw: &Draw,
    now: Timestamp,
) -> Result<(Vec<u8>, Vec<String>)> {
    let folder = tempfile::tempdir().map_err(temporary)?;
    let page = folder.path().join(CERTIFICATE);
    let erasures = certificate::write(tables, scope, campaign, draw, &page).await?;
    let mut zip = ZipFile::begin(Cursor::default(), now);
    for name in std::iter::once(CERTIFICATE).chain(certificate::BESIDE) {
        zip.add(
            name,
            File::open(folder.path().join(name)).map_err(temporary)?,
        )?;
    }
    let words = erasures.iter().map(certificate::erasure_words);
    Ok((zip.finish()?.into_inner(), words.collect()))
}
