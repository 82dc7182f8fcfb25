//! An interrupted export leaves no file.

use std::ffi::OsString;
use std::io::BufWriter;

use sha2::{Digest, Sha256};

use super::rows::Row;
use super::{Export, format};
use crate::atomic_file::{AtomicFile, NotRenamed, refuse_existing};
use crate::prelude::*;

pub(super) struct ExportFile<'a> {
    export: &'a Export,
    path: &'a Path,
    file: BufWriter<AtomicFile>,
    hash: Sha256,
    rows: usize,
    bytes: usize,
    started_at: Timestamp,
}

impl<'a> ExportFile<'a> {
    pub(super) fn begin(export: &'a Export, now: Timestamp) -> Result<Self> {
        let path = &export.args.output;
        let file = AtomicFile::begin(path)?;
        refuse_existing(&manifest_path(path))?;
        let mut begun = Self {
            export,
            path,
            file: BufWriter::new(file),
            hash: Sha256::new(),
            rows: 0,
            bytes: 0,
            started_at: now,
        };
        begun.write(&format::heading(&begun.columns()))?;
        Ok(begun)
    }

    fn columns(&self) -> Vec<&'static str> {
        self.export
            .columns()
            .iter()
            .map(|(name, _)| *name)
            .collect()
    }

    pub(super) fn add_rows(&mut self, rows: &[Row]) -> Result<()> {
        self.rows += rows.len();
        self.write(&rows.iter().map(|row| format::row(row)).collect::<String>())
    }

    fn write(&mut self, text: &str) -> Result<()> {
        self.file
            .write_all(text.as_bytes())
            .map_err(|error| failure(self.path, &error))?;
        self.hash.update(text);
        self.bytes += text.len();
        Ok(())
    }

    pub(super) fn finish(self, now: Timestamp) -> Result<Value> {
        let document = self.manifest(now);
        let failed = |error: io::Error| failure(self.path, &error);
        let file = self.file.into_inner();
        let file = file.map_err(|error| failed(error.into_error()))?;
        let named = manifest_path(self.path);
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

    fn manifest(&self, now: Timestamp) -> Value {
        let Export {
            args,
            scope,
            from,
            to,
            zone,
            ..
        } = self.export;
        json!({
            "file": self.path.file_name().map(|name| name.to_string_lossy()),
            "content": args.content,
            "campaign": scope.campaign,
            "environment": scope.environment,
            "filter": {
                "from": from.map(|from| from.to_string()),
                "to": to.map(|to| to.to_string()),
                "states": args.state,
            },
            "draw": args.draw,
            "phones": self.export.phones(),
            "time_zone": zone.name(),
            "columns": self.columns(),
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
    failure!(
        "file_failed",
        "{what}, and run the same command again: nothing was written"
    )
}

fn manifest_path(path: &Path) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(".manifest.json");
    name.into()
}
