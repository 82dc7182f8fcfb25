//! The accepted files for photos of receipts.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::domain::timestamp::Timestamp;

/// The largest photo, in bytes: 5 MB as storage and browsers count it.
pub const MAX_BYTES: u64 = 5 * 1024 * 1024;

/// The number of bytes at the start of a file that identify its type.
pub const MAGIC_BYTES: usize = 12;

/// Media type of a photo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum PhotoType {
    /// JPEG.
    #[serde(rename = "image/jpeg")]
    Jpeg,
    /// PNG.
    #[serde(rename = "image/png")]
    Png,
    /// WebP.
    #[serde(rename = "image/webp")]
    Webp,
}

impl PhotoType {
    /// All types, in the order shown to callers.
    pub const ALL: [Self; 3] = [Self::Jpeg, Self::Png, Self::Webp];

    /// Its media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Webp => "image/webp",
        }
    }

    /// The usual end of a file's name.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            Self::Png => "png",
            Self::Webp => "webp",
        }
    }

    /// The type with this media type.
    pub fn from_media_type(media_type: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|of| of.media_type() == media_type)
    }

    /// The type of a file by its first bytes, whatever its name.
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

/// SHA-256 of a photo's bytes, in hexadecimal, to recognize a file that was sent before.
pub fn photo_digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// A file in storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPhoto {
    /// The size in bytes.
    pub bytes: u64,
    /// The type by the first bytes; `None` if the file is not a photo.
    pub photo_type: Option<PhotoType>,
    /// When we first saw the file.
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

    #[test]
    fn a_media_type_is_matched_exactly() {
        for photo_type in PhotoType::ALL {
            assert_eq!(
                PhotoType::from_media_type(photo_type.media_type()),
                Some(photo_type)
            );
        }
        assert_eq!(PhotoType::from_media_type("image/gif"), None);
        assert_eq!(PhotoType::from_media_type("image/jpeg; q=1"), None);
    }
}
