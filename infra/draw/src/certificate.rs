//! The certificate: one page without outside requests that computes a draw again in its reader's browser.

use std::io::{self, BufRead, Write};

use serde::Serialize;

use crate::page::{content_security_digest, escaped, fill};

/// Up to here a certificate should carry the list of entries: 16 MB, which a phone still opens. Above, its reader chooses
/// the published file.
pub const MAX_EMBEDDED_ROWS: u64 = 200_000;

const PAGE: &str = include_str!("../certificate/page.html");
const STYLE: &str = include_str!("../certificate/page.css");
const SCRIPT: &str = concat!(
    include_str!("../certificate/verify.js"),
    include_str!("../certificate/page.js")
);

/// The published files, and what the page says around them. The page holds the files as they are, and verifies them.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Certificate<'a> {
    /// The campaign's name for people. Not part of the proof, like the brand.
    pub campaign: &'a str,
    /// The brand's name for people.
    pub brand: &'a str,
    /// `header.json`
    pub header: &'a str,
    /// `commitment.txt`
    pub commitment: &'a str,
    /// `result.json`
    pub result: &'a str,
    /// `log.json`
    pub log: &'a str,
    /// The times of a chain other than drand's quicknet, whose times the page knows.
    pub chain: Option<ChainTimes>,
}

/// The times of a chain's rounds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ChainTimes {
    /// Time of the first round, in seconds since 1970.
    pub genesis_time: i64,
    /// Seconds between two rounds.
    pub period: u32,
}

impl Certificate<'_> {
    /// Writes the page. `entries` is `entries.csv`; without it, the page's reader chooses the file.
    ///
    /// # Errors
    /// When something cannot be read or written.
    pub fn write_html(
        &self,
        mut entries: Option<&mut dyn BufRead>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        fill(PAGE, out, |name, out| {
            self.write_part(name, &mut entries, out)
        })
    }

    fn write_part(
        &self,
        name: &str,
        entries: &mut Option<&mut dyn BufRead>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        match name {
            "script" => out.write_all(SCRIPT.as_bytes()),
            "style" => out.write_all(STYLE.as_bytes()),
            "script-digest" => out.write_all(content_security_digest(SCRIPT).as_bytes()),
            "style-digest" => out.write_all(content_security_digest(STYLE).as_bytes()),
            "campaign" => out.write_all(escaped(self.campaign).as_bytes()),
            "brand" => out.write_all(escaped(self.brand).as_bytes()),
            "draw" => out.write_all(self.page_data()?.as_bytes()),
            "entries" => match entries {
                Some(entries) => io::copy(entries, out).map(drop),
                None => Ok(()),
            },
            other => Err(io::Error::other(format!("the page has no part {other}"))),
        }
    }

    /// JSON that does not end the script element that it is in.
    fn page_data(&self) -> io::Result<String> {
        Ok(serde_json::to_string(self)
            .map_err(io::Error::other)?
            .replace('<', "\\u003c"))
    }
}
