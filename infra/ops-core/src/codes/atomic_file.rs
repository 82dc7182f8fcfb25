//! Writes a file completely or not at all: under a temporary name, synced, then renamed.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use crate::failure::Failure;

/// A file under its temporary name. It is deleted if dropped before [`Self::finish`].
#[derive(Debug)]
pub struct AtomicFile {
    partial: NamedTempFile<File>,
    path: PathBuf,
}

/// A file that could not be renamed. It stays under its temporary name.
#[derive(Debug)]
pub struct NotRenamed {
    /// The temporary name.
    pub partial: PathBuf,
    /// Why renaming failed.
    pub error: io::Error,
}

impl AtomicFile {
    /// Creates the file under a temporary name in the same folder.
    ///
    /// # Errors
    /// When there already is a file of this name, or the folder cannot be written to.
    pub fn begin(path: &Path) -> Result<Self, Failure> {
        refuse_existing(path)?;
        let partial = partial_path(path);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // Readable by the operator alone: codes are worth money.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&partial).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                let message = format!(
                    "{} exists: another command writes it, or one was cut short; once none is running, remove it. After \
                     a minting, look at `ops code batches` first: if its batch is reserved, void the batch too; if it is \
                     active, the file is whole and only has to be renamed",
                    partial.display()
                );
                Failure::new("file_exists", message)
            }
            _ => Failure::from_io(&partial, "creating", &error),
        })?;
        let temporary = TempPath::try_from_path(&partial)
            .map_err(|error| Failure::from_io(&partial, "creating", &error))?;
        Ok(Self {
            partial: NamedTempFile::from_parts(file, temporary),
            path: path.to_owned(),
        })
    }

    /// Syncs the file to disk.
    pub fn sync(&self) -> io::Result<()> {
        self.partial.as_file().sync_all()
    }

    /// Renames the file to its final name.
    ///
    /// # Errors
    /// When there is a file of that name by now, or renaming fails.
    pub fn finish(self) -> Result<(), NotRenamed> {
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

/// # Errors
/// When there is a file of this name.
pub(crate) fn refuse_existing(path: &Path) -> Result<(), Failure> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let message = format!("{} exists already; choose another --output", path.display());
    Err(Failure::new("file_exists", message))
}

/// The temporary name of a file.
fn partial_path(path: &Path) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
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
    use std::fs;

    use super::*;

    #[test]
    fn a_file_appears_under_its_name_only_when_it_is_finished() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("codes.csv");
        let mut file = AtomicFile::begin(&path).expect("a free place");
        file.write_all(b"code\n").expect("a disk");
        file.sync().expect("a disk");
        assert!(!path.exists());
        let second = AtomicFile::begin(&path).expect_err("it is being written");
        assert_eq!(second.code, "file_exists");
        file.finish().expect("a free place");
        assert_eq!(fs::read(&path).expect("it is there"), b"code\n");
        assert_eq!(
            AtomicFile::begin(&path).expect_err("it is there").code,
            "file_exists"
        );
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn a_file_that_is_not_finished_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        drop(AtomicFile::begin(&folder.path().join("codes.csv")).expect("a free place"));
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn a_file_whose_place_is_taken_stays_beside_it_and_writes_over_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("codes.csv");
        let mut file = AtomicFile::begin(&path).expect("a free place");
        file.write_all(b"code\n").expect("a disk");
        fs::write(&path, "precious").expect("a disk");
        let NotRenamed { partial, error } = file.finish().expect_err("its place is taken");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).expect("it is there"), b"precious");
        assert_eq!(fs::read(&partial).expect("it is there"), b"code\n");
    }
}
