//! ZIP files for people and brands.

use std::io::{Read, Seek};

use chrono::{Datelike, Timelike};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::prelude::*;

pub(crate) struct ZipFile<W: Write + Seek> {
    zip: ZipWriter<W>,
    options: SimpleFileOptions,
}

impl<W: Write + Seek> ZipFile<W> {
    pub(crate) fn begin(out: W, now: Timestamp) -> Self {
        // Photos do not shrink, and the rest is small.
        let options =
            SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        Self {
            zip: ZipWriter::new(out),
            options: options.last_modified_time(dated(now)),
        }
    }

    pub(crate) fn add(&mut self, name: &str, mut content: impl Read) -> Result<()> {
        let begun = self.zip.start_file(name, self.options);
        begun
            .map_err(io::Error::from)
            .and_then(|()| io::copy(&mut content, &mut self.zip))
            .map(drop)
            .map_err(failed)
    }

    pub(crate) fn finish(self) -> Result<W> {
        self.zip.finish().map_err(|error| failed(error.into()))
    }
}

/// The country's local time; a ZIP has no zones.
fn dated(now: Timestamp) -> zip::DateTime {
    let at = now.in_zone(Tz::Africa__Dar_es_Salaam);
    let part = |number: u32| u8::try_from(number).unwrap_or_default();
    let year = u16::try_from(at.year()).unwrap_or_default();
    let [month, day, hour, minute, second] =
        [at.month(), at.day(), at.hour(), at.minute(), at.second()].map(part);
    zip::DateTime::from_date_and_time(year, month, day, hour, minute, second).unwrap_or_default()
}

pub(crate) fn failed(error: io::Error) -> Failure {
    failure!(
        "file_failed",
        "writing the ZIP file failed: {error}; make room on the disk, then run this again"
    )
}
