//! Generated photos of receipts for tests and trials. The same look and seed give the same photo.
//!
//! `paper` draws a receipt with QR codes, `camera` photographs it with a [`Look`], and `files`
//! encodes it.

mod camera;
mod files;
mod look;
mod paper;
mod random;

use image::GrayImage;

pub use files::{NotWritten, jpeg, png, webp};
pub use look::Look;

#[derive(Debug, thiserror::Error)]
#[error("a payload is too long for a QR code: about 2,300 bytes fit")]
pub struct TooLong(#[from] qrcode::types::QrError);

/// A photo with a QR code for each payload, in rows of three.
pub fn qr_photo(payloads: &[&str], look: &Look, seed: u64) -> Result<GrayImage, TooLong> {
    let paper = paper::print(payloads, seed)?;
    Ok(camera::photograph(&paper, look, seed))
}
