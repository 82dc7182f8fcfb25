//! Writes the file of an export. While it is written, a state file beside it says how far the export is, so that an
//! interrupted one can be resumed; at the end, a manifest says what the file holds.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use common::domain::timestamp::Timestamp;
use common::store::segments::Segment;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use super::Export;
use crate::codes::atomic_file::{AtomicFile, NotRenamed, Resumed, partial_path, refuse_existing};
use crate::failure::Failure;
use crate::format::grouped;

/// Pages between two saves of the state. A save waits for the disk; what was not saved is read again.
const PAGES_BETWEEN_SAVES: u32 = 32;

/// The content of the state file.
#[derive(Serialize, Deserialize)]
struct Saved {
    export: Export,
    columns: Vec<String>,
    started_at: Timestamp,
    segments: Vec<Segment>,
    rows: u64,
    /// The length of the file up to here. What follows was written, but not saved.
    bytes: u64,
}

pub(super) struct ExportFile {
    path: PathBuf,
    partial: BufWriter<AtomicFile>,
    hash: Sha256,
    saved: Saved,
    unsaved_pages: u32,
}

impl ExportFile {
    /// Creates the file of an export, or opens the one that an earlier run of the same export has begun.
    pub(super) fn open(path: &Path, export: &Export, now: Timestamp) -> Result<Self, Failure> {
        refuse_existing(path)?;
        let columns: Vec<String> = export.columns().iter().map(|&column| column.to_owned()).collect();
        match read_state(path)? {
            None => Self::begin(path, export, columns, now),
            Some(saved) if saved.export == *export && saved.columns == columns => {
                Self::resume(path, saved, now)
            }
            Some(_) => {
                let message = format!(
                    "{} was begun by an export with other options; run that one again to finish it, choose another \
                     --output, or remove {} and {}",
                    path.display(),
                    state_path(path).display(),
                    partial_path(path).display()
                );
                Err(Failure::new("export_differs", message))
            }
        }
    }

    fn begin(path: &Path, export: &Export, columns: Vec<String>, now: Timestamp) -> Result<Self, Failure> {
        for (other, what) in [(manifest_path(path), "a manifest"), (partial_path(path), "an unfinished file")]
        {
            if other.symlink_metadata().is_ok() {
                let message = format!(
                    "{} exists, {what} without its export; choose another --output, or remove it",
                    other.display()
                );
                return Err(Failure::new("file_exists", message));
            }
        }
        let saved = Saved {
            export: export.clone(),
            columns,
            started_at: now,
            segments: Segment::all(super::SEGMENTS),
            rows: 0,
            bytes: 0,
        };
        let partial = BufWriter::new(AtomicFile::begin(path)?);
        let mut file = Self { path: path.to_owned(), partial, hash: Sha256::new(), saved, unsaved_pages: 0 };
        let heading = export.format.heading(export.columns());
        file.write(&heading).and_then(|()| file.save()).map_err(|error| file.failure(&error))?;
        Ok(file)
    }

    fn resume(path: &Path, saved: Saved, now: Timestamp) -> Result<Self, Failure> {
        let partial = match AtomicFile::resume(path, saved.bytes)? {
            Resumed::Open(partial) => partial,
            Resumed::Busy => {
                let message = format!(
                    "another export is writing {}; wait for it, or choose another --output",
                    partial_path(path).display()
                );
                return Err(Failure::new("export_busy", message));
            }
            Resumed::Lost => {
                let _ = fs::remove_file(state_path(path));
                let Saved { export, columns, .. } = saved;
                return Self::begin(path, &export, columns, now);
            }
        };
        // Only an export that ended while it finished leaves a manifest beside its state.
        let _ = fs::remove_file(manifest_path(path));
        let hash = digest(&partial_path(path))
            .map_err(|error| Failure::from_io(&partial_path(path), "reading", &error))?;
        let partial = BufWriter::new(partial);
        Ok(Self { path: path.to_owned(), partial, hash, saved, unsaved_pages: 0 })
    }

    /// The segments that are not read to their end, with their places in the list.
    pub(super) fn unread(&self) -> Vec<(usize, Segment)> {
        let segments = self.saved.segments.iter().cloned().enumerate();
        segments.filter(|(_, segment)| !segment.is_read()).collect()
    }

    /// The rows that it has, which are those of an earlier run at first.
    pub(super) fn rows(&self) -> u64 {
        self.saved.rows
    }

    /// Writes the rows of a page of a segment.
    pub(super) fn add_page(
        &mut self,
        place: usize,
        segment: &Segment,
        rows: &[Vec<Value>],
    ) -> Result<(), Failure> {
        let (format, columns) = (self.saved.export.format, self.saved.export.columns());
        let text: String = rows.iter().map(|row| format.row(columns, row)).collect();
        self.write(&text).map_err(|error| self.failure(&error))?;
        self.saved.rows += u64::try_from(rows.len()).unwrap_or(u64::MAX);
        if let Some(known) = self.saved.segments.get_mut(place) {
            known.clone_from(segment);
        }
        self.unsaved_pages += 1;
        if self.unsaved_pages < PAGES_BETWEEN_SAVES {
            return Ok(());
        }
        self.save().map_err(|error| self.failure(&error))
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.partial.write_all(text.as_bytes())?;
        self.hash.update(text);
        self.saved.bytes += u64::try_from(text.len()).unwrap_or(u64::MAX);
        Ok(())
    }

