//! The file of an export, and its manifest. An interrupted export leaves no file and starts over.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use common::domain::timestamp::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Export, format};
use crate::atomic_file::{AtomicFile, NotRenamed, refuse_existing};
use crate::failure::Failure;

pub(super) struct ExportFile {
    path: PathBuf,
    file: BufWriter<AtomicFile>,
    hash: Sha256,
    rows: u64,
    bytes: u64,
    started_at: Timestamp,
}

impl ExportFile {
    pub(super) fn begin(path: &Path, export: &Export, now: Timestamp) -> Result<Self, Failure> {
        let file = AtomicFile::begin(path)?;
        refuse_existing(&manifest_path(path))?;
        let mut begun = Self {
            path: path.to_owned(),
            file: BufWriter::new(file),
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
            .map_err(|error| failure(&self.path, &error))?;
        self.hash.update(text);
        self.bytes += u64::try_from(text.len()).unwrap_or(u64::MAX);
        Ok(())
    }

    /// Writes the manifest beside the file, and returns it.
    pub(super) fn finish(self, export: &Export, now: Timestamp) -> Result<Value, Failure> {
        let document = self.manifest(export, now);
        let failed = |error: io::Error| failure(&self.path, &error);
        let file = self.file.into_inner();
        let file = file.map_err(|error| failed(error.into_error()))?;
        let named = manifest_path(&self.path);
        let mut manifest = AtomicFile::begin(&named)?;
        file.sync().map_err(failed)?;
        writeln!(manifest, "{document:#}").map_err(failed)?;
        manifest.sync().map_err(failed)?;
        // First, so that no file stands without one.
        let renamed = manifest.finish().and_then(|()| {
            file.finish().inspect_err(|_| {
                let _ = std::fs::remove_file(&named);
            })
        });
        renamed.map_err(|NotRenamed { partial, error }| {
            let _ = std::fs::remove_file(partial);
            failed(error)
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

fn manifest_path(path: &Path) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(".manifest.json");
    name.into()
}
