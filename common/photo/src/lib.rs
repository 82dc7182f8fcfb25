//! Reads the QR codes in photos of receipts, and copies photos for people to look at.
//!
//! Photos come from anyone; on some, readers hang, panic or ask for all memory. So a child process
//! of the same program takes each photo, within limits: [`PhotoReader`] starts it,
//! [`serve_if_asked`] or [`copy_if_asked`] is the child. There, [`decode`] limits and decodes the
//! photo ([`luma`]), and `cascade` shows views of them to two [`readers`].

mod cascade;
mod child;
pub mod decode;
pub mod luma;
mod parent;
mod protocol;
pub mod readers;
mod sanitized_copy;

use std::io;

pub use child::{copy_if_asked, serve_if_asked};
pub use decode::NotDecoded;
pub use parent::{Limits, PHOTO_READER, PhotoReader};

#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("the photo cannot be decoded")]
    NotDecoded(#[from] NotDecoded),
    #[error("there is no readable QR code in the photo")]
    NoQrCode,
    #[error("the photo took too long to read")]
    TooSlow,
    /// The child ended without a last line, perhaps out of memory.
    #[error("reading the photo crashed")]
    Crashed,
    #[error("no process could be started to read the photo")]
    Io(#[from] io::Error),
}
