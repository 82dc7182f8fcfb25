//! Photos. Reading runs in a process of its own, which may be killed; decoding must not need that.

use std::sync::Arc;
use std::time::Duration;

use settle_receipts::photo::decode::{MAX_PIXELS, MAX_SIDE, decode};
use settle_receipts::photo::luma::Luma;
use settle_receipts::photo::readers::{Attempt, Reader};

/// Bytes of a file that is decoded here: larger ones are only slower.
const MAX_BYTES: usize = 64 * 1024;
/// Pixels of a side of a picture that is given to the readers, whose time grows with it.
const MAX_READ: usize = 160;
/// What is waited for a reader. One that hangs is left alone, as it is in the process of its own.
const READER_TIMEOUT: Duration = Duration::from_secs(2);

/// A picture is within its bounds and the same twice; readers read or give up.
pub(super) fn photo(input: &[u8]) {
    if input.len() > MAX_BYTES {
        return;
    }
    let decoded = decode(input);
    let Ok(luma) = decoded else {
        assert_eq!(decode(input), decoded);
        return;
    };
    let (width, height) = (luma.width(), luma.height());
    assert_eq!(Some(luma.pixels().len()), width.checked_mul(height));
    assert!(u64::try_from(luma.pixels().len()).is_ok_and(|pixels| pixels <= MAX_PIXELS));
    assert!(u32::try_from(luma.longer_side()).is_ok_and(|side| side <= MAX_SIDE));
    if luma.longer_side() > MAX_READ {
        return;
    }
    assert_eq!(decode(input).as_ref(), Ok(&luma));
    let luma = Arc::new(luma);
    for reader in [Reader::Rxing, Reader::Rqrr] {
        if let Attempt::Read(texts) = reader.read_with_timeout(&luma, Luma::clone, READER_TIMEOUT) {
            texts.iter().for_each(|text| super::receipt::text(text.as_bytes()));
        }
    }
}
