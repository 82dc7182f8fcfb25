//! `cargo bench --bench photos` prints the share of photos read and the time, child start included,
//! by each reader alone and by the full cascade. The photos are always the same.

mod difficulty;

use std::sync::Arc;
use std::time::Duration;

use photo::decode::decode;
use photo::luma::Luma;
use photo::readers::{Attempt, Reader};
use photo::{Limits, PhotoReader, serve_if_asked};
use receipt_photo::{jpeg, qr_photo};
use tokio::time::Instant;

use difficulty::{DIFFICULTIES, Difficulty};

const PHOTOS_OF_EACH_STEP: u64 = 6;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    serve_if_asked();
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("this takes minutes: run it with `cargo bench --bench photos`");
        return Ok(());
    }
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(compare())
}

#[derive(Default)]
struct Score {
    /// Each with the text of its receipt.
    photos: Vec<(Vec<u8>, String)>,
    rqrr: usize,
    rxing: usize,
    both: usize,
    wrong: usize,
    times: Vec<Duration>,
}

async fn compare() -> Result<(), Failure> {
    let cascade = PhotoReader::this_program(Limits::default())?;
    println!(
        "| difficulty | photos | rqrr alone | rxing alone | the cascade | median ms | worst ms |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    let mut scores = Vec::new();
    for (seed, difficulty) in (1..).zip(DIFFICULTIES) {
        scores.push((
            difficulty.name,
            score(&cascade, difficulty, seed * 1_000).await?,
        ));
    }
    let mut total = Score::default();
    for (name, mut score) in scores {
        // Last, since a hanging reader stays in this process.
        score.read_alone()?;
        println!("{}", score.row(name));
        total.add(score);
    }
    println!("{}", total.row("**all**"));
    println!("\nTexts that stand on no receipt: {}", total.wrong);
    Ok(())
}

async fn score(
    cascade: &PhotoReader,
    difficulty: &Difficulty,
    first_seed: u64,
) -> Result<Score, Failure> {
    let mut score = Score::default();
    for number in 0..PHOTOS_OF_EACH_STEP {
        for (step, shot) in (0..).zip(difficulty.shots(number)) {
            let seed = first_seed + 10 * number + step;
            let payload = format!(
                "https://verify.tra.go.tz/AB12CD{seed:06}_{:06}",
                seed % 24 * 10_000 + 1_530
            );
            let photo = jpeg(&qr_photo(&[&payload], &shot.look, seed)?, shot.quality())?;
            let start = Instant::now();
            let texts = cascade.read(&photo).await.unwrap_or_default();
            score.times.push(start.elapsed());
            score.both += usize::from(texts.contains(&payload));
            score.wrong += texts.iter().filter(|text| **text != payload).count();
            score.photos.push((photo, payload));
        }
    }
    Ok(score)
}

/// Texts that a reader finds in the photo, shrunk like most views.
fn alone(reader: Reader, photo: &[u8]) -> Result<Vec<String>, Failure> {
    let photo = Arc::new(decode(photo)?);
    let shrunk = |photo: &Luma| photo.shrunk((photo.longer_side() * 3).div_ceil(1_600 * 4));
    match reader.read_with_timeout(&photo, shrunk, Limits::default().reader_timeout) {
        Attempt::Read(texts) => Ok(texts),
        Attempt::TimedOut => Ok(Vec::new()),
    }
}

impl Score {
    fn read_alone(&mut self) -> Result<(), Failure> {
        for (photo, payload) in &self.photos {
            self.rqrr += usize::from(alone(Reader::Rqrr, photo)?.contains(payload));
            self.rxing += usize::from(alone(Reader::Rxing, photo)?.contains(payload));
        }
        Ok(())
    }

    fn add(&mut self, other: Self) {
        self.photos.extend(other.photos);
        self.rqrr += other.rqrr;
        self.rxing += other.rxing;
        self.both += other.both;
        self.wrong += other.wrong;
        self.times.extend(other.times);
    }

    fn row(&self, name: &str) -> String {
        let mut times = self.times.clone();
        times.sort();
        let milliseconds = |time: Option<&Duration>| time.map_or(0, Duration::as_millis);
        let (median, worst) = (
            milliseconds(times.get(times.len() / 2)),
            milliseconds(times.last()),
        );
        let part = |read: usize| format!("{read} ({} %)", 100 * read / self.photos.len().max(1));
        let (rqrr, rxing, both) = (part(self.rqrr), part(self.rxing), part(self.both));
        format!(
            "| {name} | {} | {rqrr} | {rxing} | {both} | {median} | {worst} |",
            self.photos.len()
        )
    }
}
