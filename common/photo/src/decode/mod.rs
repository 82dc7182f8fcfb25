//! The first bytes tell the format; sizes are limited before any pixel is decoded.

mod jpeg;
mod png;
mod webp;

use std::fmt;

use common::domain::receipt::photo::MAX_BYTES;
use common::domain::{PhotoFault, PhotoType};
use image::metadata::Orientation;
use image::{DynamicImage, GrayImage, RgbImage};

use crate::luma::Luma;

/// Phones take 12 million, some 40 million, which fit into the child's memory.
pub const MAX_PIXELS: u64 = 40_000_000;
pub const MAX_SIDE: u32 = 16_384;
/// A larger photo is copied in gray: colors take three times the memory.
const MAX_COLOR_PIXELS: usize = 20_000_000;

const MAX_CAUSE_CHARS: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotDecoded {
    #[error("the photo is larger than {MAX_BYTES} bytes")]
    TooManyBytes,
    #[error("the file is no JPEG, PNG or WebP image")]
    NotAnImage,
    #[error("the file begins like an image, but holds no size of a picture")]
    NoHeader,
    #[error("the photo is damaged")]
    Damaged(#[source] DecoderError),
    #[error("the photo has {width} x {height} pixels, too many")]
    TooManyPixels { width: u32, height: u32 },
    #[error("the photo is an animation")]
    Animated,
}

/// Terms and numbers of the format, no pixels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[error("{0}")]
pub struct DecoderError(String);

impl NotDecoded {
    fn damaged(cause: impl fmt::Display) -> Self {
        Self::Damaged(DecoderError(
            cause.to_string().chars().take(MAX_CAUSE_CHARS).collect(),
        ))
    }

    fn too_large_for_memory() -> Self {
        Self::damaged("its pixels do not fit into memory")
    }

    fn other_pixels() -> Self {
        Self::damaged("not as many pixels as its size")
    }

    /// Any other file: a person may recognize something.
    pub fn is_no_picture(&self) -> bool {
        PhotoFault::from(self) == PhotoFault::NotDecoded
    }
}

impl From<&NotDecoded> for PhotoFault {
    fn from(fault: &NotDecoded) -> Self {
        match fault {
            NotDecoded::NotAnImage | NotDecoded::NoHeader => Self::NotDecoded,
            NotDecoded::Damaged(_) => Self::Damaged,
            NotDecoded::TooManyBytes | NotDecoded::TooManyPixels { .. } => Self::TooLarge,
            NotDecoded::Animated => Self::Animated,
        }
    }
}

/// Upright gray pixels, with transparent parts as white paper. A truncated JPEG is gray beyond its
/// end. Retrying never helps.
pub fn decode(photo: &[u8]) -> Result<Luma, NotDecoded> {
    let image = decode_to(Colors::Gray, photo)?.into_luma8();
    let (width, height) = image.dimensions();
    let side = |side: u32| usize::try_from(side).unwrap_or(usize::MAX);
    Luma::new(side(width), side(height), image.into_raw()).ok_or_else(NotDecoded::other_pixels)
}

/// Like [`decode`], in colors. A photo of more than [`MAX_COLOR_PIXELS`] stays gray.
pub(crate) fn decode_colors(photo: &[u8]) -> Result<DynamicImage, NotDecoded> {
    decode_to(Colors::Rgb, photo)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colors {
    Gray,
    Rgb,
}

fn decode_to(colors: Colors, photo: &[u8]) -> Result<DynamicImage, NotDecoded> {
    if u64::try_from(photo.len()).is_ok_and(|bytes| bytes > MAX_BYTES) {
        return Err(NotDecoded::TooManyBytes);
    }
    let photo_type = PhotoType::from_magic_bytes(photo).ok_or(NotDecoded::NotAnImage)?;
    let decoded = match photo_type {
        PhotoType::Jpeg => jpeg::decode(colors, photo),
        PhotoType::Png => png::decode(colors, photo),
        PhotoType::Webp => webp::decode(colors, photo),
    };
    match decoded {
        Err(NotDecoded::Damaged(_)) if !has_size(photo_type, photo) => Err(NotDecoded::NoHeader),
        decoded => decoded,
    }
}

fn has_size(photo_type: PhotoType, photo: &[u8]) -> bool {
    let size = match photo_type {
        PhotoType::Jpeg => jpeg::size(photo),
        PhotoType::Png => png::size(photo),
        PhotoType::Webp => webp::size(photo),
    };
    size.is_some_and(|(width, height)| width > 0 && height > 0)
}

#[derive(Clone, Copy)]
struct Size {
    width: u32,
    height: u32,
}

impl Size {
    fn bounded(width: u32, height: u32) -> Result<Self, NotDecoded> {
        if width == 0 || height == 0 {
            return Err(NotDecoded::damaged("a side without pixels"));
        }
        if width > MAX_SIDE
            || height > MAX_SIDE
            || u64::from(width) * u64::from(height) > MAX_PIXELS
        {
            return Err(NotDecoded::TooManyPixels { width, height });
        }
        Ok(Self { width, height })
    }

    fn pixels(self) -> usize {
        usize::try_from(self.width * self.height).unwrap_or(usize::MAX)
    }

    fn colors(self, wanted: Colors) -> Colors {
        if self.pixels() > MAX_COLOR_PIXELS {
            Colors::Gray
        } else {
            wanted
        }
    }

    fn upright(self, pixels: Pixels, exif: Option<&[u8]>) -> Result<DynamicImage, NotDecoded> {
        let Self { width, height } = self;
        let exif = exif.map(|exif| exif.strip_prefix(b"Exif\0\0").unwrap_or(exif));
        let orientation = exif.and_then(Orientation::from_exif_chunk);
        let image = match pixels.colors {
            Colors::Gray => {
                GrayImage::from_raw(width, height, pixels.bytes).map(DynamicImage::from)
            }
            Colors::Rgb => RgbImage::from_raw(width, height, pixels.bytes).map(DynamicImage::from),
        };
        let mut image = image.ok_or_else(NotDecoded::other_pixels)?;
        image.apply_orientation(orientation.unwrap_or(Orientation::NoTransforms));
        Ok(image)
    }
}

struct Pixels {
    colors: Colors,
    bytes: Vec<u8>,
}

impl Pixels {
    fn new(colors: Colors, size: Size) -> Self {
        let channels = match colors {
            Colors::Gray => 1,
            Colors::Rgb => 3,
        };
        Self {
            colors,
            bytes: Vec::with_capacity(size.pixels().saturating_mul(channels)),
        }
    }

    /// Appends samples with 1 to 4 channels: gray or colors, perhaps with alpha, which is blended
    /// with white.
    fn push(&mut self, channels: usize, samples: &[u8]) {
        match (self.colors, channels) {
            (Colors::Gray, 1) | (Colors::Rgb, 3) => self.bytes.extend_from_slice(samples),
            (Colors::Gray, 2) => self.extend(samples, |[g, a]| [on_white(g, a)]),
            (Colors::Gray, 3) => self.extend(samples, |pixel| [brightness(pixel)]),
            (Colors::Gray, _) => {
                self.extend(samples, |[r, g, b, a]| [on_white(brightness([r, g, b]), a)])
            }
            (Colors::Rgb, 1) => self.extend(samples, |[g]| [g; 3]),
            (Colors::Rgb, 2) => self.extend(samples, |[g, a]| [on_white(g, a); 3]),
            (Colors::Rgb, _) => {
                self.extend(samples, |[r, g, b, a]| [r, g, b].map(|c| on_white(c, a)));
            }
        }
    }

    fn extend<const N: usize, const M: usize>(
        &mut self,
        samples: &[u8],
        value: impl Fn([u8; N]) -> [u8; M],
    ) {
        let pixels = samples.as_chunks().0.iter();
        self.bytes.extend(pixels.flat_map(|pixel| value(*pixel)));
    }
}

/// BT.601 luma, with weights in 1/256.
fn brightness([red, green, blue]: [u8; 3]) -> u8 {
    let sum = 77 * u32::from(red) + 150 * u32::from(green) + 29 * u32::from(blue);
    u8::try_from(sum / 256).unwrap_or(u8::MAX)
}

fn on_white(gray: u8, alpha: u8) -> u8 {
    let (gray, alpha) = (u32::from(gray), u32::from(alpha));
    u8::try_from((gray * alpha + 255 * (255 - alpha)) / 255).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests;