    fn save(&mut self) -> io::Result<()> {
        self.partial.flush()?;
        self.partial.get_ref().sync()?;
        let path = state_path(&self.path);
        // Readable by this user alone, like every temporary file.
        let mut state = NamedTempFile::new_in(
            path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new(".")),
        )?;
        serde_json::to_writer(&mut state, &self.saved)?;
        state.as_file().sync_all()?;
        state.persist(path)?;
        self.unsaved_pages = 0;
        Ok(())
    }

    /// Keeps everything for another run, which resumes here, or at the last save if the disk is full.
    pub(super) fn keep(mut self) {
        let _ = self.save();
        let (partial, _) = self.partial.into_parts();
        partial.keep();
    }

    /// Gives the file its name, with the manifest beside it, and returns the manifest.
    pub(super) fn finish(mut self, now: Timestamp) -> Result<Value, Failure> {
        let written = self.save().and_then(|()| self.manifest(now));
        let (manifest, document) = match written {
            Ok(written) => written,
            Err(error) => {
                let failure = self.failure(&error);
                self.keep();
                return Err(failure);
            }
        };
        // The manifest goes first, so that no file stands without one.
        if let Err(failed) = manifest.finish() {
            let failure = not_renamed(&manifest_path(&self.path), &failed);
            self.keep();
            return Err(failure);
        }
        let (partial, _) = self.partial.into_parts();
        partial.finish().map_err(|failed| {
            let _ = fs::remove_file(manifest_path(&self.path));
            not_renamed(&self.path, &failed)
        })?;
        // It is not needed any more; a leftover does no harm.
        let _ = fs::remove_file(state_path(&self.path));
        Ok(document)
    }

    fn manifest(&self, now: Timestamp) -> io::Result<(AtomicFile, Value)> {
        let Saved { export, columns, started_at, rows, bytes, .. } = &self.saved;
        let name = self.path.file_name().map(|name| name.to_string_lossy());
        let document = json!({
            "file": name,
            "content": export.content,
            "campaign": export.scope.campaign,
            "environment": export.scope.environment,
            "filter": {
                "from": export.from.map(|from| from.to_string()),
                "to": export.to.map(|to| to.to_string()),
                "states": export.states,
            },
            "phones": export.phones,
            "time_zone": export.zone.name(),
            "columns": columns,
            "rows": rows,
            "bytes": bytes,
            "sha256": hex::encode(self.hash.clone().finalize()),
            "started_at": started_at.to_string(),
            "finished_at": now.to_string(),
        });
        let path = manifest_path(&self.path);
        // Of an export that was cut short here. Nobody else is writing it: this one has locked the export's own file.
        let _ = fs::remove_file(partial_path(&path));
        let mut manifest = AtomicFile::begin(&path).map_err(io::Error::other)?;
        writeln!(manifest, "{document:#}")?;
        manifest.sync()?;
        Ok((manifest, document))
    }

    fn failure(&self, error: &io::Error) -> Failure {
        let path = partial_path(&self.path);
        let what = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                format!("there is no room for {}: {error}; free some", path.display())
            }
            _ => format!("writing {} failed: {error}; check the path and the disk", path.display()),
        };
        let rows = grouped(self.saved.rows);
        let message = format!(
            "{what}, and run the same command again: it continues from what was saved of {rows} rows. {} was not written",
            self.path.display()
        );
        Failure::new("file_failed", message)
    }
}

fn not_renamed(path: &Path, failed: &NotRenamed) -> Failure {
    let message = format!(
        "the export is whole, but {} could not get its name: {}; it is under {}. Free the name, and run the same command \
         again, which finishes it",
        path.display(),
        failed.error,
        failed.partial.display()
    );
    Failure::new("file_failed", message)
}

fn read_state(path: &Path) -> Result<Option<Saved>, Failure> {
    let path = state_path(path);
    let bytes = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| Failure::from_io(&path, "reading", &error))?,
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| {
        let message = format!(
            "{} is not the state of an export: {error}; choose another --output, or remove it",
            path.display()
        );
        Failure::new("export_differs", message)
    })
}

fn digest(path: &Path) -> io::Result<Sha256> {
    let (mut file, mut hash) = (File::open(path)?, Sha256::new());
    let mut part = vec![0; 64 * 1024];
    loop {
        match file.read(&mut part)? {
            0 => return Ok(hash),
            read => hash.update(part.get(..read).unwrap_or_default()),
        }
    }
}

/// The name of the state file.
fn state_path(path: &Path) -> PathBuf {
    with_suffix(path, ".state.json")
}

/// The name of the manifest.
fn manifest_path(path: &Path) -> PathBuf {
    with_suffix(path, ".manifest.json")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
