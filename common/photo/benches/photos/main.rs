//! `cargo bench --bench photos` prints a table: the share of photos read and the time taken, child start included, by
//! each reader alone and by the full cascade. The photos are the same in every run.

mod difficulty;

use std::time::Duration;

use photo::cascade::Effort;
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

struct Readers {
    rqrr: PhotoReader,
    rxing: PhotoReader,
    both: PhotoReader,
}

#[derive(Default)]
struct Score {
    photos: usize,
    rqrr: usize,
    rxing: usize,
    both: usize,
    wrong: usize,
    times: Vec<Duration>,
}

async fn compare() -> Result<(), Failure> {
    let reader = || PhotoReader::this_program(Limits::default());
    let readers = Readers {
        rqrr: reader()?.with_effort(Effort::RqrrOnly),
        rxing: reader()?.with_effort(Effort::RxingOnly),
        both: reader()?,
    };
    println!(
        "| difficulty | photos | rqrr alone | rxing alone | the cascade | median ms | worst ms |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    let mut total = Score::default();
    for (seed, difficulty) in (1..).zip(DIFFICULTIES) {
        let score = readers.score(difficulty, seed * 1_000).await?;
        println!("{}", score.row(difficulty.name));
        total.add(score);
    }
    println!("{}", total.row("**all**"));
    println!("\nTexts that stand on no receipt: {}", total.wrong);
    Ok(())
}

impl Readers {
    async fn score(&self, difficulty: &Difficulty, first_seed: u64) -> Result<Score, Failure> {
        let mut score = Score::default();
        for number in 0..PHOTOS_OF_EACH_STEP {
            for (step, shot) in (0..).zip(difficulty.shots(number)) {
                let seed = first_seed + 10 * number + step;
                let payload = format!(
                    "https://verify.tra.go.tz/AB12CD{seed:06}_{:06}",
                    seed % 24 * 10_000 + 1_530
                );
                let photo = jpeg(&qr_photo(&[&payload], &shot.look, seed)?, shot.quality())?;
                score.photos += 1;
                score.rqrr += usize::from(has(&self.rqrr, &photo, &payload).await);
                score.rxing += usize::from(has(&self.rxing, &photo, &payload).await);
                let start = Instant::now();
                let texts = self.both.read(&photo).await.unwrap_or_default();
                score.times.push(start.elapsed());
                score.both += usize::from(texts.contains(&payload));
                score.wrong += texts.iter().filter(|text| **text != payload).count();
            }
        }
        Ok(score)
    }
}

async fn has(reader: &PhotoReader, photo: &[u8], payload: &String) -> bool {
    reader
        .read(photo)
        .await
        .is_ok_and(|texts| texts.contains(payload))
}

impl Score {
    fn add(&mut self, other: Self) {
        self.photos += other.photos;
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
        let part = |read: usize| format!("{read} ({} %)", 100 * read / self.photos.max(1));
        let (rqrr, rxing, both) = (part(self.rqrr), part(self.rxing), part(self.both));
        format!(
            "| {name} | {} | {rqrr} | {rxing} | {both} | {median} | {worst} |",
            self.photos
        )
    }
}
