//! PNG images: screenshots, and photos converted by a messenger.

use std::io::Cursor;

use png::{BitDepth, ColorType, Decoder, Limits, Transformations};

use super::{NotDecoded, Samples, Size};
use crate::luma::Luma;

/// Decoder's memory for rows and ancillary chunks: a row of 16,384 pixels of 8 bytes is 128 KiB, an
/// EXIF block 64 KiB.
const DECODER_BYTES: usize = 8 * 1024 * 1024;

pub(super) fn size(photo: &[u8]) -> Option<(u32, u32)> {
    let header = photo.get(12..24)?.strip_prefix(b"IHDR")?;
    let (width, height) = header.split_first_chunk()?;
    Some((
        u32::from_be_bytes(*width),
        u32::from_be_bytes(height.try_into().ok()?),
    ))
}

pub(super) fn decode(photo: &[u8]) -> Result<Luma, NotDecoded> {
    let mut decoder = Decoder::new_with_limits(
        Cursor::new(photo),
        Limits {
            bytes: DECODER_BYTES,
        },
    );
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let header = decoder.read_header_info().map_err(NotDecoded::damaged)?;
    let size = Size::bounded(header.width, header.height)?;
    let mut reader = decoder.read_info().map_err(NotDecoded::damaged)?;
    let samples = match reader.output_color_type() {
        (ColorType::Grayscale, BitDepth::Eight) => Samples::Gray,
        (ColorType::GrayscaleAlpha, BitDepth::Eight) => Samples::GrayAlpha,
        (ColorType::Rgb, BitDepth::Eight) => Samples::Rgb,
        (ColorType::Rgba, BitDepth::Eight) => Samples::Rgba,
        _ => return Err(NotDecoded::damaged("an unknown color type")),
    };
    let mut gray = Vec::with_capacity(size.pixels());
    if reader.info().interlaced {
        // Rows come in seven passes and are in order only at the end.
        let bytes = reader.output_buffer_size();
        let mut pixels = vec![0; bytes.ok_or_else(NotDecoded::too_large_for_memory)?];
        reader
            .next_frame(&mut pixels)
            .map_err(NotDecoded::damaged)?;
        samples.push_gray(&pixels, &mut gray);
    } else {
        while let Some(row) = reader.next_row().map_err(NotDecoded::damaged)? {
            samples.push_gray(row.data(), &mut gray);
        }
    }
    size.luma(gray, reader.info().exif_metadata.as_deref())
}
