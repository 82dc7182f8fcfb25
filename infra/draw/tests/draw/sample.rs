//! A draw that is over: 60 entrants, two tiers, a real round of quicknet.

use std::io::Cursor;
use std::num::NonZeroU64;
use std::path::Path;
use std::{fs, io};

use chrono::{DateTime, FixedOffset};
use draw::{
    Certificate, Committed, Contact, Difference, Digest, DrawResult, Entries, Evidence, Opening, Period,
    Plan, Prize, Sheet, Times,
};

pub(crate) const ENTRANTS: u64 = 60;
const QUICKNET: &str = "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971";
const ROUND: u64 = 657_413;
const SIGNATURE: &str =
    "b713718a38ae728dfd477991af2822e08d2f305e47718cef9f7848ce4050e7be41076862b98fad56e91a6b85b89cd97b";

/// The files of a draw.
#[derive(Clone)]
pub(crate) struct Sample {
    pub(crate) entries: String,
    pub(crate) openings: String,
    pub(crate) header: String,
    pub(crate) commitment: String,
    pub(crate) result: String,
}

fn number(number: u64) -> NonZeroU64 {
    NonZeroU64::new(number).expect("not zero")
}

fn time(text: &str) -> DateTime<FixedOffset> {
    text.parse().expect("a time")
}

impl Sample {
    pub(crate) fn new() -> Self {
        let mut signature = [0; 48];
        hex::decode_to_slice(SIGNATURE, &mut signature).expect("hexadecimal");
        Self::on_chain(QUICKNET.parse().expect("a digest"), |_| signature)
    }

    /// A result that follows from a signature that is not the beacon's.
    pub(crate) fn forged() -> Self {
        let mut sample = Self::new();
        let committed = sample.read().expect("whole");
        let forged = committed.run(number(ROUND), [7; 48]).expect("the round of the header");
        sample.result = serde_json::to_string(&forged).expect("JSON");
        sample
    }

    /// The draw on another chain.
    pub(crate) fn on_chain(chain: Digest, sign: impl FnOnce(NonZeroU64) -> [u8; 48]) -> Self {
        let mut entries = Entries::new(Cursor::new(Vec::new()));
        for at in 0..ENTRANTS {
            for entry in 0..=at % 3 {
                let (entrant, reference) = (format!("entrant {at}"), format!("AAAA-{at:02}{entry:02}"));
                entries.add(entrant.as_bytes(), &reference, number(1 + at % 5)).expect("memory");
            }
        }
        let mut salts = (0..).map(|at| Digest::from_parts(&[format!("salt{at}").as_bytes()]));
        let salt = || {
            Ok(*salts
                .next()
                .and_then(|digest| digest.as_bytes().first_chunk().copied())
                .as_ref()
                .expect("16"))
        };
        let rows = entries.into_rows(Cursor::new(Vec::new()), salt).expect("rows");
        let prize = |name: &str, prizes| Prize { name: name.into(), number: number(prizes) };
        let plan = Plan {
            campaign: "chai-bora-2026".into(),
            draw: "week-37".into(),
            period: Period { from: time("2023-09-04T00:00:00+03:00"), to: time("2023-09-11T00:00:00+03:00") },
            days: [("2023-09-04".to_owned(), 100), ("2023-09-10".to_owned(), rows.total().get() - 100)]
                .into(),
            overlapping: Vec::new(),
            prizes: vec![prize("grand-prize", 1), prize("<b>muda wa maongezi</b>", 5)],
            one_prize_per_row: true,
            chain,
            round: number(ROUND),
        };
        let (mut entries, mut openings) = (Vec::new(), Vec::new());
        let frozen = rows.freeze(plan, &mut entries, &mut openings).expect("frozen");
        let mut sample = Self {
            entries: String::from_utf8(entries).expect("text"),
            openings: String::from_utf8(openings).expect("text"),
            header: frozen.header_json,
            commitment: format!("{}\n", frozen.commitment),
            result: String::new(),
        };
        let signature = sign(number(ROUND));
        let result =
            sample.read().expect("whole").run(number(ROUND), signature).expect("the round of the header");
        sample.result = serde_json::to_string(&result).expect("JSON");
        sample
    }

