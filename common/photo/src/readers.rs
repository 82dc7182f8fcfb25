//! The two QR readers. They can hang or panic, so each attempt runs on its own thread with a
//! timeout, in a process that can be killed.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use rqrr::{Grid, PreparedImage, SimpleGrid};
use rxing::common::{BitMatrix, DetectorRXingResult, HybridBinarizer};
use rxing::multi::qrcode::detector::MultiDetector;
use rxing::qrcode::cpp_port::detector::{FindFinderPatterns, GenerateFinderPatternSets, SampleQR};
use rxing::{Binarizer, DecodeHints, Luma8Source};

use super::luma::Luma;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// Reads flat codes in even light.
    Rqrr,
    /// Finds and straightens codes that `rqrr` misses. Its text decoding is not used: its character
    /// tables are not compiled in.
    Rxing,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Attempt {
    Read(Vec<String>),
    TimedOut,
}

/// Groups of three finder patterns: ten codes have some dozens, checkered cloth thousands.
const MAX_PATTERN_GROUPS: usize = 300;

impl Reader {
    /// The thread runs on after a timeout, until the process ends.
    pub fn read_with_timeout<V>(self, photo: &Arc<Luma>, view: V, timeout: Duration) -> Attempt
    where
        V: FnOnce(&Luma) -> Luma + Send + 'static,
    {
        let (sender, texts) = sync_channel(1);
        let photo = Arc::clone(photo);
        let started = thread::Builder::new().spawn(move || {
            // After a timeout, the receiver is gone.
            drop(sender.send(self.read(&view(&photo))));
        });
        match started.map(|_thread| texts.recv_timeout(timeout)) {
            Ok(Ok(texts)) => Attempt::Read(texts),
            Ok(Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected)) | Err(_) => {
                Attempt::TimedOut
            }
        }
    }

    /// May panic or never return.
    fn read(self, image: &Luma) -> Vec<String> {
        match self {
            Self::Rqrr => rqrr(image),
            Self::Rxing => rxing(image),
        }
    }
}

fn rqrr(image: &Luma) -> Vec<String> {
    let pixel = |x, y| image.pixel(x, y);
    let mut prepared = PreparedImage::prepare_from_greyscale(image.width(), image.height(), pixel);
    prepared
        .detect_grids()
        .iter()
        .filter_map(|grid| text_of(|out| grid.decode_to(out).is_ok()))
        .collect()
}

fn rxing(image: &Luma) -> Vec<String> {
    let sides = u32::try_from(image.width())
        .ok()
        .zip(u32::try_from(image.height()).ok());
    let Some(source) = sides.and_then(|(width, height)| {
        Luma8Source::new_with_slice(image.pixels(), width, height).ok()
    }) else {
        return Vec::new();
    };
    let binarizer = HybridBinarizer::new(source);
    let Ok(bits) = binarizer.get_black_matrix() else {
        return Vec::new();
    };
    let mut texts = by_concentric_patterns(bits);
    if texts.is_empty() {
        texts = by_finder_patterns(bits);
    }
    texts
}

fn by_concentric_patterns(bits: &BitMatrix) -> Vec<String> {
    let try_harder = true;
    let no_least_module_size = 0;
    let mut patterns = FindFinderPatterns(bits, try_harder, no_least_module_size);
    let mut used = Vec::new();
    let mut texts = Vec::new();
    for group in GenerateFinderPatternSets(&mut patterns)
        .iter()
        .take(MAX_PATTERN_GROUPS)
    {
        let corners = [group.bl, group.tl, group.tr];
        if corners.iter().any(|corner| used.contains(corner)) {
            continue;
        }
        if let Some(text) = SampleQR(bits, group)
            .ok()
            .and_then(|code| text_of_modules(code.getBits()))
        {
            used.extend(corners);
            texts.push(text);
        }
    }
    texts
}

/// Older, and finds some codes that the other one misses.
fn by_finder_patterns(bits: &BitMatrix) -> Vec<String> {
    let hints = DecodeHints {
        TryHarder: Some(true),
        ..DecodeHints::default()
    };
    let codes = MultiDetector::new(bits)
        .detectMulti(&hints)
        .unwrap_or_default();
    codes
        .iter()
        .filter_map(|code| text_of_modules(code.getBits()))
        .collect()
}

/// `rxing` straightens the code; `rqrr` returns its bytes.
fn text_of_modules(modules: &BitMatrix) -> Option<String> {
    if modules.width() != modules.height() {
        return None;
    }
    let is_black = |x, y| match (u32::try_from(x), u32::try_from(y)) {
        (Ok(x), Ok(y)) => modules.get(x, y),
        (Err(_), _) | (_, Err(_)) => false,
    };
    let side = usize::try_from(modules.width()).ok()?;
    let grid = Grid::new(SimpleGrid::from_func(side, is_black));
    text_of(|out| grid.decode_to(out).is_ok())
}

fn text_of(decode: impl FnOnce(&mut Vec<u8>) -> bool) -> Option<String> {
    let mut bytes = Vec::new();
    if decode(&mut bytes) {
        String::from_utf8(bytes).ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blank() -> Arc<Luma> {
        Arc::new(Luma::new(64, 64, vec![255; 64 * 64]).expect("an image"))
    }

    #[test]
    fn blank_paper_holds_no_code() {
        for reader in [Reader::Rqrr, Reader::Rxing] {
            let attempt = reader.read_with_timeout(&blank(), Luma::clone, Duration::from_secs(20));
            assert_eq!(attempt, Attempt::Read(Vec::new()), "{reader:?}");
        }
    }

    #[test]
    fn the_smallest_images_hold_no_code() {
        for reader in [Reader::Rqrr, Reader::Rxing] {
            for (width, height) in [(1, 1), (1, 40), (40, 1), (2, 3)] {
                let image =
                    Arc::new(Luma::new(width, height, vec![0; width * height]).expect("an image"));
                let attempt =
                    reader.read_with_timeout(&image, Luma::clone, Duration::from_secs(20));
                assert!(
                    matches!(attempt, Attempt::TimedOut) || attempt == Attempt::Read(Vec::new())
                );
            }
        }
    }

    #[test]
    fn a_reader_that_panics_counts_as_timed_out() {
        let attempt = Reader::Rqrr.read_with_timeout(
            &blank(),
            |_| panic!("as rqrr may"),
            Duration::from_secs(20),
        );
        assert_eq!(attempt, Attempt::TimedOut);
    }

    #[test]
    fn a_reader_that_hangs_times_out() {
        let forever = |_: &Luma| loop {
            thread::park();
        };
        let attempt = Reader::Rqrr.read_with_timeout(&blank(), forever, Duration::from_millis(10));
        assert_eq!(attempt, Attempt::TimedOut);
    }
}
