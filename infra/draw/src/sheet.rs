//! The sheet that an inspector signs: one page to print before the round.

use std::collections::BTreeMap;
use std::io::{self, Write};

use chrono::{DateTime, FixedOffset};

use crate::digest::Digest;
use crate::header::Header;
use crate::page::{content_security_digest, escaped, fill};

const PAGE: &str = include_str!("../certificate/sheet.html");
const STYLE: &str = include_str!("../certificate/sheet.css");

/// What a sheet says.
#[derive(Clone, Debug)]
pub struct Sheet<'a> {
    /// The campaign's name for people.
    pub campaign: &'a str,
    /// The brand's name for people.
    pub brand: &'a str,
    pub header: &'a Header,
    /// The exact bytes of `header.json`.
    pub header_json: &'a str,
    pub root: Digest,
    pub commitment: Digest,
    pub frozen_at: DateTime<FixedOffset>,
    pub round_at: DateTime<FixedOffset>,
    /// The beacon in words, such as a chain's name and hash.
    pub beacon: &'a str,
    /// The page where the public beacon shows the round; `None` for another chain.
    pub round_address: Option<&'a str>,
    /// `None` if nothing was recorded of them.
    pub figures: Option<Figures>,
}

/// Figures of the entries that an inspector may ask about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Entries of the largest rows, largest first.
    pub largest_rows: Vec<u64>,
    /// Entries that people gave, not the service.
    pub given_by_hand: u64,
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
                "figures" => self
                    .figures
                    .as_ref()
                    .map(Figures::as_html)
                    .unwrap_or_default(),
                name => escaped(&self.text(name)?),
            };
            out.write_all(text.as_bytes())
        })
    }

    fn text(&self, name: &str) -> io::Result<String> {
        let Self {
            header,
            header_json,
            root,
            commitment,
            ..
        } = self;
        Ok(match name {
            "campaign" => self.campaign.to_owned(),
            "brand" => self.brand.to_owned(),
            "slug" => header.campaign.clone(),
            "draw" => header.draw.clone(),
            "from" => in_words(header.period.from),
            "to" => in_words(header.period.to),
            "rows" => header.rows.to_string(),
            "total" => header.total.to_string(),
            "overlapping" => match header.overlapping.as_slice() {
                [] => "none".to_owned(),
                others => others.iter().map(|other| other.draw.as_str()).collect::<Vec<_>>().join(", "),
            },
            "days" => by_day(&header.days),
            "blocked" => by_day(&header.left_out.blocked),
            "without-phone" => by_day(&header.left_out.without_phone),
            "prizes" => header.prizes_in_words(),
            "several" => if header.one_prize_per_row { "no" } else { "yes" }.to_owned(),
            "frozen-at" => in_words(self.frozen_at),
            "round" => header.round.to_string(),
            "round-day" => self.round_at.format("%-d %B %Y").to_string(),
            "round-at" => in_words(self.round_at),
            "beacon" => self.beacon.to_owned(),
            "not-yet" => match self.round_address {
                Some(address) => format!("I opened {address} before I signed, and the round was not there yet."),
                None => "REHEARSAL: this is not the public beacon. The holder of this chain's key knows the winners in advance."
                    .to_owned(),
            },
            "commitment" => commitment.in_groups(),
            "header" => (*header_json).to_owned(),
            "root" => root.to_string(),
            other => return Err(io::Error::other(format!("the sheet has no part {other}"))),
        })
    }
}

impl Figures {
    fn as_html(&self) -> String {
        let largest: Vec<_> = self.largest_rows.iter().map(u64::to_string).collect();
        format!(
            "<dt>Entries of the largest rows</dt><dd>{}</dd>\n<dt>Entries given by hand</dt><dd>{}</dd>",
            largest.join(", "),
            self.given_by_hand
        )
    }
}

fn by_day(days: &BTreeMap<String, u64>) -> String {
    if days.is_empty() {
        return "none".to_owned();
    }
    days.iter()
        .map(|(day, entries)| format!("{day}: {entries}"))
        .collect::<Vec<_>>()
        .join("; ")
}

fn in_words(time: DateTime<FixedOffset>) -> String {
    time.format("%-d %B %Y, %H:%M:%S (%:z)").to_string()
}
