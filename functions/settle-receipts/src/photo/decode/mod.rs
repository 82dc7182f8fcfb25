//! From the bytes of a photo to gray pixels. Sizes are read from the headers and bounded before any
//! pixel is decoded; the file's own first bytes say what it is.

mod jpeg;
mod png;
mod webp;

use common::domain::receipt::photo::{MAX_BYTES, PhotoType};

use super::luma::Luma;

/// Pixels of a photo, at most: phones make 12 million, some 40. Decoding that many stays well
/// inside the child's memory.
pub const MAX_PIXELS: u64 = 40_000_000;

/// Pixels of one side, at most: longer ones are no photo.
pub const MAX_SIDE: u32 = 16_384;

/// Why a photo could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotDecoded {
    /// More than [`MAX_BYTES`].
    #[error("the photo is larger than {MAX_BYTES} bytes")]
    TooManyBytes,
    /// Neither JPEG nor PNG nor WebP.
    #[error("the file is no JPEG, PNG or WebP image")]
    NotAnImage,
    /// It begins like one, but no header says how large the picture is.
    #[error("the file begins like an image, but holds no size of a picture")]
    NoHeader,
    /// It begins like a picture with a size, but cannot be decoded.
    #[error("the photo is damaged")]
    Damaged,
    /// More pixels than are decoded.
    #[error("the photo has {width} x {height} pixels, too many")]
    TooManyPixels {
        /// Pixels in a row.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// Several pictures.
    #[error("the photo is an animation")]
    Animated,
}

impl NotDecoded {
    /// Whether the file is no picture at all. Anything else can be one that a person makes something of.
    pub fn is_no_picture(&self) -> bool {
        match self {
            Self::NotAnImage | Self::NoHeader => true,
            Self::TooManyBytes | Self::Damaged | Self::TooManyPixels { .. } | Self::Animated => false,
        }
    }

    /// The reason as it stands in `reasons`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::NotAnImage | Self::NoHeader => "photo_not_decoded",
            Self::Damaged => "photo_damaged",
            Self::TooManyBytes | Self::TooManyPixels { .. } => "photo_too_large",
            Self::Animated => "photo_animated",
        }
    }
}

/// The gray pixels of a photo, the right way up, transparent parts as white paper. A JPEG that ends
/// early gives what is there, the rest gray.
///
/// # Errors
/// As [`NotDecoded`] says; all of them last.
pub fn decode(photo: &[u8]) -> Result<Luma, NotDecoded> {
    if u64::try_from(photo.len()).is_ok_and(|bytes| bytes > MAX_BYTES) {
        return Err(NotDecoded::TooManyBytes);
    }
    let photo_type = PhotoType::from_magic_bytes(photo).ok_or(NotDecoded::NotAnImage)?;
    let decoded = match photo_type {
        PhotoType::Jpeg => jpeg::decode(photo),
        PhotoType::Png => png::decode(photo),
        PhotoType::Webp => webp::decode(photo),
    };
    match decoded {
        Ok((luma, orientation)) => Ok(luma.rotated(orientation)),
        Err(NotDecoded::Damaged) if !has_size(photo_type, photo) => Err(NotDecoded::NoHeader),
        Err(fault) => Err(fault),
    }
}

/// Whether a header of the file says how large the picture is, whatever becomes of the rest.
fn has_size(photo_type: PhotoType, photo: &[u8]) -> bool {
    let size = match photo_type {
        PhotoType::Jpeg => jpeg::size(photo),
        PhotoType::Png => png::size(photo),
        PhotoType::Webp => webp::size(photo),
    };
    size.is_some_and(|(width, height)| width > 0 && height > 0)
}

/// The sides of an image, when it may be decoded.
#[derive(Clone, Copy)]
struct Size {
    width: usize,
    height: usize,
}

impl Size {
    fn bounded(width: u32, height: u32) -> Result<Self, NotDecoded> {
        if width == 0 || height == 0 {
            return Err(NotDecoded::Damaged);
        }
        if width > MAX_SIDE || height > MAX_SIDE || u64::from(width) * u64::from(height) > MAX_PIXELS {
            return Err(NotDecoded::TooManyPixels { width, height });
        }
        let side = |side: u32| usize::try_from(side).map_err(|_| NotDecoded::Damaged);
        Ok(Self { width: side(width)?, height: side(height)? })
    }

    fn luma(self, pixels: Vec<u8>) -> Result<Luma, NotDecoded> {
        Luma::new(self.width, self.height, pixels).ok_or(NotDecoded::Damaged)
    }
}

/// What the samples of one pixel are.
#[derive(Clone, Copy)]
enum Samples {
    Gray,
    GrayAlpha,
    Rgb,
    Rgba,
}

impl Samples {
    /// Appends the gray of each pixel; transparent ones lie on white paper.
    fn push_gray(self, samples: &[u8], gray: &mut Vec<u8>) {
        match self {
            Self::Gray => gray.extend_from_slice(samples),
            Self::GrayAlpha => gray.extend(samples.as_chunks().0.iter().map(|&[g, a]| on_white(g, a))),
            Self::Rgb => gray.extend(samples.as_chunks().0.iter().map(|&[r, g, b]| brightness(r, g, b))),
            Self::Rgba => gray
                .extend(samples.as_chunks().0.iter().map(|&[r, g, b, a]| on_white(brightness(r, g, b), a))),
        }
    }
}

/// Luma of ITU-R BT.601, in 1/256.
fn brightness(red: u8, green: u8, blue: u8) -> u8 {
    let sum = 77 * u32::from(red) + 150 * u32::from(green) + 29 * u32::from(blue);
    u8::try_from(sum / 256).unwrap_or(u8::MAX)
}

fn on_white(gray: u8, alpha: u8) -> u8 {
    let (gray, alpha) = (u32::from(gray), u32::from(alpha));
    u8::try_from((gray * alpha + 255 * (255 - alpha)) / 255).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests;
