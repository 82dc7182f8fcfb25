//! Reads the QR codes in a photo of a receipt, and copies photos for people to look at.
//!
//! Photos come from anyone, and on some of them the readers hang, panic or ask for all memory. So a child process of
//! the same program reads each photo, within limits: [`PhotoReader`] starts it, [`serve_if_asked`] is the child, and
//! [`copy_if_asked`] the one that makes a copy.
//!
//! In the child, [`decode`] limits the photo's size and decodes it to gray pixels ([`luma`]), turned upright
//! ([`orientation`]); [`cascade`] shows views of them to two [`readers`] until a text is accepted.

pub mod cascade;
mod child;
pub mod decode;
pub mod luma;
pub mod orientation;
mod parent;
mod protocol;
pub mod readers;
mod sanitized_copy;

use std::io;

pub use child::{copy_if_asked, serve_if_asked};
pub use decode::NotDecoded;
pub use parent::{Limits, PhotoReader};

/// Why a photo gave no text.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// Not an image that can be decoded.
    #[error("the photo cannot be decoded")]
    NotDecoded(#[from] NotDecoded),
    /// Every pass ran and found no code.
    #[error("there is no readable QR code in the photo")]
    NoQrCode,
    /// The time ran out before anything was found.
    #[error("the photo took too long to read")]
    TooSlow,
    /// The child ended without a last line: it crashed or ran out of memory.
    #[error("reading the photo crashed")]
    Crashed,
    /// The child could not be started, or its pipes failed.
    #[error("no process could be started to read the photo")]
    Io(#[from] io::Error),
}
