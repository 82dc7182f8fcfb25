//! PNG images: screenshots, and photos that a messenger converted.

use std::io::Cursor;

use png::{BitDepth, ColorType, Decoder, Limits, Reader, Transformations};

use super::super::luma::Luma;
use super::super::orientation::Orientation;
use super::{NotDecoded, Samples, Size};

/// Memory limit of the decoder for rows and ancillary chunks: a row of 16,384 pixels of 8 bytes is 128 KiB, an EXIF
/// block 64 KiB.
const DECODER_BYTES: usize = 8 * 1024 * 1024;

/// Width and height from the first chunk.
pub(super) fn size(photo: &[u8]) -> Option<(u32, u32)> {
    let header = photo.get(12..24)?.strip_prefix(b"IHDR")?;
    let (width, height) = header.split_first_chunk()?;
    Some((
        u32::from_be_bytes(*width),
        u32::from_be_bytes(height.try_into().ok()?),
    ))
}

pub(super) fn decode(photo: &[u8]) -> Result<(Luma, Orientation), NotDecoded> {
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
    let gray = if reader.info().interlaced {
        whole(&mut reader, samples)
    } else {
        row_by_row(&mut reader, samples, size)
    }?;
    let exif = reader.info().exif_metadata.as_deref();
    let orientation = exif.map_or_else(Orientation::default, Orientation::from_exif);
    Ok((size.luma(gray)?, orientation))
}

type PngReader<'a> = Reader<Cursor<&'a [u8]>>;

fn row_by_row(
    reader: &mut PngReader<'_>,
    samples: Samples,
    size: Size,
) -> Result<Vec<u8>, NotDecoded> {
    let mut gray = Vec::with_capacity(size.width * size.height);
    while let Some(row) = reader.next_row().map_err(NotDecoded::damaged)? {
        samples.push_gray(row.data(), &mut gray);
    }
    Ok(gray)
}

/// Decodes an interlaced image at once: its rows come in seven passes and are only in order at the end.
fn whole(reader: &mut PngReader<'_>, samples: Samples) -> Result<Vec<u8>, NotDecoded> {
    let mut pixels = vec![
        0;
        reader
            .output_buffer_size()
            .ok_or_else(NotDecoded::too_large_for_memory)?
    ];
    reader
        .next_frame(&mut pixels)
        .map_err(NotDecoded::damaged)?;
    let mut gray = Vec::new();
    samples.push_gray(&pixels, &mut gray);
    Ok(gray)
}
