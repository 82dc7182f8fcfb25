//! What kind of image some bytes begin like. Names and declared types are the sender's word; this is the file's own.

/// The image formats that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhotoKind {
    /// JPEG, which phones send.
    Jpeg,
    /// PNG, which screenshots are.
    Png,
    /// WebP, which messengers make.
    Webp,
}

impl PhotoKind {
    /// How many first bytes decide.
    pub const DECIDING_BYTES: usize = 12;

    /// The kind of an image by its first bytes (12 suffice); `None` when it is no image that is read.
    pub fn of(first_bytes: &[u8]) -> Option<Self> {
        if first_bytes.starts_with(b"\xff\xd8\xff") {
            Some(Self::Jpeg)
        } else if first_bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
            Some(Self::Png)
        } else if first_bytes.starts_with(b"RIFF") && first_bytes.get(8..12) == Some(b"WEBP") {
            Some(Self::Webp)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_decide() {
        assert_eq!(PhotoKind::of(b"\xff\xd8\xff\xe0"), Some(PhotoKind::Jpeg));
        assert_eq!(PhotoKind::of(b"\x89PNG\r\n\x1a\n\0\0\0\r"), Some(PhotoKind::Png));
        assert_eq!(PhotoKind::of(b"RIFF\x10\0\0\0WEBP"), Some(PhotoKind::Webp));
    }

    #[test]
    fn anything_else_is_no_image() {
        for bytes in [&b""[..], b"\xff\xd8", b"RIFF\x10\0\0\0WAVE", b"GIF89a", b"%PDF-1.7", b"<svg>"] {
            assert_eq!(PhotoKind::of(bytes), None, "{bytes:?}");
        }
    }
}
