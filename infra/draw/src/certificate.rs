//! The certificate: one page without outside requests that computes a draw again in its reader's browser.

use std::io::{self, BufRead, Write};

use chrono::{DateTime, FixedOffset};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::digest::Digest;
use crate::evidence::Committed;
use crate::opening::Opening;
use crate::page::{content_security_digest, fill};
use crate::result::DrawResult;

/// Up to here a certificate should carry the list of entries: 16 MB, which a phone still opens. Above, its reader chooses
/// the published file.
pub const MAX_EMBEDDED_ROWS: u64 = 200_000;

/// Stands for the reference and the phone of an erased person.
pub const ERASED: &str = "erased";

const PAGE: &str = include_str!("../certificate/page.html");
const STYLE: &str = include_str!("../certificate/page.css");
const SCRIPT: &str = include_str!("../certificate/page.js");

/// What a certificate says.
#[derive(Clone, Copy, Debug)]
pub struct Certificate<'a> {
    pub committed: &'a Committed,
    pub result: &'a DrawResult,
    pub times: Times,
    /// The contact log: for each tier, the places from 1 without a gap.
    pub contacts: &'a [Contact],
}

/// When a draw took its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// The commitment was recorded.
    pub frozen_at: DateTime<FixedOffset>,
    /// The files were public. Unless this is before `round_at`, the page says that the draw does not hold.
    pub published_at: DateTime<FixedOffset>,
    /// The beacon gave the round.
    pub round_at: DateTime<FixedOffset>,
    /// The order was computed and recorded.
    pub drawn_at: DateTime<FixedOffset>,
}

/// A winner: a place in a tier's order that was reached.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Contact {
    pub tier: String,
    /// Counted from 1.
    pub place: u64,
    pub row: u64,
    /// The reference that is published for this row; [`ERASED`] without an opening, which proves it.
    pub reference: String,
    pub region: Option<String>,
    /// Masked by the caller; printed as it is.
    pub phone: String,
    /// Shows that the reference belongs to the row. It tells all references of the entrant.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub opening: Option<Opening>,
    /// The state of the contact in words.
    pub happened: String,
    pub is_skipped: bool,
}

/// What the page's script reads.
#[derive(Serialize)]
struct PageData<'a> {
    header: &'a str,
    root: Digest,
    commitment: Digest,
    #[serde(flatten)]
    times: Times,
    result: &'a DrawResult,
    contacts: &'a [Contact],
}

impl Certificate<'_> {
    /// Writes the page. `entries` is `entries.csv`; without it, the page's reader chooses the file.
    ///
    /// # Errors
    /// When something cannot be read or written.
    pub fn write_html(&self, mut entries: Option<&mut dyn BufRead>, out: &mut impl Write) -> io::Result<()> {
        fill(PAGE, out, |name, out| self.write_part(name, &mut entries, out))
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
        let Self { committed, result, times, contacts } = *self;
        let header = committed.header_json();
        let (root, commitment) = (committed.root(), committed.commitment());
        let data = PageData { header, root, commitment, times, result, contacts };
        Ok(serde_json::to_string(&data).map_err(io::Error::other)?.replace('<', "\\u003c"))
    }
}

fn as_text<S: Serializer>(opening: &Option<Opening>, serializer: S) -> Result<S::Ok, S::Error> {
    opening.as_ref().map(Opening::to_string).serialize(serializer)
}

fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Opening>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| text.parse().map_err(serde::de::Error::custom)).transpose()
}
