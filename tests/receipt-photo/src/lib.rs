//! Generated photos of receipts for tests, benchmarks and manual trials. The same look and seed always give the same
//! photo.
//!
//! `paper` draws a receipt with its QR codes, `camera` photographs it with a [`Look`], and `files` encodes it as JPEG,
//! PNG or WebP.

mod camera;
mod files;
mod look;
mod paper;
mod random;

use image::GrayImage;

pub use files::{NotWritten, jpeg, png, webp};
pub use look::Look;

/// The payload does not fit a QR code.
#[derive(Debug, thiserror::Error)]
#[error("a payload is too long for a QR code: about 2,300 bytes fit")]
pub struct TooLong(#[from] qrcode::types::QrError);

/// A photo of a receipt with a QR code for each payload, in rows of three.
pub fn qr_photo(payloads: &[&str], look: &Look, seed: u64) -> Result<GrayImage, TooLong> {
    let paper = paper::print(payloads, seed)?;
    Ok(camera::photograph(&paper, look, seed))
}
