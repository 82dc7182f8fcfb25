//! Writes photos as files.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::{GrayImage, ImageError, ImageFormat};

/// The photo could not be written: a side is too long for the format, or zero.
#[derive(Debug, thiserror::Error)]
#[error("this photo cannot be written in this format")]
pub struct NotWritten(#[from] ImageError);

/// As JPEG, of quality 1 to 100, in colours as phones write it.
///
/// # Errors
/// When the format cannot hold the photo.
pub fn jpeg(photo: &GrayImage, quality: u8) -> Result<Vec<u8>, NotWritten> {
    let mut file = Vec::new();
    JpegEncoder::new_with_quality(&mut file, quality).encode_image(&colored(photo))?;
    Ok(file)
}

/// As PNG.
///
/// # Errors
/// When the format cannot hold the photo.
pub fn png(photo: &GrayImage) -> Result<Vec<u8>, NotWritten> {
    written(photo, ImageFormat::Png)
}

/// As lossless WebP.
///
/// # Errors
/// When the format cannot hold the photo.
pub fn webp(photo: &GrayImage) -> Result<Vec<u8>, NotWritten> {
    written(photo, ImageFormat::WebP)
}

fn written(photo: &GrayImage, format: ImageFormat) -> Result<Vec<u8>, NotWritten> {
    let mut file = Cursor::new(Vec::new());
    colored(photo).write_to(&mut file, format)?;
    Ok(file.into_inner())
}

/// Three channels, in the warm light of a shop.
fn colored(photo: &GrayImage) -> image::RgbImage {
    image::RgbImage::from_fn(photo.width(), photo.height(), |x, y| {
        let gray = photo.get_pixel(x, y).0[0];
        image::Rgb([gray, gray, gray - gray / 16])
    })
}
