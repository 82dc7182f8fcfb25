//! The sheet that an inspector signs: one page to print before the round.

use std::io::{self, Write};

use chrono::{DateTime, FixedOffset};

use crate::digest::Digest;
use crate::header::Header;
use crate::page::{content_security_digest, fill};

const PAGE: &str = include_str!("../certificate/sheet.html");
const STYLE: &str = include_str!("../certificate/sheet.css");

/// What a sheet says.
#[derive(Clone, Debug)]
pub struct Sheet<'a> {
    pub header: &'a Header,
    /// The exact bytes of `header.json`.
    pub header_json: &'a str,
    pub root: Digest,
    pub commitment: Digest,
    pub frozen_at: DateTime<FixedOffset>,
    pub round_at: DateTime<FixedOffset>,
    /// The beacon in words, such as a chain's name and hash.
    pub beacon: &'a str,
}

impl Sheet<'_> {
    /// Writes the page.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_html(&self, out: &mut impl Write) -> io::Result<()> {
        fill(PAGE, out, |name, out| {
            let text = match name {
                "style" => STYLE.to_owned(),
                "style-digest" => content_security_digest(STYLE),
                name => escaped(&self.text(name)?),
            };
            out.write_all(text.as_bytes())
        })
    }

    fn text(&self, name: &str) -> io::Result<String> {
        let Self { header, header_json, root, commitment, frozen_at, round_at, beacon } = self;
        Ok(match name {
            "campaign" => header.campaign.clone(),
            "draw" => header.draw.clone(),
            "from" => header.period.from.to_string(),
            "to" => header.period.to.to_string(),
            "rows" => header.rows.to_string(),
            "total" => header.total.to_string(),
            "overlapping" => match header.overlapping.as_slice() {
                [] => "none".to_owned(),
                others => others.iter().map(|other| other.draw.as_str()).collect::<Vec<_>>().join(", "),
            },
            "days" => {
                let days = header.days.iter().map(|(day, entries)| format!("{day}: {entries}"));
                days.collect::<Vec<_>>().join("; ")
            }
            "prizes" => header.prizes_in_words(),
            "several" => if header.one_prize_per_row { "no" } else { "yes" }.to_owned(),
            "frozen-at" => frozen_at.format("%Y-%m-%d %H:%M:%S %:z").to_string(),
            "round" => header.round.to_string(),
            "round-at" => round_at.format("%Y-%m-%d %H:%M:%S %:z").to_string(),
            "beacon" => (*beacon).to_owned(),
            "commitment" => commitment.in_groups(),
            "header" => (*header_json).to_owned(),
            "root" => root.to_string(),
            other => return Err(io::Error::other(format!("the sheet has no part {other}"))),
        })
    }
}

/// Text that is never markup.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
