//! A file that is there whole or not at all: written under another name, synced, then renamed.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A file on its way to its name. Dropped before it is finished, it is gone.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    partial: PathBuf,
    path: PathBuf,
    finished: bool,
}

impl NewFile {
    /// Begins the file, beside its place.
    ///
    /// # Errors
    /// When something is there already, or the folder cannot be written to.
    pub fn begin(path: &Path) -> Result<Self, Failure> {
        if path.symlink_metadata().is_ok() {
            let message = format!("{} exists already; choose another --output", path.display());
            return Err(Failure::new("file_exists", message));
        }
        let partial = partial_path(path);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // Codes are worth money to whoever reads them first.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&partial) {
            Ok(file) => Ok(Self { file, partial, path: path.to_owned(), finished: false }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let message = format!(
                    "{} exists: another minting writes it, or one was cut short; once none is running, remove it \
                     and run this again",
                    partial.display()
                );
                Err(Failure::new("file_exists", message))
            }
            Err(error) => Err(Failure::of_file(&partial, "creating", &error)),
        }
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// When the disk does not take it, or its place was taken in the meantime.
    pub fn finish(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        if self.path.symlink_metadata().is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        fs::rename(&self.partial, &self.path)?;
        self.finished = true;
        Ok(())
    }
}

fn partial_path(path: &Path) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.finished {
            // Should it stay, the next minting to the same place says so.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_under_its_name_only_when_it_is_finished() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("codes.csv");
        let mut file = NewFile::begin(&path).expect("a free place");
        file.write_all(b"code\n").expect("a disk");
        assert!(!path.exists());
        let second = NewFile::begin(&path).expect_err("it is being written");
        assert_eq!(second.code, "file_exists");
        file.finish().expect("a free place");
        assert_eq!(fs::read(&path).expect("it is there"), b"code\n");
        assert_eq!(NewFile::begin(&path).expect_err("it is there").code, "file_exists");
    }

    #[test]
    fn a_file_that_is_not_finished_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        drop(NewFile::begin(&folder.path().join("codes.csv")).expect("a free place"));
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }
}
