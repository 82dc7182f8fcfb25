//! The files of a draw: in a folder of the operator's, and in two buckets.
//!
//! Evidence is locked for five years. Openings are in a bucket without versions, where a person's
//! can be erased. Both have the files below the commitment, so that a second freeze cannot
//! overwrite the first; only the recorded commitment has a `commitment.txt`.

use std::fs;
use std::io::{BufReader, Read, Seek};

use aws_sdk_s3::Client;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::primitives::ByteStream;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use draw::Evidence;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::prelude::*;

pub use common::aws::evidence::VARIABLE as EVIDENCE_VARIABLE;

pub const OPENINGS_VARIABLE: &str = "OPENINGS_BUCKET";

pub(crate) const ENTRIES: &str = "entries.csv";
pub(crate) const OPENINGS: &str = "openings.csv";
pub(crate) const HEADER: &str = "header.json";
pub(crate) const COMMITMENT: &str = "commitment.txt";
pub(crate) const RESULT: &str = "result.json";
pub(crate) const LOG: &str = "log.json";
pub(crate) const ABANDONED: &str = "abandoned";

/// Timeout of one transfer; a million entrants are 80 MB.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(600);

#[derive(Clone, Debug)]
pub(crate) struct DrawFiles {
    s3: Client,
    evidence: String,
    openings: String,
    /// Ends in a slash.
    folder: String,
}

impl DrawFiles {
    pub(crate) fn new(tables: &Tables, scope: &Scope, draw: &Draw) -> Result<Self, ConfigError> {
        Self::committed_to(tables, scope, &draw.name, &draw.commitment)
    }

    /// The files of a draw that may not be recorded.
    pub(crate) fn committed_to(
        tables: &Tables,
        scope: &Scope,
        name: &DrawName,
        commitment: &str,
    ) -> Result<Self, ConfigError> {
        let Scope {
            campaign,
            environment,
        } = scope;
        Self::in_folder(
            tables,
            format!("{campaign}/{environment}/{name}/{commitment}/"),
        )
    }

    /// The folder ends in a slash.
    pub(crate) fn in_folder(tables: &Tables, folder: String) -> Result<Self, ConfigError> {
        Ok(Self {
            s3: tables.s3(),
            evidence: tables.env.required(EVIDENCE_VARIABLE)?,
            openings: tables.env.required(OPENINGS_VARIABLE)?,
            folder,
        })
    }

    pub(crate) fn evidence_url(&self) -> String {
        format!("s3://{}/{}", self.evidence, self.folder)
    }

    /// Publishes a text. A file that is there has to be the same.
    pub(crate) async fn publish_text(&self, name: &str, text: &str) -> Result<()> {
        if self.offer_text(name, text).await? || self.read_text(name).await? == text {
            return Ok(());
        }
        bail!(
            "evidence_differs",
            "{}{name} exists and is not this draw's file, so the evidence was tampered with; keep the file, and ask the \
             administrator of the stack who wrote it",
            self.evidence_url()
        )
    }

    /// Publishes a text unless the name is taken, and returns false then.
    pub(crate) async fn offer_text(&self, name: &str, text: &str) -> Result<bool> {
        let body = ByteStream::from(text.as_bytes().to_vec());
        self.put(name, body, &Sha256::digest(text), None).await
    }

    /// The published files by name, and when each was written, by the storage's clock.
    pub(crate) async fn published(&self) -> Result<BTreeMap<String, Timestamp>> {
        self.published_in(&self.folder).await
    }

    /// True if another commitment was published under the draw's name before that time.
    pub(crate) async fn has_rival(&self, before: Timestamp) -> Result<bool> {
        let own = self.folder.trim_end_matches('/');
        let (of_name, own) = own.rsplit_once('/').unwrap_or_default();
        let published = self.published_in(&format!("{of_name}/")).await?;
        Ok(published.iter().any(|(file, at)| {
            let other = file
                .strip_suffix(COMMITMENT)
                .map(|folder| folder.trim_end_matches('/'));
            *at < before && other.is_some_and(|other| other != own)
        }))
    }

