//! The sheet that an inspector signs before the round.

use std::collections::BTreeMap;

use chrono::{DateTime, FixedOffset};

use crate::digest::Digest;
use crate::header::Header;
use crate::page::{content_security_digest, escaped, fill};

const PAGE: &str = include_str!("../certificate/sheet.html");
const STYLE: &str = include_str!("../certificate/sheet.css");

#[derive(Clone, Debug)]
pub struct Sheet<'a> {
    pub campaign: &'a str,
    pub brand: &'a str,
    pub header: &'a Header,
    /// The exact bytes of `header.json`.
    pub header_json: &'a str,
    pub root: Digest,
    pub commitment: Digest,
    pub frozen_at: DateTime<FixedOffset>,
    pub round_at: DateTime<FixedOffset>,
    pub beacon: &'a str,
    pub round_address: Option<&'a str>,
    /// Their entries, largest first.
    pub largest_rows: &'a [u64],
    pub given_by_hand: u64,
}

impl Sheet<'_> {
    pub fn html(&self) -> String {
        let Header {
            period,
            left_out,
            overlapping,
            ..
        } = self.header;
        let overlapping: Vec<_> = overlapping
            .iter()
            .map(|other| other.draw.as_str())
            .collect();
        let not_yet = match self.round_address {
            Some(address) => format!("I opened {address} before I signed, and the round was not there yet."),
            None => "REHEARSAL: this is not the public beacon. The holder of this chain's key knows the winners in advance."
                .to_owned(),
        };
        let texts = [
            ("campaign", self.campaign),
            ("brand", self.brand),
            ("slug", &self.header.campaign),
            ("draw", &self.header.draw),
            ("from", &in_words(period.from)),
            ("to", &in_words(period.to)),
            ("rows", &self.header.rows.to_string()),
            ("total", &self.header.total.to_string()),
            ("overlapping", or_none(&overlapping.join(", "))),
            ("days", &by_day(&self.header.days)),
            ("blocked", &by_day(&left_out.blocked)),
            ("without-phone", &by_day(&left_out.without_phone)),
            ("prizes", &self.header.prizes_in_words()),
            (
                "several",
                if self.header.one_prize_per_row {
                    "no"
                } else {
                    "yes"
                },
            ),
            ("frozen-at", &in_words(self.frozen_at)),
            ("round", &self.header.round.to_string()),
            ("round-day", &self.round_at.format("%-d %B %Y").to_string()),
            ("round-at", &in_words(self.round_at)),
            ("beacon", self.beacon),
            ("not-yet", &not_yet),
            (
                "largest",
                &self
                    .largest_rows
                    .iter()
                    .map(u64::to_string)
                    .collect::<Vec<_>>()
                    .join(", "),
            ),
            ("by-hand", &self.given_by_hand.to_string()),
            ("commitment", &self.commitment.in_groups()),
            ("header", self.header_json),
            ("root", &self.root.to_string()),
        ]
        .map(|(name, text)| (name, escaped(text)));
        let digest = content_security_digest(STYLE);
        let mut parts = vec![("style", STYLE), ("style-digest", &digest)];
        parts.extend(texts.iter().map(|(name, text)| (*name, text.as_str())));
        fill(PAGE, &parts)
    }
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

fn by_day(days: &BTreeMap<String, u64>) -> String {
    let days = days
        .iter()
        .map(|(day, entries)| format!("{day}: {entries}"));
    or_none(&days.collect::<Vec<_>>().join("; ")).to_owned()
}

fn in_words(time: DateTime<FixedOffset>) -> String {
    time.format("%-d %B %Y, %H:%M:%S (%:z)").to_string()
}
