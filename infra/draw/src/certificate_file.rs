//! Reads a certificate back: its data, and whether the page around them is the one that this program writes.

use std::io::{BufRead, BufReader};

use serde::Deserialize;

use crate::certificate::{Certificate, Contact, ERASED, Times};
use crate::difference::Difference;
use crate::digest::Digest;
use crate::evidence::{Committed, Evidence};
use crate::freeze::OPENINGS_HEADER;
use crate::opening::Opening;
use crate::result::DrawResult;

/// A certificate as it was found.
pub struct CertificateFile {
    page: String,
    data: EmbeddedData,
    /// Empty when the page's reader chooses the file.
    entries: String,
}

#[derive(Deserialize)]
struct EmbeddedData {
    header: String,
    root: Digest,
    commitment: Digest,
    #[serde(flatten)]
    times: Times,
    result: serde_json::Value,
    contacts: Vec<Contact>,
}

impl CertificateFile {
    /// # Errors
    /// When the page is not a certificate.
    pub fn parse(page: String) -> Result<Self, Difference> {
        let data = part(&page, r#"<script type="application/json" id="draw">"#);
        let data = data.ok_or(Difference::NoCertificate { part: "data of a draw" })?;
        let data = serde_json::from_str(data).map_err(Difference::UnreadableCertificate)?;
        let entries = part(&page, r#"<script type="text/plain" id="entries">"#);
        let entries = entries.ok_or(Difference::NoCertificate { part: "list of entries" })?.to_owned();
        Ok(Self { page, data, entries })
    }

    /// The list of entries, if the page holds it.
    pub fn entries(&self) -> Option<&str> {
        Some(self.entries.as_str()).filter(|entries| !entries.is_empty())
    }

    pub fn times(&self) -> Times {
        self.data.times
    }

    /// Computes the draw again, and compares what the page says of it. `entries` is [`Self::entries`], or the published
    /// `entries.csv`. The caller verifies the result's signature: the `beacon` crate does.
    ///
    /// # Errors
    /// The first difference.
    pub fn check(&self, entries: &mut dyn BufRead) -> Result<(Committed, DrawResult), Difference> {
        let EmbeddedData { header, root, commitment, times, result, contacts } = &self.data;
        let openings = openings_csv(contacts);
        let committed = Committed::read(Evidence {
            entries,
            header: header.as_bytes(),
            commitment: &commitment.to_string(),
            openings: Some(&mut openings.as_bytes()),
        })?;
        if committed.root() != *root {
            return Err(Difference::Root { published: *root, computed: committed.root() });
        }
        let result = committed.read_result(result.to_string().as_bytes())?;
        if times.published_at >= times.round_at {
            let [published_at, round_at] = [times.published_at, times.round_at].map(|time| time.to_rfc3339());
            return Err(Difference::LateCommitment { published_at, round_at });
        }
        check_contacts(&result, contacts)?;
        let certificate = Certificate { committed: &committed, result: &result, times: *times, contacts };
        self.check_page(&certificate)?;
        Ok((committed, result))
    }

    fn check_page(&self, certificate: &Certificate<'_>) -> Result<(), Difference> {
        let (mut written, mut entries) = (Vec::new(), self.entries().map(str::as_bytes));
        let entries = entries.as_mut().map(|entries| -> &mut dyn BufRead { entries });
        certificate.write_html(entries, &mut written)?;
        if written == self.page.as_bytes() {
            return Ok(());
        }
        let lines = |page| BufReader::new(page).split(b'\n').map_while(Result::ok);
        let same = lines(written.as_slice())
            .zip(lines(self.page.as_bytes()))
            .take_while(|(one, other)| one == other);
        let same = u64::try_from(same.count()).unwrap_or(u64::MAX);
        Err(Difference::Page { line: same.saturating_add(1) })
    }
}

/// The text of an element. The page's own script takes the first one, too.
fn part<'a>(page: &'a str, start: &str) -> Option<&'a str> {
    let (_, rest) = page.split_once(start)?;
    rest.split_once("</script>").map(|(text, _)| text)
}

/// What the contacts' openings are as `openings.csv`.
fn openings_csv(contacts: &[Contact]) -> String {
    let opened = |contact: &Contact| Some((contact.row, contact.opening.as_ref().map(Opening::csv_fields)?));
    let mut rows: Vec<_> = contacts.iter().filter_map(opened).collect();
    rows.sort_unstable();
    rows.dedup();
    let lines = rows.into_iter().map(|(row, fields)| format!("{row},{fields}\n"));
    std::iter::once(format!("{OPENINGS_HEADER}\n")).chain(lines).collect()
}

fn check_reference(contact: &Contact) -> Result<(), Difference> {
    let Contact { tier, place, reference, opening, .. } = contact;
    let is_proven = match opening {
        Some(opening) => opening.references().contains(reference),
        None => reference == ERASED,
    };
    if is_proven {
        return Ok(());
    }
    Err(Difference::ContactReference { tier: tier.clone(), place: *place, reference: reference.clone() })
}

/// Each contact in the log has the row that was drawn, no place is missing, and the next place is drawn only after a skip.
fn check_contacts(result: &DrawResult, contacts: &[Contact]) -> Result<(), Difference> {
    for contact in contacts {
        if !result.tiers.iter().any(|tier| tier.name == contact.tier) {
            return Err(Difference::UnknownPrize { tier: contact.tier.clone() });
        }
    }
    for tier in &result.tiers {
        let name = || tier.name.clone();
        let of_tier = contacts.iter().filter(|contact| contact.tier == tier.name);
        for (place, contact) in (1..).zip(of_tier) {
            let drawn = usize::try_from(place - 1).ok().and_then(|at| tier.order.get(at));
            let Some(drawn) = drawn.filter(|_| contact.place == place) else {
                return Err(Difference::NoContact { tier: name(), place });
            };
            if drawn.row != contact.row {
                let (found, expected) = (contact.row, drawn.row);
                return Err(Difference::ContactRow { tier: name(), place, found, expected });
            }
            check_reference(contact)?;
        }
        let is_winner = |contact: &&Contact| contact.tier == tier.name && !contact.is_skipped;
        let winners = contacts.iter().filter(is_winner).count();
        if u64::try_from(winners).map_or(true, |winners| winners > tier.prizes.get()) {
            return Err(Difference::TooManyWinners { tier: name(), winners, prizes: tier.prizes.get() });
        }
    }
    Ok(())
}
