//! Photos of receipts that nobody took: for tests, benchmarks and first tries of the service. The
//! same look and seed always give the same photo.
//!
//! `paper` prints a receipt with its QR codes, `camera` photographs it as a [`Look`] says, and
//! `files` writes it as JPEG, PNG or WebP.

mod camera;
mod files;
mod look;
mod paper;
mod random;

use image::GrayImage;

pub use files::{NotWritten, jpeg, png, webp};
pub use look::Look;

/// The payload cannot be put into a QR code.
#[derive(Debug, thiserror::Error)]
#[error("a payload is too long for a QR code: about 2,300 bytes fit")]
pub struct TooLong(#[from] qrcode::types::QrError);

/// A photo of a receipt that bears these payloads as QR codes, side by side in rows of three.
///
/// # Errors
/// When a payload is too long for a QR code.
pub fn qr_photo(payloads: &[&str], look: &Look, seed: u64) -> Result<GrayImage, TooLong> {
    let paper = paper::print(payloads, seed)?;
    Ok(camera::photograph(&paper, look, seed))
}
