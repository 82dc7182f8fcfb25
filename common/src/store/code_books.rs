use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::batch::{BatchGet, BatchItems, Found};
use super::encrypted_keys::{decrypted, encrypted, secret_version};
use super::table::{Table, list};
use super::write::Write;
use super::{Item, StoreError, StoreResult, from_record, read_text, required, transaction};
use crate::aws::Aws;
use crate::aws::deployment_secret::{DeploymentSecrets, SecretVersion};
use crate::config::{ConfigError, Env};
use crate::domain::Scope;
use crate::domain::code::Alphabet;
use crate::domain::codebook::{Batch, CodeBook};
use crate::domain::key_encryption::KeyContext;

pub const KEY: &str = "scope";
pub const VARIABLE: &str = "CODE_BOOKS_TABLE";

const PEOPLE_CHECK: &str = "people_check";
const MINTING_KEY: &str = "minting_key";
const DIGEST_KEY: &str = "digest_key";
const REVISION: &str = "revision";

const READING: &str = "reading a code book";
const WRITING: &str = "writing a code book";

pub(crate) enum PrefetchedBook {
    /// The batch did not ask for it, or its secret is not in memory.
    NotRead,
    Absent,
    Found(StoredBook),
}

#[derive(Serialize, Deserialize)]
struct Stored {
    secret_version: String,
    /// Proof that the right secret encrypts phones.
    people_check: Option<String>,
    minted_length: Option<u8>,
    #[serde(default, skip_serializing_if = "is_mixed")]
    alphabet: Alphabet,
    minted: u64,
    batches: Vec<Batch>,
    revision: u64,
}

fn is_mixed(alphabet: &Alphabet) -> bool {
    *alphabet == Alphabet::Mixed
}

#[derive(Clone, Debug)]
pub struct StoredBook {
    pub book: CodeBook,
    revision: u64,
    secret: Arc<SecretVersion>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct BookOverview {
    pub minted: u64,
    pub batches: Vec<Batch>,
}

/// Codes cannot be judged until the campaign is applied.
#[derive(Debug, thiserror::Error)]
#[error("the scope has no code book")]
pub(crate) struct NoCodeBook;

#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    #[error("the code book was changed in the meantime")]
    Changed,
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Clone, Debug)]
pub struct CodeBooks {
    table: Table,
    secrets: DeploymentSecrets,
}

impl CodeBooks {
    pub fn from_env(env: &Env, aws: &Aws) -> Result<Self, ConfigError> {
        let secrets = DeploymentSecrets::from_env(env, aws)?;
        Ok(Self {
            table: Table::from_env(env, &aws.dynamodb(), VARIABLE, KEY)?,
            secrets,
        })
    }

    pub async fn get(&self, scope: &Scope) -> StoreResult<Option<StoredBook>> {
        let mut batch = BatchGet::default();
        self.add_to(&mut batch, scope);
        let items = batch.send(self.table.client(), READING).await?;
        let Some(item) = items.find(&self.table.place(scope.to_string())).item() else {
            return Ok(None);
        };
        let version = secret_version(item, READING)?;
        let secret = self.secrets.version(version).await?;
        let stored = read(item, scope, secret)?;
        self.secrets.remember(version, &stored.secret);
        Ok(Some(stored))
    }

    pub async fn overview(&self, scope: &Scope) -> StoreResult<Option<BookOverview>> {
        self.table.find(scope.to_string(), READING).await
    }

    pub(crate) fn add_to(&self, batch: &mut BatchGet, scope: &Scope) {
        batch.add(&self.table.place(scope.to_string()));
    }

    pub(crate) fn find_in(&self, items: &BatchItems, scope: &Scope) -> StoreResult<PrefetchedBook> {
        match items.find(&self.table.place(scope.to_string())) {
            Found::NotAsked => Ok(PrefetchedBook::NotRead),
            Found::Absent => Ok(PrefetchedBook::Absent),
            Found::Item(item) => {
                if let Some(check) = read_text(item, PEOPLE_CHECK) {
                    self.secrets.check_version_for_phones(check)?;
                }
                match self.secrets.fetched_version(secret_version(item, READING)?) {
                    Some(secret) => Ok(PrefetchedBook::Found(read(item, scope, secret)?)),
                    None => Ok(PrefetchedBook::NotRead),
                }
            }
        }
    }

