//! The library allocates by sizes from the file before checking them, so every size is limited here
//! first.

use std::io::Cursor;

use image::DynamicImage;
use image_webp::WebPDecoder;

use super::{Colors, NotDecoded, Pixels, Size};

/// `RIFF`, the file's length and `WEBP`.
const FILE_HEADER_BYTES: usize = 12;

const ANIMATION_FLAG: u8 = 0x02;

const METADATA_BYTES: usize = 256 * 1024;

pub(super) fn size(photo: &[u8]) -> Option<(u32, u32)> {
    Chunks(photo.get(FILE_HEADER_BYTES..)?).find_map(|chunk| chunk.size())
}

pub(super) fn decode(colors: Colors, photo: &[u8]) -> Result<DynamicImage, NotDecoded> {
    for chunk in Chunks(photo.get(FILE_HEADER_BYTES..).unwrap_or_default()) {
        chunk.check()?;
    }
    let mut decoder = WebPDecoder::new(Cursor::new(photo)).map_err(NotDecoded::damaged)?;
    if decoder.is_animated() {
        return Err(NotDecoded::Animated);
    }
    let (width, height) = decoder.dimensions();
    let size = Size::bounded(width, height)?;
    let channels = if decoder.has_alpha() { 4 } else { 3 };
    let bytes = decoder.output_buffer_size();
    let mut pixels = vec![0; bytes.ok_or_else(NotDecoded::too_large_for_memory)?];
    decoder
        .read_image(&mut pixels)
        .map_err(NotDecoded::damaged)?;
    let mut shown = Pixels::new(size.colors(colors), size);
    shown.push(channels, &pixels);
    drop(pixels);
    decoder.set_memory_limit(METADATA_BYTES);
    let exif = decoder.exif_metadata().ok().flatten();
    size.upright(shown, exif.as_deref())
}

/// Chunks of a RIFF file, up to the first broken one.
struct Chunks<'a>(&'a [u8]);

struct Chunk<'a> {
    name: &'a [u8],
    content: &'a [u8],
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Chunk<'a>;

    fn next(&mut self) -> Option<Chunk<'a>> {
        let (name, rest) = self.0.split_at_checked(4)?;
        let (length, rest) = rest.split_at_checked(4)?;
        let length = usize::try_from(u32::from_le_bytes(length.try_into().ok()?)).ok()?;
        let content = rest.get(..length).unwrap_or(rest);
        // Chunks of odd length are padded.
        self.0 = rest
            .get(length.checked_add(length % 2)?..)
            .unwrap_or_default();
        Some(Chunk { name, content })
    }
}

impl Chunk<'_> {
    /// Refuses sizes above the limits, and animations.
    fn check(&self) -> Result<(), NotDecoded> {
        let flags = self.content.first().copied().unwrap_or_default();
        match self.name {
            b"ANIM" | b"ANMF" => Err(NotDecoded::Animated),
            b"VP8X" if flags & ANIMATION_FLAG != 0 => Err(NotDecoded::Animated),
            b"VP8X" | b"VP8 " | b"VP8L" => {
                let (width, height) = self
                    .size()
                    .ok_or_else(|| NotDecoded::damaged("a size is cut off"))?;
                Size::bounded(width, height).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// `None` in other chunks, and if it is cut off.
    fn size(&self) -> Option<(u32, u32)> {
        match self.name {
            b"VP8X" => self
                .number(4)
                .zip(self.number(6))
                .map(|(w, h)| ((w & 0xff_ffff) + 1, (h >> 8) + 1)),
            b"VP8 " => self
                .number(6)
                .map(|sides| (sides & 0x3fff, (sides >> 16) & 0x3fff)),
            b"VP8L" => self
                .number(1)
                .map(|sides| ((sides & 0x3fff) + 1, ((sides >> 14) & 0x3fff) + 1)),
            _ => None,
        }
    }

    /// Four bytes, little-endian.
    fn number(&self, start: usize) -> Option<u32> {
        let bytes = self.content.get(start..start + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }
}
