//! A finished draw: 60 entrants, two tiers, a real round of quicknet.

use std::num::NonZeroU64;
use std::path::Path;
use std::{fs, io};

use chrono::{DateTime, FixedOffset};
use draw::beacon::Chain;
use draw::{
    Algorithm, Certificate, Committed, Difference, Digest, DrawResult, Entries, Event, Evidence,
    Header, LeftOut, Log, LoggedPlace, Opening, Period, Prize, RoundSignature, Sheet, Step,
};

pub(crate) const ENTRANTS: u64 = 60;
const QUICKNET: &str = "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971";
const CAMPAIGN: &str = "Chai Bora: <b>shinda</b> kila wiki";
const BRAND: &str = "Kampuni ya Chai Bora";
const ROUND: u64 = 657_413;
const SIGNATURE: &str = "b713718a38ae728dfd477991af2822e08d2f305e47718cef9f7848ce4050e7be41076862b98fad56e91a6b85b89cd97b";

#[derive(Clone, PartialEq)]
pub(crate) struct Sample {
    pub(crate) entries: String,
    pub(crate) openings: String,
    pub(crate) header: String,
    pub(crate) commitment: String,
    pub(crate) result: String,
    /// `None` before the certificate.
    pub(crate) log: Option<String>,
}

fn number(number: u64) -> NonZeroU64 {
    NonZeroU64::new(number).expect("not zero")
}

fn signature() -> RoundSignature {
    SIGNATURE.parse().expect("hexadecimal")
}

fn time(text: &str) -> DateTime<FixedOffset> {
    text.parse().expect("a time")
}

impl Sample {
    pub(crate) fn new() -> Self {
        Self::on_chain(QUICKNET.parse().expect("a digest"), |_| signature())
    }

    /// Draws again after a changed header.
    pub(crate) fn draw_again(&mut self) {
        self.draw(signature());
    }

    /// A result of a signature that is not the beacon's.
    pub(crate) fn forged() -> Self {
        let mut sample = Self::new();
        sample.draw([7; 48].into());
        sample
    }

    pub(crate) fn on_chain(chain: Digest, sign: impl FnOnce(NonZeroU64) -> RoundSignature) -> Self {
        let mut entries = Entries::default();
        for at in 0..ENTRANTS {
            for entry in 0..=at % 3 {
                let (entrant, reference) =
                    (format!("entrant {at}"), format!("AAAA-{at:02}{entry:02}"));
                entries
                    .add(entrant, &reference, number(1 + at % 5))
                    .expect("a reference");
            }
        }
        // With these, the grand prize's second place is drawn for airtime too.
        let mut salts = (0..).map(|at| Digest::from_parts(&[format!("salt9-{at}").as_bytes()]));
        let rows = entries.into_rows(|| {
            let digest = salts.next().expect("without end");
            *digest.as_bytes().first_chunk().expect("32 bytes")
        });
        let rows = rows.expect("rows");
        let prize = |name: &str, prizes| Prize {
            name: name.into(),
            number: number(prizes),
        };
        let header = Header {
            algorithm: Algorithm::V1,
            rows: rows.count(),
            total: rows.total(),
            campaign: "chai-bora-2026".into(),
            draw: "week-37".into(),
            period: Period {
                from: time("2023-09-04T00:00:00+03:00"),
                to: time("2023-09-11T00:00:00+03:00"),
            },
            days: [
                ("2023-09-04".to_owned(), 100),
                ("2023-09-10".to_owned(), rows.total().get() - 100),
            ]
            .into(),
            left_out: LeftOut::default(),
            overlapping: Vec::new(),
            prizes: vec![prize("grand-prize", 1), prize("<b>muda wa maongezi</b>", 5)],
            one_prize_per_row: true,
            chain,
            round: number(ROUND),
        };
        let (mut entries, mut openings) = (Vec::new(), Vec::new());
        let frozen = rows
            .freeze(&header, &mut entries, &mut openings)
            .expect("frozen");
        let mut sample = Self {
            entries: String::from_utf8(entries).expect("text"),
            openings: String::from_utf8(openings).expect("text"),
            header: frozen.header_json,
            commitment: format!("{}\n", frozen.commitment),
            result: String::new(),
            log: None,
        };
        sample.draw(sign(number(ROUND)));
        sample
    }

    /// Draws, and logs the rest.
    fn draw(&mut self, signature: RoundSignature) {
        let committed = self.read().expect("whole");
        let round = committed.header().round;
        let result = committed
            .run(round, signature)
            .expect("the round of the header");
        self.result = serde_json::to_string(&result).expect("JSON");
        self.log = Some(serde_json::to_string(&self.log(&result)).expect("JSON"));
    }

