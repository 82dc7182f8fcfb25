use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::{GrayImage, ImageError, ImageFormat};

/// A side is zero or too long for the format.
#[derive(Debug, thiserror::Error)]
#[error("this photo cannot be written in this format")]
pub struct NotWritten(#[from] ImageError);

/// A JPEG of quality 1 to 100, in color as phones write it.
pub fn jpeg(photo: &GrayImage, quality: u8) -> Result<Vec<u8>, NotWritten> {
    let mut file = Vec::new();
    JpegEncoder::new_with_quality(&mut file, quality).encode_image(&colored(photo))?;
    Ok(file)
}

pub fn png(photo: &GrayImage) -> Result<Vec<u8>, NotWritten> {
    written(photo, ImageFormat::Png)
}

/// A lossless WebP.
pub fn webp(photo: &GrayImage) -> Result<Vec<u8>, NotWritten> {
    written(photo, ImageFormat::WebP)
}

fn written(photo: &GrayImage, format: ImageFormat) -> Result<Vec<u8>, NotWritten> {
    let mut file = Cursor::new(Vec::new());
    colored(photo).write_to(&mut file, format)?;
    Ok(file.into_inner())
}

/// Three channels, in warm indoor light.
fn colored(photo: &GrayImage) -> image::RgbImage {
    image::RgbImage::from_fn(photo.width(), photo.height(), |x, y| {
        let gray = photo.get_pixel(x, y).0[0];
        image::Rgb([gray, gray, gray - gray / 16])
    })
}
