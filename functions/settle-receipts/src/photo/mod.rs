//! Reads the QR codes out of a photo of a receipt.
//!
//! Photos come from anyone, and on some photos the readers take forever, panic or ask for all memory. So a child process of
//! the same program reads each photo, within limits ([`PhotoReader`] starts it, [`serve_if_asked`] is the child).
//!
//! In the child: [`decode`] bounds the photo's size and makes gray pixels ([`luma`]) of it, the right way
//! up ([`orientation`]); [`cascade`] shows views of these to two [`readers`], until a text is accepted.

pub mod cascade;
mod child;
pub mod decode;
pub mod luma;
pub mod orientation;
mod parent;
mod protocol;
pub mod readers;

use std::io;

pub use child::serve_if_asked;
pub use decode::NotDecoded;
pub use parent::{Limits, PhotoReader};

/// Why a photo gave no text.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// Its bytes are no image that is read.
    #[error("the photo cannot be decoded")]
    NotDecoded(#[from] NotDecoded),
    /// No code was found, by any means.
    #[error("there is no readable QR code in the photo")]
    NoQrCode,
    /// Time ran out before anything was found.
    #[error("the photo took too long to read")]
    TooSlow,
    /// The child ended without a word: a crash, or memory ran out.
    #[error("reading the photo crashed")]
    Crashed,
    /// No child could be started, or spoken to.
    #[error("no process could be started to read the photo")]
    Io(#[from] io::Error),
}