    /// Reads and verifies.
    pub(crate) fn read(&self) -> Result<Committed, Difference> {
        Committed::read(Evidence {
            entries: &mut self.entries.as_bytes(),
            header: self.header.as_bytes(),
            commitment: &self.commitment,
        })
    }

    /// Writes the files and the certificate.
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
        if let Some(log) = &self.log {
            fs::write(folder.join("log.json"), log)?;
        }
        fs::write(folder.join("verify.py"), draw::VERIFY_PY)
    }

    pub(crate) fn certificate(&self, with_entries: bool) -> String {
        let certificate = Certificate {
            campaign: CAMPAIGN,
            brand: BRAND,
            header: &self.header,
            commitment: &self.commitment,
            result: &self.result,
            log: self.log.as_deref().expect("a log"),
            chain: &Chain::quicknet(),
        };
        certificate.html(with_entries.then_some(&self.entries))
    }

    pub(crate) fn sheet(&self) -> String {
        let committed = self.read().expect("whole");
        let address = format!("https://api.drand.sh/{QUICKNET}/public/{ROUND}");
        let sheet = Sheet {
            campaign: CAMPAIGN,
            brand: BRAND,
            header: committed.header(),
            header_json: &self.header,
            root: committed.root(),
            commitment: committed.commitment(),
            frozen_at: time("2023-09-15T13:30:00+03:00"),
            round_at: time("2023-09-15T14:00:03+03:00"),
            beacon: QUICKNET,
            round_address: Some(&address),
            largest_rows: &[15, 12, 12],
            given_by_hand: 7,
        };
        sheet.html()
    }

    pub(crate) fn opening(&self, row: u64) -> Opening {
        let line = self
            .openings
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{row},")))
            .expect("the row");
        let (references, salt) = line.split_once(',').expect("a salt");
        let text = format!(
            "svc-draw-entry-v1\n{}\n{salt}",
            references.replace(' ', ",")
        );
        text.parse().expect("an opening")
    }

    /// The grand prize went to its second place, whose winner is skipped for airtime.
    fn log(&self, result: &DrawResult) -> Log {
        let (grand, airtime) = (&result.tiers[0], &result.tiers[1]);
        let at =
            |seconds: i64| time("2023-09-15T14:00:09+03:00") + chrono::TimeDelta::seconds(seconds);
        let step = |seconds, is| Step {
            at: at(seconds),
            is,
            reason: None,
            inspector: None,
        };
        let skip = |seconds, reason: &str, inspector: Option<&str>| Step {
            reason: Some(reason.into()),
            inspector: inspector.map(Into::into),
            ..step(seconds, Event::Skipped)
        };
        let no_answer = |seconds| step(seconds, Event::NoAnswer);
        let mut unreached = vec![
            step(0, Event::Drawn),
            no_answer(60),
            no_answer(120),
            no_answer(300),
        ];
        unreached.push(skip(360, "no_answer", Some("A. Inspector")));
        let reached = vec![
            step(360, Event::Drawn),
            no_answer(420),
            step(480, Event::Reached),
            step(3_600, Event::Identified),
            step(3_700, Event::HandedOver),
        ];
        let erased = vec![step(400, Event::Drawn), skip(400, "erased", None)];
        let mut places = vec![
            self.logged(grand, 1, unreached),
            self.logged(grand, 2, reached),
            LoggedPlace {
                reference: None,
                opening: None,
                phone: None,
                ..self.logged(airtime, 1, erased)
            },
        ];
        let winner = places[1].row;
        let mut open = 0;
        for (number, place) in (2..).zip(airtime.order.iter().skip(1)) {
            let mut steps = vec![step(400, Event::Drawn)];
            if place.row == winner {
                steps.push(skip(400, "has_prize", None));
            } else {
                open += 1;
            }
            places.push(self.logged(airtime, number, steps));
            if open == airtime.prizes.get() {
                break;
            }
        }
        let frozen_at = time("2023-09-15T13:30:00+03:00");
        let [published_at, drawn_at] = [
            time("2023-09-15T13:30:02+03:00"),
            time("2023-09-15T14:00:09+03:00"),
        ];
        Log {
            frozen_at,
            published_at,
            drawn_at,
            places,
        }
    }

    pub(crate) fn logged(
        &self,
        tier: &draw::TierResult,
        place: u64,
        steps: Vec<Step>,
    ) -> LoggedPlace {
        let row = tier.order[usize::try_from(place - 1).expect("few")].row;
        let opening = self.opening(row);
        LoggedPlace {
            tier: tier.name.clone(),
            place: number(place),
            row,
            reference: opening.references().first().cloned(),
            region: Some("Dodoma".into()),
            phone: Some("+255 7** *** *12".into()),
            opening: Some(opening),
            steps,
        }
    }
}
