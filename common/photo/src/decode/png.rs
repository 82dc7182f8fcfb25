//! PNG images: screenshots, and photos converted by a messenger.

use std::io::Cursor;

use png::{Decoder, Limits, Transformations};

use super::{NotDecoded, Size, push_gray};
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
    // Eight bits for each of 1 to 4 channels.
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let header = decoder.read_header_info().map_err(NotDecoded::damaged)?;
    let size = Size::bounded(header.width, header.height)?;
    let mut reader = decoder.read_info().map_err(NotDecoded::damaged)?;
    let (color_type, _) = reader.output_color_type();
    let channels = color_type.samples();
    let mut gray = Vec::with_capacity(size.pixels());
    if reader.info().interlaced {
        // Rows come in seven passes and are in order only at the end.
        let bytes = reader.output_buffer_size();
        let mut pixels = vec![0; bytes.ok_or_else(NotDecoded::too_large_for_memory)?];
        reader
            .next_frame(&mut pixels)
            .map_err(NotDecoded::damaged)?;
        push_gray(channels, &pixels, &mut gray);
    } else {
        while let Some(row) = reader.next_row().map_err(NotDecoded::damaged)? {
            push_gray(channels, row.data(), &mut gray);
        }
    }
    size.luma(gray, reader.info().exif_metadata.as_deref())
}
