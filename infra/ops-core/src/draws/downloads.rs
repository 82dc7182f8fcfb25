//! Files of a draw for the console, in one ZIP file each.

use std::io::{Cursor, Read};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::certificate;
use super::files::temporary;
use super::prelude::*;
use crate::person_file::{dated, failed};

const CERTIFICATE: &str = "certificate.html";

/// Files that the freeze has published, verified.
pub async fn evidence(
    tables: &Tables,
    scope: &Scope,
    draw: &Draw,
    now: Timestamp,
) -> Result<Vec<u8>> {
    let files = DrawFiles::new(tables, scope, draw)?;
    files.committed(draw).await?;
    let mut zip = Zip::begin(now);
    zip.add(ENTRIES, files.read(ENTRIES).await?)?;
    zip.add(HEADER, draw.header.as_bytes())?;
    zip.add(COMMITMENT, draw.commitment.as_bytes())?;
    zip.finish()
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
    let mut zip = Zip::begin(now);
    for name in std::iter::once(CERTIFICATE).chain(certificate::BESIDE) {
        zip.add(
            name,
            File::open(folder.path().join(name)).map_err(temporary)?,
        )?;
    }
    let words = erasures.iter().map(certificate::erasure_words);
    Ok((zip.finish()?, words.collect()))
}

struct Zip {
    zip: ZipWriter<Cursor<Vec<u8>>>,
    options: SimpleFileOptions,
}

impl Zip {
    fn begin(now: Timestamp) -> Self {
        let options = SimpleFileOptions::default();
        let options = options.compression_method(zip::CompressionMethod::Stored);
        Self {
            zip: ZipWriter::new(Cursor::default()),
            options: options.last_modified_time(dated(now)),
        }
    }

    fn add(&mut self, name: &str, mut content: impl Read) -> Result<()> {
        let begun = self.zip.start_file(name, self.options);
        let begun = begun.map_err(|error| failed(error.into()));
        begun.and_then(|()| {
            io::copy(&mut content, &mut self.zip)
                .map(drop)
                .map_err(failed)
        })
    }

    fn finish(self) -> Result<Vec<u8>> {
        let written = self.zip.finish().map(Cursor::into_inner);
        written.map_err(|error| failed(error.into()))
    }
}
