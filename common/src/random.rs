//! The only place that asks the operating system for randomness.

use crate::domain::{ReceiptId, SubmissionId};

/// # Panics
///
/// If the operating system has no randomness: guessable ids would be worse.
#[expect(
    clippy::expect_used,
    reason = "without randomness nothing here is safe"
)]
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// The table decides if the reference is free.
pub fn submission_id() -> SubmissionId {
    SubmissionId::from_random(bytes())
}

pub fn receipt_id() -> ReceiptId {
    ReceiptId::from_random(bytes())
}

pub fn unit_f64() -> f64 {
    f64::from(u32::from_le_bytes(bytes())) / f64::from(u32::MAX)
}
