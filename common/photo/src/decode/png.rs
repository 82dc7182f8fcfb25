//! PNG images: screenshots, and photos converted by a messenger.

use std::io::Cursor;

use image::DynamicImage;
use png::{Decoder, Limits, Transformations};

use super::{Colors, NotDecoded, Pixels, Size};

/// A row of 16,384 pixels of 8 bytes is 128 KiB, an EXIF block 64 KiB.
const DECODER_BYTES: usize = 8 * 1024 * 1024;

pub(super) fn size(photo: &[u8]) -> Option<(u32, u32)> {
    let header = photo.get(12..24)?.strip_prefix(b"IHDR")?;
    let (width, height) = header.split_first_chunk()?;
    Some((
        u32::from_be_bytes(*width),
        u32::from_be_bytes(height.try_into().ok()?),
    ))
}

pub(super) fn decode(colors: Colors, photo: &[u8]) -> Result<DynamicImage, NotDecoded> {
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
    let (color_type, _) = reader.output_color_type();
    let channels = color_type.samples();
    let mut shown = Pixels::new(size.colors(colors), size);
    if reader.info().interlaced {
        // Rows come in seven passes and are in order only at the end.
        let bytes = reader.output_buffer_size();
        let mut pixels = vec![0; bytes.ok_or_else(NotDecoded::too_large_for_memory)?];
        reader
            .next_frame(&mut pixels)
            .map_err(NotDecoded::damaged)?;
        shown.push(channels, &pixels);
    } else {
        while let Some(row) = reader.next_row().map_err(NotDecoded::damaged)? {
            shown.push(channels, row.data());
        }
    }
    size.upright(shown, reader.info().exif_metadata.as_deref())
}