    /// Does nothing if the scope has a book: its first keys never change.
    pub async fn start(&self, scope: &Scope, book: CodeBook) -> StoreResult<()> {
        let first = StoredBook {
            book,
            revision: 0,
            secret: self.secrets.current().await?,
        };
        let write = self.write(scope, &first, None)?.when_absent(REVISION);
        transaction::write_one(write, WRITING).await.map(drop)
    }

    pub async fn save(&self, scope: &Scope, stored: &StoredBook) -> Result<(), SaveError> {
        let item = self.table.get(scope.to_string(), READING).await?;
        let next = StoredBook {
            revision: stored.revision + 1,
            ..stored.clone()
        };
        let write = self
            .write(scope, &next, item)?
            .when_equal(REVISION, stored.revision);
        // The token of a transaction lets the SDK's retry succeed if the answer is lost.
        if transaction::write_one(write, WRITING).await? {
            Ok(())
        } else {
            Err(SaveError::Changed)
        }
    }

    /// Uses another version of the secret; false if done already.
    pub async fn reencrypt(
        &self,
        scope: &Scope,
        secret: &Arc<SecretVersion>,
    ) -> Result<bool, SaveError> {
        match self.get(scope).await? {
            Some(stored) if stored.secret.id != secret.id => {
                let stored = StoredBook {
                    secret: Arc::clone(secret),
                    ..stored
                };
                self.save(scope, &stored).await.map(|()| true)
            }
            Some(_) | None => Ok(false),
        }
    }

    /// Reads the whole, small table.
    pub async fn scopes(&self) -> StoreResult<Vec<Scope>> {
        const ACTION: &str = "listing code books";
        let scope = |item: Item| {
            let scope = read_text(&item, KEY).and_then(|key| key.parse().ok());
            required(scope, ACTION)
        };
        let scan = self.table.scan().projection_expression("#scope");
        let scan = scan.expression_attribute_names("#scope", KEY);
        list(scan.consistent_read(true), ACTION, scope).await
    }

    pub fn secrets(&self) -> &DeploymentSecrets {
        &self.secrets
    }

    /// Keeps attributes that a newer build has added.
    fn write(&self, scope: &Scope, stored: &StoredBook, item: Option<Item>) -> StoreResult<Write> {
        let StoredBook {
            book,
            revision,
            secret,
        } = stored;
        let minting_key = encrypted(
            secret,
            KeyContext::Minting(scope),
            &book.minting_key,
            WRITING,
        )?;
        let digest_key = encrypted(
            secret,
            KeyContext::Digests(scope),
            &book.digest_key,
            WRITING,
        )?;
        let before: Option<Stored> = item
            .clone()
            .map(|item| from_record(item, READING))
            .transpose()?;
        let after = Stored {
            secret_version: secret.id.clone(),
            people_check: Some(secret.secret.people_check()),
            minted_length: book.minted_length,
            alphabet: book.alphabet,
            minted: book.minted,
            batches: book.batches.clone(),
            revision: *revision,
        };
        Ok(self
            .table
            .update(scope.to_string())
            .merge(&item.unwrap_or_default(), before.as_ref(), &after)
            .set_attribute(MINTING_KEY, minting_key)
            .set_attribute(DIGEST_KEY, digest_key))
    }
}

fn read(item: &Item, scope: &Scope, secret: Arc<SecretVersion>) -> StoreResult<StoredBook> {
    let Stored {
        minted_length,
        alphabet,
        minted,
        batches,
        revision,
        ..
    } = from_record(item.clone(), READING)?;
    let key = |context, name| decrypted(&secret, context, item.get(name), READING);
    let book = CodeBook {
        minting_key: key(KeyContext::Minting(scope), MINTING_KEY)?,
        digest_key: key(KeyContext::Digests(scope), DIGEST_KEY)?,
        minted_length,
        alphabet,
        minted,
        batches,
    };
    Ok(StoredBook {
        book,
        revision,
        secret,
    })
}
