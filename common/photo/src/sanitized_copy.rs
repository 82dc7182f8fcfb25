//! The copy that reviewers see: gray pixels, upright, in a new PNG file without location, device or
//! hidden data.

use std::io::{self, Write};

use png::{BitDepth, ColorType, Compression, Encoder};

use super::luma::Luma;

/// Approximate pixels of the longer side: small print is readable.
const SIDE: usize = 2_500;

/// More than a copy's pixels: PNG hardly compresses noise.
pub(super) const MAX_SHOWN_BYTES: u64 = 16 * 1024 * 1024;

pub(super) fn encode(photo: &Luma) -> io::Result<Vec<u8>> {
    let copy = photo.shrunk(photo.longer_side().div_ceil(SIDE));
    let side = |side: usize| u32::try_from(side).map_err(io::Error::other);
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, side(copy.width())?, side(copy.height())?);
    encoder.set_color(ColorType::Grayscale);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::Fast);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(copy.pixels())?;
    writer.finish()?;
    file.flush()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::decode;

    #[test]
    fn a_copy_has_the_pixels_of_the_photo() {
        let pixels = (0..=255).collect();
        let photo = Luma::new(32, 8, pixels).expect("a photo");
        let copy = encode(&photo).expect("a copy");
        assert_eq!(decode(&copy), Ok(photo));
    }

    #[test]
    fn a_copy_of_a_large_photo_is_shrunk() {
        let photo = Luma::new(2 * SIDE, 10, vec![9; 20 * SIDE]).expect("a photo");
        let copy = encode(&photo).expect("a copy");
        assert_eq!(decode(&copy).ok(), Luma::new(SIDE, 5, vec![9; 5 * SIDE]));
    }
}
