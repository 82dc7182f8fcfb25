use std::io;
use std::path::{Path, PathBuf};

use common::app::auth::DEFAULT_PER_MINUTE;
use common::aws::Aws;
use common::clock::Clock;
use common::config::{ConfigError, Env};
use common::domain::{Campaign, CampaignSlug, CodePolicy, Environment, Scope};
use common::error::StoreError;
use ops_core::campaigns::apply;
use ops_core::codes::mint::{MintRequest, mint};
use ops_core::failure::Failure;
use ops_core::tables::Tables;
use ops_core::{campaign_file, keys};
use serde::{Deserialize, Serialize};

use crate::{partner, private_file};

pub(crate) mod campaigns;
pub(crate) mod paper;
pub(crate) mod past;
mod printed;

pub mod draw;
pub mod entries;
pub mod samples;

use self::campaigns::{DEMO, DemoCampaign};
pub use self::printed::describe;

const PARTNER_URL: &str = "PARTNER_URL";

const CODES: u64 = 8;

/// Keys and codes, which no table holds in readable form.
const KEPT: &str = "demo.json";

/// Holds keys and codes, so it has no `Debug`.
#[derive(Clone, Serialize, Deserialize)]
pub struct Demo {
    slug: CampaignSlug,
    name: String,
    test: Access,
    live: Access,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Access {
    key: String,
    /// Empty if the service does not mint them.
    pub(crate) codes: Vec<String>,
    /// They win an instant prize.
    pub(crate) prize_codes: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    #[error("the demo campaigns cannot be loaded: {0}")]
    Refused(String),
    #[error("the demo campaigns cannot be loaded")]
    Config(#[from] ConfigError),
    #[error("{} cannot be used; remove it to get new demo keys, or choose another folder with --data", .path.display())]
    Kept {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

impl From<StoreError> for DemoError {
    fn from(error: StoreError) -> Self {
        Failure::from(error).into()
    }
}

fn unusable(what: &str) -> DemoError {
    DemoError::Refused(format!("the {what} of a demo cannot be used"))
}

impl From<Failure> for DemoError {
    fn from(failure: Failure) -> Self {
        Self::Refused(failure.message)
    }
}

/// With a data folder, only once: later runs keep an operator's changes, and show the same keys and
/// codes.
pub async fn load(
    env: &Env,
    data: Option<&Path>,
    partner_url: &str,
    clock: &Clock,
) -> Result<Vec<Demo>, DemoError> {
    samples::load(env, clock).await?;
    let Some(path) = data.map(|folder| folder.join(KEPT)) else {
        return make(env, partner_url, clock).await;
    };
    let kept = |cause| DemoError::Kept {
        path: path.clone(),
        cause,
    };
    if path.exists() {
        let text = std::fs::read(&path).map_err(kept)?;
        let demos: Vec<Demo> = serde_json::from_slice(&text).map_err(|cause| kept(cause.into()))?;
        move_partner(env, &demos, partner_url).await?;
        return Ok(demos);
    }
    let demos = make(env, partner_url, clock).await?;
    let text = serde_json::to_vec_pretty(&demos).map_err(|cause| kept(cause.into()))?;
    private_file::write(&path, &text).map_err(kept)?;
    Ok(demos)
}

/// Keeps an operator's own partner.
async fn move_partner(env: &Env, demos: &[Demo], partner_url: &str) -> Result<(), DemoError> {
    let tables = Tables::from_env(env, &Aws::for_function(env)?)?;
    for demo in demos {
        let before = tables
            .campaigns
            .get_stored(&demo.slug)
            .await
            .map_err(Failure::from)?;
        let Some(before) = before else { continue };
        let mut after = before.campaign.clone();
        let Some(rules) = after.partner.as_mut() else {
            continue;
        };
        if rules.url.starts_with("http://127.0.0.1:") && rules.url.ends_with(partner::PATH) {
            rules.url = partner_url.to_owned();
            // An operator used the pause switch at the same time.
            tables
                .campaigns
                .replace(Some(&before), &after)
                .await
                .map_err(Failure::from)?;
        }
    }
    Ok(())
}

async fn make(env: &Env, partner_url: &str, clock: &Clock) -> Result<Vec<Demo>, DemoError> {
    let tables = Tables::from_env(env, &Aws::for_function(env)?)?;
    let mut files = Vec::new();
    for campaign in &DEMO.campaigns {
        let text = campaign.file().replace(PARTNER_URL, partner_url);
        let file = campaign_file::read(&campaign.slug, &text).map_err(|problems| {
            let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
            DemoError::Refused(problems.join("; "))
        })?;
        files.push(file);
    }
    apply(&tables, &files, clock.now()).await?;
    let mut demos = Vec::new();
    for (file, DemoCampaign { prize, .. }) in files.iter().zip(&DEMO.campaigns) {
        let prize = prize.as_deref();
        let campaign = &file.campaign;
        let test = access(&tables, campaign, Environment::Test, prize, clock).await?;
        let live = access(&tables, campaign, Environment::Live, prize, clock).await?;
        demos.push(Demo {
            slug: campaign.slug.clone(),
            name: campaign.name.clone(),
            test,
            live,
        });
    }
    Ok(demos)
}

async fn access(
    tables: &Tables,
    campaign: &Campaign,
    environment: Environment,
    prize: Option<&str>,
    clock: &Clock,
) -> Result<Access, Failure> {
    let scope = Scope {
        campaign: campaign.slug.clone(),
        environment,
    };
    let key = keys::issue(
        tables,
        &scope,
        Some("demo"),
        DEFAULT_PER_MINUTE,
        None,
        clock.now(),
    )
    .await?
    .key;
    let codes = if campaign.code == CodePolicy::Service {
        minted(tables, &scope, None).await?
    } else {
        Vec::new()
    };
    let prize_codes = if prize.is_some() {
        minted(tables, &scope, prize).await?
    } else {
        Vec::new()
    };
    Ok(Access {
        key,
        codes,
        prize_codes,
    })
}

async fn minted(
    tables: &Tables,
    scope: &Scope,
    prize: Option<&str>,
) -> Result<Vec<String>, Failure> {
    let request = MintRequest {
        count: CODES,
        prize: prize.map(str::to_owned),
        ..MintRequest::default()
    };
    let mut file = Vec::new();
    mint(&tables.code_books, scope, &request, &mut file).await?;
    Ok(String::from_utf8_lossy(&file)
        .lines()
        .map(str::to_owned)
        .collect())
}

impl Demo {
    /// `None` for one that an earlier build loaded.
    pub(crate) fn campaign(&self) -> Option<&'static DemoCampaign> {
        let mut campaigns = DEMO.campaigns.iter();
        campaigns.find(|campaign| campaign.slug == self.slug.as_str())
    }

    pub fn slug(&self) -> &CampaignSlug {
        &self.slug
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn key(&self, environment: Environment) -> &str {
        &self.access(environment).key
    }

    pub(crate) fn access(&self, environment: Environment) -> &Access {
        match environment {
            Environment::Test => &self.test,
            Environment::Live => &self.live,
        }
    }
}