    async fn published_in(&self, folder: &str) -> Result<BTreeMap<String, Timestamp>> {
        const ACTION: &str = "listing the files of the draw";
        let list = self.s3.list_objects_v2().bucket(&self.evidence);
        let mut pages = list.prefix(folder).into_paginator().send();
        let mut published = BTreeMap::new();
        while let Some(page) = pages.next().await {
            let page = page.during(ACTION)?;
            for object in page.contents() {
                let name = object.key().and_then(|key| key.strip_prefix(folder));
                let at = written_at(object.last_modified(), ACTION)?;
                published.insert(name.unwrap_or_default().to_owned(), at);
            }
        }
        Ok(published)
    }

    /// Deletes openings that no draw has, which needs no row of the audit log.
    pub(crate) async fn delete_openings(&self, tables: &Tables) -> Result<()> {
        let s3 = tables.audit.unguarded().s3();
        let delete = s3
            .delete_object()
            .bucket(&self.openings)
            .key(self.key(OPENINGS));
        delete
            .send()
            .await
            .map(drop)
            .map_err(|error| StoreError::new("deleting openings", error).into())
    }

    pub(crate) async fn read(&self, name: &str) -> Result<BufReader<File>> {
        Ok(self.read_version(name).await?.file)
    }

    pub(crate) async fn read_text(&self, name: &str) -> Result<String> {
        let mut text = String::new();
        let read = self.read(name).await?.read_to_string(&mut text);
        read.map_err(temporary)?;
        Ok(text)
    }

    /// The evidence of a draw, verified.
    pub(crate) async fn committed(&self, draw: &Draw) -> Result<Committed> {
        let evidence = Evidence {
            entries: &mut self.read(ENTRIES).await?,
            header: draw.header.as_bytes(),
            commitment: &draw.commitment,
        };
        Committed::read(evidence).map_err(unreadable(draw))
    }

    /// The chosen openings, by row. All are verified.
    pub(crate) async fn openings(
        &self,
        draw: &Draw,
        committed: &Committed,
        is_chosen: impl Fn(u64, &Opening) -> bool,
    ) -> Result<HashMap<u64, Opening>> {
        let read = committed.read_openings(self.read(OPENINGS).await?, is_chosen);
        read.map_err(unreadable(draw))
    }

    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.folder)
    }

    fn bucket(&self, name: &str) -> &str {
        if name == OPENINGS {
            &self.openings
        } else {
            &self.evidence
        }
    }

    /// Writes over the version with this ETag, or only if nothing is there. Returns false if it is
    /// another one.
    pub(crate) async fn upload(&self, name: &str, path: &Path, etag: Option<&str>) -> Result<bool> {
        let digest = digest(path).map_err(Failure::from_io(path, "reading"))?;
        let body = ByteStream::from_path(path).await;
        let body = body.during("reading a file of the draw")?;
        self.put(name, body, digest.as_ref(), etag).await
    }

    async fn put(
        &self,
        name: &str,
        body: ByteStream,
        digest: &[u8],
        etag: Option<&str>,
    ) -> Result<bool> {
        let put = self.s3.put_object().bucket(self.bucket(name));
        // Buckets with object lock take no upload without a checksum.
        let put = put.checksum_sha256(STANDARD.encode(digest));
        let put = match etag {
            Some(etag) => put.if_match(etag),
            None => put.if_none_match("*"),
        };
        let put = put.key(self.key(name)).body(body).customize();
        match put.config_override(patient()).send().await {
            Ok(_) => Ok(true),
            // The second code: two uploads at once.
            Err(error)
                if matches!(
                    error.code(),
                    Some("PreconditionFailed" | "ConditionalRequestConflict")
                ) =>
            {
                Ok(false)
            }
            Err(error) => Err(StoreError::new("uploading a file of the draw", error).into()),
        }
    }

    pub(crate) async fn read_version(&self, name: &str) -> Result<Version> {
        const ACTION: &str = "reading a file of the draw";
        let get = self.s3.get_object();
        let get = get.bucket(self.bucket(name)).key(self.key(name));
        let sent = get.customize().config_override(patient()).send().await;
        let object = sent.during(ACTION)?;
        let etag = object.e_tag.unwrap_or_default();
        let (mut file, mut body) = (tempfile::tempfile().map_err(temporary)?, object.body);
        let copying = async {
            while let Some(bytes) = body.try_next().await.during(ACTION)? {
                file.write_all(&bytes).map_err(temporary)?;
            }
            file.rewind().map_err(temporary)
        };
        let copied = tokio::time::timeout(TRANSFER_TIMEOUT, copying).await;
        copied.during(ACTION)??;
        Ok(Version {
            file: BufReader::new(file),
            etag,
        })
    }
}

