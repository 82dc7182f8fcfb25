use common::domain::ids::ReceiptId;
use common::domain::receipt::photo::photo_digest;
use photo::{PhotoReader, Unreadable};

use crate::prelude::*;

/// Content type of a copy.
pub const COPY_TYPE: &str = "image/jpeg";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShownPhoto {
    Copy(Vec<u8>),
    Nothing(&'static str),
}

#[derive(Clone, Debug)]
pub struct CopiedPhoto {
    pub shown: ShownPhoto,
    /// The file's SHA-256.
    pub digest: Option<String>,
}

pub struct PhotoCopier {
    photos: Photos,
    reader: PhotoReader,
}

impl PhotoCopier {
    /// This program is started again to copy photos if the environment names no photo reader, so
    /// its `main` has to begin with [`copy_if_asked`](photo::copy_if_asked).
    pub fn new(tables: &Tables) -> Result<Self, ConfigError> {
        Ok(Self {
            photos: tables.photos()?,
            reader: PhotoReader::from_env(&tables.env)?,
        })
    }

    pub async fn copy(&self, scope: &Scope, id: ReceiptId, _: &Recorded) -> Result<CopiedPhoto> {
        let Some(file) = self.photos.read(scope, id).await? else {
            let shown =
                ShownPhoto::Nothing("The photo is not there: it was deleted, or never arrived.");
            return Ok(CopiedPhoto {
                shown,
                digest: None,
            });
        };
        let shown = match self.reader.copy(&file).await {
            Ok(copy) => ShownPhoto::Copy(copy),
            Err(Unreadable::NotDecoded(fault)) if fault.is_no_picture() => {
                ShownPhoto::Nothing("The file is not a photo.")
            }
            Err(Unreadable::NotDecoded(_)) => ShownPhoto::Nothing(
                "The photo cannot be shown: it is damaged, too large or an animation.",
            ),
            Err(Unreadable::TooSlow | Unreadable::Crashed | Unreadable::NoQrCode) => {
                ShownPhoto::Nothing(
                    "The photo cannot be shown: it took too long or too much memory.",
                )
            }
            Err(Unreadable::Io(error)) => {
                bail!(
                    "photo_failed",
                    "no process could be started to copy a photo: {error}; try again"
                );
            }
        };
        Ok(CopiedPhoto {
            shown,
            digest: Some(photo_digest(&file)),
        })
    }
}
