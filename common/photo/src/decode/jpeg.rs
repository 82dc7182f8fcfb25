use image::DynamicImage;
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use super::{Colors, NotDecoded, Pixels, Size};

/// Scans of a progressive photo: cameras make about ten, each a pass over all pixels.
const MAX_SCANS: usize = 40;

/// Width and height from the first frame header, even of a damaged file.
pub(super) fn size(photo: &[u8]) -> Option<(u32, u32)> {
    let mut rest = photo.get(2..)?;
    loop {
        let [0xff, after @ ..] = rest else {
            return None;
        };
        let (marker, after) = after.split_first()?;
        match marker {
            // A fill byte before a marker, and markers without a length.
            0xff => rest = rest.get(1..)?,
            0x01 | 0xd0..=0xd7 => rest = after,
            // End of image, or pixel data: the frame header precedes both.
            0xd9 | 0xda => return None,
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                let [_, _, _precision, y1, y0, x1, x0, ..] = after else {
                    return None;
                };
                return Some((
                    u16::from_be_bytes([*x1, *x0]).into(),
                    u16::from_be_bytes([*y1, *y0]).into(),
                ));
            }
            _ => {
                let [high, low, ..] = after else { return None };
                rest = after.get(usize::from(u16::from_be_bytes([*high, *low]))..)?;
            }
        }
    }
}

pub(super) fn decode(colors: Colors, photo: &[u8]) -> Result<DynamicImage, NotDecoded> {
    // The format's maximum, so that our own limit applies and names the size.
    let longest = usize::from(u16::MAX);
    let options = DecoderOptions::new_safe()
        .set_max_width(longest)
        .set_max_height(longest)
        .set_strict_mode(false)
        .jpeg_set_max_scans(MAX_SCANS)
        .jpeg_set_out_colorspace(ColorSpace::Luma);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(photo), options);
    decoder.decode_headers().map_err(NotDecoded::damaged)?;
    let info = decoder
        .info()
        .ok_or_else(|| NotDecoded::damaged("no frame header"))?;
    let size = Size::bounded(u32::from(info.width), u32::from(info.height))?;
    let input = decoder.input_colorspace();
    let colors = match size.colors(colors) {
        Colors::Rgb if input == Some(ColorSpace::Luma) => Colors::Gray,
        colors => colors,
    };
    // CMYK and plain RGB are rare, and decoded only as colors.
    let is_gray = matches!(input, Some(ColorSpace::YCbCr | ColorSpace::Luma));
    let channels = match colors {
        Colors::Gray if is_gray => 1,
        Colors::Gray | Colors::Rgb => 3,
    };
    if channels == 3 {
        decoder.set_options(options.jpeg_set_out_colorspace(ColorSpace::RGB));
    }
    let decoded = decoder.decode().map_err(NotDecoded::damaged)?;
    let pixels = if colors == Colors::Gray && channels == 3 {
        let mut gray = Pixels::new(colors, size);
        gray.push(channels, &decoded);
        gray
    } else {
        Pixels {
            colors,
            bytes: decoded,
        }
    };
    size.upright(pixels, decoder.exif().map(Vec::as_slice))
}
