//! Upright pixels in a new JPEG file without location, device or hidden data.

use std::io;

use image::DynamicImage;
use image::codecs::jpeg::JpegEncoder;

/// Pixels of the longer side: small print is readable.
const SIDE: u32 = 2_500;
/// Small print has no visible blocks.
const QUALITY: u8 = 85;

/// More than a copy of noise takes.
pub(super) const MAX_SHOWN_BYTES: u64 = 16 * 1024 * 1024;

pub(super) fn encode(photo: DynamicImage) -> io::Result<Vec<u8>> {
    let is_large = photo.width().max(photo.height()) > SIDE;
    let copy = if is_large {
        photo.thumbnail(SIDE, SIDE)
    } else {
        photo
    };
    let mut file = Vec::new();
    let encoder = JpegEncoder::new_with_quality(&mut file, QUALITY);
    copy.write_with_encoder(encoder).map_err(io::Error::other)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use image::{GrayImage, Rgb, RgbImage};

    use super::*;
    use crate::decode::{decode, decode_colors};

    #[test]
    fn copy_has_the_colors_of_the_photo() {
        let color = |x, _| Rgb([if x < 32 { 200 } else { 20 }, 40, 90]);
        let photo = RgbImage::from_fn(64, 48, color);
        let copy = encode(photo.clone().into()).expect("a copy");
        let copy = decode_colors(&copy).expect("a photo").into_rgb8();
        assert_eq!(copy.dimensions(), photo.dimensions());
        for (x, y) in [(5, 5), (60, 40)] {
            let pairs = std::iter::zip(copy.get_pixel(x, y).0, photo.get_pixel(x, y).0);
            for (shown, real) in pairs {
                assert!(shown.abs_diff(real) < 8, "{shown} {real}");
            }
        }
    }

    #[test]
    fn copy_of_a_gray_photo_is_gray_and_of_a_large_one_small() {
        let photo = GrayImage::from_pixel(2 * SIDE, 10, image::Luma([90]));
        let copy = encode(photo.into()).expect("a copy");
        let luma = decode(&copy).expect("a photo");
        assert_eq!((luma.width(), luma.height()), (2_500, 5));
        assert!(luma.pixels().iter().all(|pixel| pixel.abs_diff(90) < 4));
        let is_gray = matches!(decode_colors(&copy), Ok(DynamicImage::ImageLuma8(_)));
        assert!(is_gray);
    }
}
