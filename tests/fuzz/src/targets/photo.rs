//! Photos. The service reads them in a child process that may be killed; decoding must work
//! without.

use std::sync::Arc;
use std::time::Duration;

use photo::decode::{MAX_PIXELS, MAX_SIDE, decode};
use photo::luma::Luma;
use photo::readers::{Attempt, Reader};

/// Larger files only take longer.
const MAX_BYTES: usize = 64 * 1024;
/// Longest side for readers, whose time grows with it.
const MAX_READ: usize = 160;
/// Slower readers are left running; the service kills them.
const READER_TIMEOUT: Duration = Duration::from_secs(2);

/// Images are within bounds and decoded the same twice; readers finish or give up.
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
            texts
                .iter()
                .for_each(|text| super::receipt::text(text.as_bytes()));
        }
    }
}
