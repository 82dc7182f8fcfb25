//! A file per object: metadata as a line of JSON, then the bytes. Its name is a digest of the key,
//! so no key leaves the folder or is too long.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use s3s::crypto::{Checksum, Sha256};

use super::store::Object;
use crate::private_file;

const WHOLE: &str = "object";
/// Name of the only file being written.
const UNFINISHED: &str = "unfinished";

pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&path)?;
        private_file::remove(&path.join(UNFINISHED))?;
        Ok(Self(path))
    }

    pub(super) fn objects(&self) -> io::Result<Vec<Object>> {
        let mut objects = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == WHOLE) {
                objects.push(read_first_line(&path)?);
            }
        }
        Ok(objects)
    }

    /// Replaces an earlier object atomically.
    pub(super) fn write(&self, object: &Object, bytes: &[u8]) -> io::Result<()> {
        let unfinished = self.0.join(UNFINISHED);
        let mut file = File::create(&unfinished)?;
        file.write_all(&serde_json::to_vec(object)?)?;
        file.write_all(b"\n")?;
        file.write_all(bytes)?;
        fs::rename(unfinished, self.path(&object.key))
    }

    pub(super) fn read(&self, key: &str) -> io::Result<Bytes> {
        let path = self.path(key);
        let mut bytes = Bytes::from(fs::read(&path)?);
        match bytes.iter().position(|byte| *byte == b'\n') {
            Some(end) => Ok(bytes.split_off(end.saturating_add(1))),
            None => Err(not_ours(&path)),
        }
    }

    pub(super) fn delete(&self, key: &str) -> io::Result<()> {
        fs::remove_file(self.path(key))
    }

    fn path(&self, key: &str) -> PathBuf {
        let digest = hex::encode(Sha256::checksum(key.as_bytes()));
        self.0.join(digest).with_extension(WHOLE)
    }
}

fn read_first_line(path: &Path) -> io::Result<Object> {
    let mut line = Vec::new();
    BufReader::new(File::open(path)?).read_until(b'\n', &mut line)?;
    serde_json::from_slice(&line).map_err(|_| not_ours(path))
}

fn not_ours(path: &Path) -> io::Error {
    let message = format!(
        "{} is not an object of the local stack; move it away",
        path.display()
    );
    io::Error::new(io::ErrorKind::InvalidData, message)
}