/// A file as storage has it, in a temporary one.
pub(crate) struct Version {
    pub(crate) file: BufReader<File>,
    pub(crate) etag: String,
}

fn written_at(
    last_modified: Option<&aws_sdk_s3::primitives::DateTime>,
    action: &'static str,
) -> Result<Timestamp, StoreError> {
    let millis = last_modified.and_then(|at| at.to_millis().ok());
    let millis = millis.ok_or_else(|| StoreError::new(action, "storage does not say when"))?;
    Ok(Timestamp::from_millis(millis))
}

fn patient() -> aws_sdk_s3::config::Builder {
    let timeouts = TimeoutConfig::builder()
        .operation_attempt_timeout(TRANSFER_TIMEOUT)
        .operation_timeout(TRANSFER_TIMEOUT)
        .build();
    aws_sdk_s3::config::Builder::new().timeout_config(timeouts)
}

fn digest(path: &Path) -> io::Result<impl AsRef<[u8]> + use<>> {
    let mut hash = Sha256::new();
    let mut file = File::open(path)?;
    let mut part = vec![0; 64 * 1024];
    loop {
        match file.read(&mut part)? {
            0 => return Ok(hash.finalize()),
            read => hash.update(part.get(..read).unwrap_or_default()),
        }
    }
}

pub(super) fn temporary(error: io::Error) -> Failure {
    failure!(
        "file_failed",
        "a temporary file failed: {error}; free space in the folder for temporary files, and run this again"
    )
}

pub(super) fn unreadable<E: std::error::Error>(draw: &Draw) -> impl Fn(E) -> Failure {
    move |error| {
        failure!(
            "evidence_differs",
            "the evidence of the draw {} is not what it is committed to: {error}; nothing was done. Keep it, and ask the \
             administrator of the stack who changed it",
            draw.name
        )
    }
}

pub(super) fn taken(path: &Path, what: &str) -> Failure {
    failure!(
        "file_exists",
        "{} {what}; choose another --output",
        path.display()
    )
}

pub(super) fn holds(path: &Path, content: impl Read) -> io::Result<bool> {
    let found = BufReader::new(File::open(path)?).bytes();
    Ok(BufReader::new(content)
        .bytes()
        .map(Result::ok)
        .eq(found.map(Result::ok)))
}

/// A private folder that gets its name once it is whole.
pub(crate) struct NewFolder {
    partial: TempDir,
    path: PathBuf,
}

impl NewFolder {
    pub(crate) fn begin(path: &Path) -> Result<Self> {
        let is_free = match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if !is_free {
            return Err(taken(path, "exists already"));
        }
        let parent = path
            .parent()
            .filter(|parent| *parent != Path::new(""))
            .unwrap_or(Path::new("."));
        let mut folder = tempfile::Builder::new();
        #[cfg(unix)]
        folder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let partial = folder.prefix(".draw-").tempdir_in(parent);
        let partial = partial.map_err(Failure::from_io(parent, "writing to"))?;
        Ok(Self {
            partial,
            path: path.to_owned(),
        })
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.partial.path().join(name)
    }

    pub(crate) fn create(&self, name: &str) -> Result<File> {
        let path = self.file(name);
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options
            .open(&path)
            .map_err(Failure::from_io(&path, "creating"))
    }

    pub(crate) fn write(&self, name: &str, mut content: impl Read) -> Result<()> {
        let mut file = self.create(name)?;
        let written = io::copy(&mut content, &mut file).and_then(|_| file.sync_all());
        written.map_err(Failure::from_io(&self.file(name), "writing"))
    }

    pub(crate) fn finish(self) -> Result<()> {
        let renamed = fs::rename(self.partial.path(), &self.path);
        renamed.map_err(Failure::from_io(&self.path, "naming"))?;
        let _ = self.partial.keep();
        Ok(())
    }
}
