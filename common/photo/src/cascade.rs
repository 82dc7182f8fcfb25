//! Readers try the most promising views first.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use super::luma::Luma;
use super::readers::Attempt;
use super::readers::Reader::{self, *};
use Detail::*;
use Filter::*;

/// Approximate pixels of a view's longer side; photos shrink by whole factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    /// About 800: codes that fill the photo, and noise.
    Coarse,
    /// About 1,600: most codes.
    Normal,
    /// About 3,200: small codes on large photos.
    Fine,
    /// [`Detail::Normal`] doubled by interpolation: codes with few pixels for each module.
    Doubled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filter {
    Plain,
    /// Unsharp mask, against blur.
    Sharpened,
    /// Wider and stronger unsharp mask.
    SharpenedMore,
    /// Black and white by local contrast, against shadows and faded ink.
    Thresholded,
    /// Local means, against noise.
    Smoothed,
    /// Local means, then the wider mask, against blur in noise.
    SmoothedAndSharpened,
    /// Local means, then black and white, against noise in faded ink.
    SmoothedAndThresholded,
}

type Pass = (Detail, Filter, Reader);

/// Ordered by how often each pass helps with generated photos. `rqrr` finds little that `rxing`
/// does not, and hangs on noise.
const CASCADE: &[Pass] = &[
    (Normal, Plain, Rxing),
    (Normal, SmoothedAndSharpened, Rxing),
    (Normal, Sharpened, Rxing),
    (Coarse, Plain, Rxing),
    (Normal, Smoothed, Rxing),
    (Normal, Thresholded, Rxing),
    (Coarse, Sharpened, Rxing),
    (Fine, Plain, Rxing),
    (Fine, SmoothedAndSharpened, Rxing),
    (Normal, SharpenedMore, Rxing),
    (Normal, SmoothedAndThresholded, Rxing),
    (Doubled, Plain, Rxing),
    (Doubled, SmoothedAndSharpened, Rxing),
    (Doubled, SharpenedMore, Rxing),
    (Normal, Plain, Rqrr),
    (Normal, Sharpened, Rqrr),
    (Coarse, Thresholded, Rqrr),
    (Doubled, Sharpened, Rqrr),
];

/// Runs the readers until `found`, which gets each pass's texts, breaks. A reader that exceeded
/// `reader_timeout` runs no more.
pub(super) fn read(
    photo: Luma,
    reader_timeout: Duration,
    mut found: impl FnMut(Vec<String>) -> ControlFlow<()>,
) {
    let photo = Arc::new(photo);
    let mut timed_out = Vec::new();
    for &(detail, filter, reader) in CASCADE {
        if timed_out.contains(&reader) || detail.repeats(&photo) {
            continue;
        }
        let view = move |photo: &Luma| filter.apply(&detail.of(photo));
        match reader.read_with_timeout(&photo, view, reader_timeout) {
            Attempt::Read(texts) => {
                if found(texts).is_break() {
                    return;
                }
            }
            Attempt::TimedOut => timed_out.push(reader),
        }
    }
}

impl Detail {
    fn of(self, photo: &Luma) -> Luma {
        match self {
            Self::Coarse | Self::Normal | Self::Fine => photo.shrunk(self.factor(photo)),
            Self::Doubled => photo.shrunk(self.factor(photo)).doubled(),
        }
    }

    fn repeats(self, photo: &Luma) -> bool {
        match self {
            Self::Normal | Self::Doubled => false,
            Self::Coarse | Self::Fine => self.factor(photo) == Self::Normal.factor(photo),
        }
    }

    fn factor(self, photo: &Luma) -> usize {
        let side = match self {
            Self::Coarse => 800,
            Self::Normal | Self::Doubled => 1_600,
            Self::Fine => 3_200,
        };
        // Up to a third larger than the target is fine.
        (photo.longer_side() * 3).div_ceil(side * 4).max(1)
    }
}

impl Filter {
    fn apply(self, view: &Luma) -> Luma {
        match self {
            Self::Plain => view.clone(),
            Self::Sharpened => view.sharpened(2, 2),
            Self::SharpenedMore => view.sharpened(4, 4),
            Self::Thresholded => view.thresholded(Self::surroundings(view), 6),
            Self::Smoothed => view.smoothed(1),
            Self::SmoothedAndSharpened => view.smoothed(1).sharpened(4, 4),
            Self::SmoothedAndThresholded => {
                view.smoothed(1).thresholded(Self::surroundings(view), 4)
            }
        }
    }

    /// Radius of the local contrast: a few modules of a code.
    fn surroundings(view: &Luma) -> usize {
        (view.longer_side() / 64).max(4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn photo(longer_side: usize) -> Luma {
        Luma::new(longer_side, 1, vec![0; longer_side]).expect("an image")
    }

    #[test]
    fn a_photo_is_shrunk_to_about_as_many_pixels_as_a_view_has() {
        let factors =
            |side| [Coarse, Normal, Fine, Doubled].map(|detail| detail.factor(&photo(side)));
        assert_eq!(factors(400), [1, 1, 1, 1]);
        assert_eq!(factors(1_600), [2, 1, 1, 1]);
        assert_eq!(factors(4_000), [4, 2, 1, 2]);
        assert_eq!(factors(8_000), [8, 4, 2, 4]);
    }

    #[test]
    fn a_view_that_another_one_shows_already_is_left_out() {
        let repeats =
            |side| [Coarse, Normal, Fine, Doubled].map(|detail| detail.repeats(&photo(side)));
        assert_eq!(repeats(400), [true, false, true, false]);
        assert_eq!(repeats(1_600), [false, false, true, false]);
        assert_eq!(repeats(4_000), [false, false, false, false]);
    }

    #[test]
    fn surroundings_are_large_enough_to_tell_light_from_dark() {
        assert_eq!(
            [100, 256, 1_600].map(|side| Filter::surroundings(&photo(side))),
            [4, 4, 25]
        );
    }
}
