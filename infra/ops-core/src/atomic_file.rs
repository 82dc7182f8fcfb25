//! Completely or not at all: temporary name, sync, rename.

use std::fs;
use std::io::{Read, Seek, SeekFrom};

use tempfile::{Builder, NamedTempFile};

use crate::prelude::*;

/// Deleted if dropped before [`Self::finish`].
#[derive(Debug)]
pub(crate) struct AtomicFile {
    partial: NamedTempFile,
    path: PathBuf,
}

/// The file stays under its temporary name.
#[derive(Debug)]
pub(crate) struct NotRenamed {
    pub(crate) partial: PathBuf,
    pub(crate) error: io::Error,
}

impl AtomicFile {
    /// Fails if `path` exists; the temporary name is such as `codes.csv.x7Kq2M.partial`.
    pub(crate) fn begin(path: &Path) -> Result<Self> {
        refuse_existing(path)?;
        // Readable by the operator alone: codes are worth money.
        Self::create(path, 0o600)
    }

    fn create(path: &Path, mode: u32) -> Result<Self> {
        let mut prefix = path.file_name().unwrap_or_default().to_owned();
        prefix.push(".");
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let mut builder = Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
        let partial = builder
            .prefix(&prefix)
            .suffix(".partial")
            .tempfile_in(folder.unwrap_or(Path::new(".")))
            .map_err(Failure::from_io(path, "creating"))?;
        Ok(Self {
            partial,
            path: path.to_owned(),
        })
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        self.partial.as_file().sync_all()
    }

    /// Does not overwrite a file of that name.
    pub(crate) fn finish(self) -> Result<(), NotRenamed> {
        let Err(failed) = self.partial.persist_noclobber(&self.path) else {
            return Ok(());
        };
        let partial = failed.file.path().to_owned();
        // Where `keep` can fail, the file stays too, but marked as temporary.
        let _ = failed.file.keep();
        Err(NotRenamed {
            partial,
            error: failed.error,
        })
    }
}

pub(crate) fn refuse_existing(path: &Path) -> Result<()> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    bail!(
        "file_exists",
        "{} exists already; choose another --output",
        path.display()
    )
}

/// Writes a file for others to read. Returns false if there is one of that name.
pub(crate) fn write_new(path: &Path, mut content: impl Read) -> Result<bool> {
    if path.symlink_metadata().is_ok() {
        return Ok(false);
    }
    let failed = Failure::from_io(path, "writing");
    let mut file = AtomicFile::create(path, 0o666)?;
    let written = io::copy(&mut content, &mut file).and_then(|_| file.sync());
    written.map_err(&failed)?;
    let Err(NotRenamed { partial, error }) = file.finish() else {
        return Ok(true);
    };
    let _ = fs::remove_file(partial);
    match error.kind() {
        io::ErrorKind::AlreadyExists => Ok(false),
        _ => Err(failed(error)),
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.partial.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.partial.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.partial.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_has_its_name_only_when_it_is_finished() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = || fs::read_dir(folder.path()).expect("a folder").count();
        let path = folder.path().join("codes.csv");
        drop(AtomicFile::begin(&path).expect("a free place"));
        assert_eq!(files(), 0, "one that is not finished leaves nothing");
        let mut file = AtomicFile::begin(&path).expect("a free place");
        let other = AtomicFile::begin(&path).expect("a free place");
        file.write_all(b"code\n").expect("a disk");
        file.sync().expect("a disk");
        assert!(!path.exists());
        file.finish().expect("a free place");
        assert_eq!(fs::read(&path).expect("it is there"), b"code\n");
        let NotRenamed { partial, error } = other.finish().expect_err("its place is taken");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).expect("it is there"), b"code\n");
        assert!(partial.exists(), "it stays beside the other");
        let taken = AtomicFile::begin(&path).expect_err("it is there");
        assert_eq!((taken.code, files()), ("file_exists", 2));
    }
}
