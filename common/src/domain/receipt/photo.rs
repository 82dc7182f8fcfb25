use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::domain::Timestamp;

/// 5 MB as storage and browsers count it.
pub const MAX_BYTES: u64 = 5 * 1024 * 1024;

pub const MAGIC_BYTES: usize = 12;

text_enum! {
    /// Media type of a photo.
    #[derive(schemars::JsonSchema)]
    pub enum PhotoType {
        /// JPEG.
        Jpeg = "image/jpeg",
        /// PNG.
        Png = "image/png",
        /// WebP.
        Webp = "image/webp",
    }
}

impl PhotoType {
    pub fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            Self::Png => "png",
            Self::Webp => "webp",
        }
    }

    pub fn from_magic_bytes(first: &[u8]) -> Option<Self> {
        if first.starts_with(&[0xff, 0xd8, 0xff]) {
            Some(Self::Jpeg)
        } else if first.starts_with(b"\x89PNG\r\n\x1a\n") {
            Some(Self::Png)
        } else if first.starts_with(b"RIFF") && first.get(8..12) == Some(b"WEBP") {
            Some(Self::Webp)
        } else {
            None
        }
    }
}

/// SHA-256 in hexadecimal, to recognize repeated files.
pub fn photo_digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPhoto {
    pub bytes: u64,
    pub photo_type: Option<PhotoType>,
    pub seen_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_photo_has_as_many_bytes_as_the_api_promises() {
        assert_eq!(MAX_BYTES, 5_242_880);
    }

    #[test]
    fn a_file_is_named_by_its_type_and_known_by_its_digest() {
        assert_eq!(
            PhotoType::ALL.map(PhotoType::extension),
            ["jpg", "png", "webp"]
        );
        let of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(photo_digest(b""), of_nothing);
    }

    #[test]
    fn a_file_is_what_its_first_bytes_say() {
        assert_eq!(
            PhotoType::from_magic_bytes(b"\xff\xd8\xff\xe0....JFIF"),
            Some(PhotoType::Jpeg)
        );
        assert_eq!(
            PhotoType::from_magic_bytes(b"\x89PNG\r\n\x1a\n...."),
            Some(PhotoType::Png)
        );
        assert_eq!(
            PhotoType::from_magic_bytes(b"RIFF\x00\x00\x00\x00WEBPVP8 "),
            Some(PhotoType::Webp)
        );
        for other in [
            &b""[..],
            b"RIFF",
            b"RIFF\x00\x00\x00\x00WAVEfmt ",
            b"GIF89a",
            b"<svg>",
            b"\xff\xd8",
        ] {
            assert_eq!(PhotoType::from_magic_bytes(other), None, "{other:?}");
        }
    }
}
