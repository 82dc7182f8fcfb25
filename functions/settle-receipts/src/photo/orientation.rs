//! Orientation of the camera (EXIF tag 0x0112).

/// The eight orientations, in the order of their EXIF values 1 to 8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Orientation {
    /// 1: as stored.
    #[default]
    Upright,
    /// 2: left and right swapped.
    Mirrored,
    /// 3: upside down.
    HalfTurn,
    /// 4: top and bottom swapped.
    Flipped,
    /// 5: rows and columns swapped.
    Transposed,
    /// 6: to be turned a quarter clockwise.
    QuarterTurn,
    /// 7: rows and columns swapped from the other corner.
    Transverse,
    /// 8: to be turned a quarter counterclockwise.
    ThreeQuarterTurn,
}

const ORIENTATION_TAG: u16 = 0x0112;

/// Bytes of one directory entry: tag, type, count, value.
const ENTRY_BYTES: usize = 12;

impl Orientation {
    /// Reads EXIF data: a TIFF header and its directories, with or without `Exif\0\0` in front. Upright if the data has
    /// no readable orientation.
    pub fn from_exif(exif: &[u8]) -> Self {
        Self::find(exif.strip_prefix(b"Exif\0\0").unwrap_or(exif)).unwrap_or_default()
    }

    /// True if width and height are swapped.
    pub fn swaps_sides(self) -> bool {
        match self {
            Self::Upright | Self::Mirrored | Self::HalfTurn | Self::Flipped => false,
            Self::Transposed | Self::QuarterTurn | Self::Transverse | Self::ThreeQuarterTurn => {
                true
            }
        }
    }

    /// Where pixel `(x, y)` of the upright picture is stored in an image of `width` by `height`.
    pub(super) fn source(self, x: usize, y: usize, width: usize, height: usize) -> (usize, usize) {
        match self {
            Self::Upright => (x, y),
            Self::Mirrored => (width - 1 - x, y),
            Self::HalfTurn => (width - 1 - x, height - 1 - y),
            Self::Flipped => (x, height - 1 - y),
            Self::Transposed => (y, x),
            Self::QuarterTurn => (y, height - 1 - x),
            Self::Transverse => (width - 1 - y, height - 1 - x),
            Self::ThreeQuarterTurn => (width - 1 - y, x),
        }
    }

    fn find(tiff: &[u8]) -> Option<Self> {
        let order = match tiff.get(..4)? {
            b"II*\0" => ByteOrder::Little,
            b"MM\0*" => ByteOrder::Big,
            _ => return None,
        };
        let directory = usize::try_from(order.u32(tiff.get(4..8)?)?).ok()?;
        let entries = tiff.get(directory.checked_add(2)?..)?;
        let count = order.u16(tiff.get(directory..)?.get(..2)?)?;
        let entry = entries
            .chunks_exact(ENTRY_BYTES)
            .take(usize::from(count))
            .find(|entry| entry.get(..2).and_then(|tag| order.u16(tag)) == Some(ORIENTATION_TAG))?;
        Self::from_value(order.u16(entry.get(8..10)?)?)
    }

    fn from_value(value: u16) -> Option<Self> {
        Some(match value {
            1 => Self::Upright,
            2 => Self::Mirrored,
            3 => Self::HalfTurn,
            4 => Self::Flipped,
            5 => Self::Transposed,
            6 => Self::QuarterTurn,
            7 => Self::Transverse,
            8 => Self::ThreeQuarterTurn,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy)]
enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    fn u16(self, bytes: &[u8]) -> Option<u16> {
        let bytes = bytes.try_into().ok()?;
        Some(match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        })
    }

    fn u32(self, bytes: &[u8]) -> Option<u32> {
        let bytes = bytes.try_into().ok()?;
        Some(match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::luma::Luma;
    use super::*;

    const LITTLE: [u8; 26] = *b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
    const BIG: [u8; 26] = *b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";

    #[test]
    fn both_byte_orders_are_understood_with_and_without_a_prefix() {
        assert_eq!(Orientation::from_exif(&LITTLE), Orientation::QuarterTurn);
        assert_eq!(Orientation::from_exif(&BIG), Orientation::QuarterTurn);
        let prefixed = [&b"Exif\0\0"[..], &LITTLE].concat();
        assert_eq!(Orientation::from_exif(&prefixed), Orientation::QuarterTurn);
    }

    #[test]
    fn nonsense_is_upright() {
        let mut ninth = LITTLE;
        ninth[18] = 9;
        for exif in [&b""[..], b"II*\0\xff\xff\xff\xff", &LITTLE[..20], &ninth] {
            assert_eq!(
                Orientation::from_exif(exif),
                Orientation::Upright,
                "{exif:?}"
            );
        }
    }

    #[test]
    fn each_value_shows_the_same_picture() {
        let upright = Luma::new(2, 3, vec![1, 2, 3, 4, 5, 6]).expect("an image");
        let stored: [(u16, usize, [u8; 6]); 8] = [
            (1, 2, [1, 2, 3, 4, 5, 6]),
            (2, 2, [2, 1, 4, 3, 6, 5]),
            (3, 2, [6, 5, 4, 3, 2, 1]),
            (4, 2, [5, 6, 3, 4, 1, 2]),
            (5, 3, [1, 3, 5, 2, 4, 6]),
            (6, 3, [2, 4, 6, 1, 3, 5]),
            (7, 3, [6, 4, 2, 5, 3, 1]),
            (8, 3, [5, 3, 1, 6, 4, 2]),
        ];
        for (value, width, pixels) in stored {
            let orientation = Orientation::from_value(value).expect("one of eight");
            let luma = Luma::new(width, 6 / width, pixels.to_vec()).expect("an image");
            assert_eq!(luma.rotated(orientation), upright, "value {value}");
        }
    }

    proptest! {
        #[test]
        fn no_exif_data_panics(exif in proptest::collection::vec(any::<u8>(), 0..64)) {
            Orientation::from_exif(&exif);
            Orientation::from_exif(&[&LITTLE[..8], &exif].concat());
        }
    }
}
