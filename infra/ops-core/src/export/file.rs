//! Writes the file of an export under a temporary name, and a manifest that says what the file holds. An export that was
//! cut short leaves no file and starts over.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use common::domain::timestamp::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use super::{Export, format};
use crate::codes::atomic_file::refuse_existing;
use crate::failure::Failure;

pub(super) struct ExportFile {
    path: PathBuf,
    // Readable by this user alone, like every temporary file.
    file: BufWriter<NamedTempFile>,
    hash: Sha256,
    rows: u64,
    bytes: u64,
    started_at: Timestamp,
}

impl ExportFile {
    /// Creates the file in the folder of its later name.
    pub(super) fn begin(path: &Path, export: &Export, now: Timestamp) -> Result<Self, Failure> {
        refuse_existing(path)?;
        refuse_existing(&manifest_path(path))?;
        let file = temporary(path).map_err(|error| Failure::from_io(path, "creating", &error))?;
        let file = BufWriter::new(file);
        let mut begun = Self {
            path: path.to_owned(),
            file,
            hash: Sha256::new(),
            rows: 0,
            bytes: 0,
            started_at: now,
        };
        begun.write(&format::heading(export.columns()))?;
        Ok(begun)
    }

    pub(super) fn add_rows(&mut self, rows: &[Vec<Value>]) -> Result<(), Failure> {
        self.write(&rows.iter().map(|row| format::row(row)).collect::<String>())?;
        self.rows += u64::try_from(rows.len()).unwrap_or(u64::MAX);
        Ok(())
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        self.file
            .write_all(text.as_bytes())
            .map_err(|error| self.failure(&error))?;
        self.hash.update(text);
        self.bytes += u64::try_from(text.len()).unwrap_or(u64::MAX);
        Ok(())
    }

    /// Gives the file its name, with the manifest beside it, and returns the manifest.
    pub(super) fn finish(mut self, export: &Export, now: Timestamp) -> Result<Value, Failure> {
        let document = self.manifest(export, now);
        let mut persist = || -> io::Result<NamedTempFile> {
            self.file.flush()?;
            self.file.get_ref().as_file().sync_all()?;
            let mut manifest = temporary(&self.path)?;
            writeln!(manifest, "{document:#}")?;
            manifest.as_file().sync_all()?;
            Ok(manifest)
        };
        let manifest = persist().map_err(|error| self.failure(&error))?;
        // The manifest goes first, so that no file stands without one.
        let named = manifest_path(&self.path);
        manifest
            .persist_noclobber(&named)
            .map_err(|failed| self.failure(&failed.error))?;
        let Self { path, file, .. } = self;
        let (file, _) = file.into_parts();
        file.persist_noclobber(&path).map_err(|failed| {
            let _ = std::fs::remove_file(&named);
            failure(&path, &failed.error)
        })?;
        Ok(document)
    }

    fn manifest(&self, export: &Export, now: Timestamp) -> Value {
        json!({
            "file": self.path.file_name().map(|name| name.to_string_lossy()),
            "content": export.content,
            "campaign": export.scope.campaign,
            "environment": export.scope.environment,
            "filter": {
                "from": export.from.map(|from| from.to_string()),
                "to": export.to.map(|to| to.to_string()),
                "states": export.states,
            },
            "draw": export.draw,
            "phones": export.phones,
            "time_zone": export.zone.name(),
            "columns": export.columns(),
            "rows": self.rows,
            "bytes": self.bytes,
            "sha256": hex::encode(self.hash.clone().finalize()),
            "started_at": self.started_at.to_string(),
            "finished_at": now.to_string(),
        })
    }

    fn failure(&self, error: &io::Error) -> Failure {
        failure(&self.path, error)
    }
}

fn failure(path: &Path, error: &io::Error) -> Failure {
    let what = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            format!(
                "there is no room for {}: {error}; free some",
                path.display()
            )
        }
        _ => format!(
            "writing {} failed: {error}; check the path and the disk",
            path.display()
        ),
    };
    Failure::new(
        "file_failed",
        format!("{what}, and run the same command again: nothing was written"),
    )
}

/// A file in the folder of this path.
fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    NamedTempFile::new_in(
        path.parent()
            .filter(|folder| *folder != Path::new(""))
            .unwrap_or(Path::new(".")),
    )
}

/// The name of the manifest.
fn manifest_path(path: &Path) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(".manifest.json");
    name.into()
}
