//! State of all pages.

use std::convert::Infallible;
use std::ops::Deref;
use std::sync::Arc;

use common::clock::Clock;
use ops_core::connection;
use ops_core::roles::roles;
use tokio::sync::OnceCell;

use crate::access::Access;
use crate::once::{KeptPages, SentForms};
use crate::pages::codes::import::Uploads;
use crate::pages::codes::mint::Minting;
use crate::pages::draws::freezes::Freezes;
use crate::pages::review::screens::Screens;
use crate::pages::submissions::Listings;
use crate::prelude::*;

#[derive(Clone)]
pub(crate) struct Console(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) env: Env,
    pub(crate) clock: Clock,
    /// Read only: each request opens its own tables.
    tables: Tables,
    pub(crate) access: Access,
    /// `127.0.0.1:PORT`.
    pub(crate) authority: String,
    pub(crate) screens: Screens,
    /// Asked for once: they are the credentials'.
    roles: OnceCell<Vec<Role>>,
    pub(crate) listings: Listings,
    pub(crate) minting: Minting,
    pub(crate) uploads: Uploads,
    pub(crate) sent_forms: SentForms,
    pub(crate) kept_pages: KeptPages,
    pub(crate) freezes: Freezes,
}

impl Deref for Console {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl FromRequestParts<Self> for Console {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, state: &Self) -> Result<Self, Infallible> {
        Ok(state.clone())
    }
}

impl Console {
    pub(crate) async fn new(
        settings: &ConsoleSettings,
        authority: String,
        access: Access,
    ) -> Result<Self, Failure> {
        let ConsoleSettings { env, clock, .. } = settings;
        let aws = connection::aws(env).await?;
        let tables = Tables::for_command(env, &aws)?;
        let (env, clock) = (env.clone(), clock.clone());
        Ok(Self(Arc::new(Shared {
            env,
            clock,
            tables,
            access,
            authority,
            screens: Screens::default(),
            roles: OnceCell::new(),
            listings: Listings::default(),
            minting: Minting::default(),
            uploads: Uploads::default(),
            sent_forms: SentForms::default(),
            kept_pages: KeptPages::default(),
            freezes: Freezes::default(),
        })))
    }

    /// Tables for one request, which must write a row of the audit log before any other write.
    pub(crate) fn tables(&self) -> Result<Tables, Failure> {
        Ok(self.tables.for_next_command()?)
    }

    /// True if the operator has the role. A page without a right says so; a write is refused by AWS.
    pub(crate) async fn has(&self, role: Role) -> Result<bool, Failure> {
        let roles = self.roles.get_or_try_init(|| async {
            let tables = self.tables()?;
            roles(&tables).await
        });
        Ok(roles.await?.contains(&role))
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}