    /// The files, read and verified.
    pub(crate) fn read(&self) -> Result<Committed, Difference> {
        Committed::read(Evidence {
            entries: &mut self.entries.as_bytes(),
            header: self.header.as_bytes(),
            commitment: &self.commitment,
            openings: None,
        })
    }

    /// The files in a folder, and the certificate beside them.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        for (name, text) in [
            ("entries.csv", &self.entries),
            ("openings.csv", &self.openings),
            ("header.json", &self.header),
            ("commitment.txt", &self.commitment),
            ("result.json", &self.result),
        ] {
            fs::write(folder.join(name), text)?;
        }
        fs::write(folder.join("verify.py"), draw::VERIFY_PY)
    }

    /// The certificate, with the list of entries or without it.
    pub(crate) fn certificate(&self, with_entries: bool) -> String {
        let committed = self.read().expect("whole");
        let result = committed.read_result(self.result.as_bytes()).expect("whole");
        let contacts = self.contacts(&result);
        let certificate = Certificate {
            committed: &committed,
            result: &result,
            times: Times {
                frozen_at: time("2023-09-15T13:30:00+03:00"),
                published_at: time("2023-09-15T13:30:02+03:00"),
                round_at: time("2023-09-15T14:00:03+03:00"),
                drawn_at: time("2023-09-15T14:00:09+03:00"),
            },
            contacts: &contacts,
        };
        let mut entries = self.entries.as_bytes();
        let mut page = Vec::new();
        let entries: &mut dyn io::BufRead = &mut entries;
        certificate.write_html(with_entries.then_some(entries), &mut page).expect("memory");
        String::from_utf8(page).expect("text")
    }

    /// The sheet for the inspector.
    pub(crate) fn sheet(&self) -> String {
        let committed = self.read().expect("whole");
        let sheet = Sheet {
            header: committed.header(),
            header_json: &self.header,
            root: committed.root(),
            commitment: committed.commitment(),
            frozen_at: time("2023-09-15T13:30:00+03:00"),
            round_at: time("2023-09-15T14:00:03+03:00"),
            beacon: QUICKNET,
        };
        let mut page = Vec::new();
        sheet.write_html(&mut page).expect("memory");
        String::from_utf8(page).expect("text")
    }

    /// The opening of a row, as its entrant gets it.
    pub(crate) fn opening(&self, row: u64) -> Opening {
        let line =
            self.openings.lines().find_map(|line| line.strip_prefix(&format!("{row},"))).expect("the row");
        let (references, salt) = line.split_once(',').expect("a salt");
        let text = format!("svc-draw-entry-v1\n{}\n{salt}", references.replace(' ', ","));
        text.parse().expect("an opening")
    }

    fn contacts(&self, result: &DrawResult) -> Vec<Contact> {
        let skipped = ("skipped: no answer to three calls (A. Inspector)", true);
        let states = [vec![skipped, ("prize handed over", false)], vec![("called 1 of 3 times", false)]];
        let tiers = result.tiers.iter().zip(states);
        tiers
            .flat_map(|(tier, states)| {
                (1..).zip(tier.order.iter().zip(states)).map(|(place, (drawn, (happened, is_skipped)))| {
                    let opening = self.opening(drawn.row);
                    let reference = opening.references().first().expect("a reference").clone();
                    let (tier, phone) = (tier.name.clone(), "+255 7** *** *12".into());
                    let region = Some("Dodoma".into());
                    Contact {
                        tier,
                        place,
                        row: drawn.row,
                        reference,
                        region,
                        phone,
                        opening: Some(opening),
                        happened: happened.into(),
                        is_skipped,
                    }
                })
            })
            .collect()
    }
}
