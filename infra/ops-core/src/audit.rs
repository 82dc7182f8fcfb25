//! The audit log of a command: who does what, and why. A row comes before what it records, so no
//! change is unrecorded, but a recorded one can still fail.
//!
//! ```ignore
//! let action = Action::new("key.revoke").in_scope(&scope).on(&key_id).because(&why);
//! tables.audit.append(action.with(json!({ "label": label })), now).await?;
//! ```
//!
//! The `WriteGuard` refuses the first write without a row, and a link to a photo asks for a
//! [`Recorded`].

use std::fmt;
use std::sync::Arc;

use chrono::NaiveDate;
use chrono_tz::Tz;
use common::aws::{Aws, MAX_CONCURRENCY};
use common::config::{ConfigError, Env};
use common::domain::audit::{AuditEntry, AuditRow, StoredAuditRow};
use common::domain::draw::Operator;
use common::domain::ids::Reference;
use common::domain::scope::{CampaignSlug, Scope};
use common::domain::submission::{OperatorDecision, name_in_arn};
use common::domain::timestamp::Timestamp;
use common::domain::unicode::stripped;
use common::store::audit::AuditLog;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::failure::Failure;
use crate::identity::Identity;
use crate::tables::Tables;
use crate::write_guard::WriteGuard;

/// Each takes a query.
const MAX_DAYS: i64 = 3_660;

/// Characters of an operator's name or reason.
const WORDS_CHARS: std::ops::RangeInclusive<usize> = 1..=500;

/// Adds a name to the AWS identity, by variable or option.
pub const BY_VARIABLE: &str = "OPS_BY";

/// Holds no phone, code, key or secret: rows are kept forever.
#[derive(Clone, Debug)]
pub struct Action(AuditEntry);

impl Action {
    /// Such as `key.revoke`.
    pub fn new(name: &'static str) -> Self {
        Self(AuditEntry {
            // The log fills it in.
            who: String::new(),
            by: None,
            action: name.to_owned(),
            campaign: None,
            environment: None,
            subject: None,
            why: None,
            details: "{}".to_owned(),
        })
    }

    /// The campaign of an action on both environments.
    #[must_use]
    pub fn in_campaign(mut self, campaign: &CampaignSlug) -> Self {
        self.0.campaign = Some(campaign.to_string());
        self
    }

    #[must_use]
    pub fn in_scope(mut self, scope: &Scope) -> Self {
        self.0.environment = Some(scope.environment.to_string());
        self.in_campaign(&scope.campaign)
    }

    /// Id or pseudonym of the affected record.
    #[must_use]
    pub fn on(mut self, subject: impl ToString) -> Self {
        self.0.subject = Some(subject.to_string());
        self
    }

    #[must_use]
    pub fn because(mut self, why: &str) -> Self {
        self.0.why = Some(why.to_owned());
        self
    }

    #[must_use]
    pub fn with(mut self, details: Value) -> Self {
        self.0.details = details.to_string();
        self
    }
}

/// Proof that a row was written; links to photos require it.
#[derive(Clone, Debug)]
pub struct Recorded(u64);

impl Recorded {
    pub fn number(&self) -> u64 {
        self.0
    }
}

#[derive(Clone)]
pub struct Audit {
    log: AuditLog,
    aws: Aws,
    /// Looked up for the first row.
    identity: Arc<OnceCell<Identity>>,
    by: Option<String>,
    guard: WriteGuard,
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audit")
            .field("log", &self.log)
            .finish_non_exhaustive()
    }
}

impl Audit {
    pub fn from_env(env: &Env, aws: &Aws) -> Result<Self, ConfigError> {
        Ok(Self {
            log: AuditLog::from_env(env, &aws.dynamodb())?,
            aws: aws.clone(),
            identity: Arc::default(),
            by: env.optional(BY_VARIABLE),
            guard: WriteGuard::default(),
        })
    }

    /// A connection that refuses writes before the first row.
    pub fn guarded(&self, aws: &Aws) -> Aws {
        self.guard.before(aws)
    }

    pub(crate) fn unguarded(&self) -> &Aws {
        &self.aws
    }

    /// The log for another command of the same operator, with its own guard.
    pub(crate) fn for_next_command(&self) -> (Self, Aws) {
        let next = Self {
            guard: WriteGuard::default(),
            ..self.clone()
        };
        let aws = next.guarded(&next.aws);
        (next, aws)
    }

    /// Writes a row. Nothing may be changed or shown if it fails.
    pub async fn append(&self, action: Action, now: Timestamp) -> Result<Recorded, Failure> {
        let entry = AuditEntry {
            who: self.identity().await?.to_owned(),
            by: self.by.clone(),
            ..action.0
        };
        let row = Box::pin(self.log.append(&entry, now)).await?;
        self.guard.open();
        Ok(Recorded(row.sequence))
    }

    pub async fn identity(&self) -> Result<&str, Failure> {
        Ok(&self.asked().await?.arn)
    }

    async fn asked(&self) -> Result<&Identity, Failure> {
        Box::pin(self.identity.get_or_try_init(|| Identity::ask(&self.aws))).await
    }

    pub async fn operator(&self) -> Result<Operator, Failure> {
        Ok(Operator {
            who: self.identity().await?.to_owned(),
            by: self.by.clone(),
        })
    }

    /// The given name, otherwise the one in the AWS identity. Rows of the log have the whole
    /// identity too.
    pub async fn operator_name(&self) -> Result<String, Failure> {
        match &self.by {
            Some(by) => Ok(by.clone()),
            None => Ok(self.asked().await?.name().to_owned()),
        }
    }

    pub async fn decision(&self, why: String, now: Timestamp) -> Result<OperatorDecision, Failure> {
        Ok(OperatorDecision {
            by: self.operator_name().await?,
            at: now,
            why: Some(why),
            confirmed: None,
            identity: Some(self.identity().await?.to_owned()),
        })
    }

    /// Both names, such as `asha (deploy-bot)`, for records without an AWS identity.
    pub async fn operator_in_full(&self) -> Result<String, Failure> {
        let name = self.asked().await?.name();
        let given = self.by.as_deref().filter(|by| *by != name);
        Ok(given.map_or_else(|| name.to_owned(), |by| format!("{by} ({name})")))
    }

    pub fn log(&self) -> &AuditLog {
        &self.log
    }
}

#[derive(Clone, Debug, Default)]
pub struct RowFilter {
    pub campaign: Option<CampaignSlug>,
    /// Such as `person.erase`, or `person` for all that begin with it.
    pub action: Option<String>,
    /// The whole ARN, the name at its end, or the given name.
    pub who: Option<String>,
    /// An id, a batch's name, or a reference, which stands for its submissions.
    pub about: Option<String>,
}

/// The campaign's zone or the country's.
pub async fn zone(tables: &Tables, campaign: Option<&CampaignSlug>) -> Result<Tz, Failure> {
    match campaign {
        Some(slug) => Ok(tables.campaign(slug).await?.timezone),
        None => Ok(Tz::Africa__Dar_es_Salaam),
    }
}

/// Rows from `from` to `to`, both included, oldest first.
pub async fn rows(
    tables: &Tables,
    from: NaiveDate,
    to: NaiveDate,
    zone: Tz,
    filter: &RowFilter,
) -> Result<Vec<StoredAuditRow>, Failure> {
    if from > to || (to - from).num_days() >= MAX_DAYS {
        let message =
            "the first day must be before the last, or the same, and at most ten years before it";
        return Err(Failure::new("days_invalid", message));
    }
    // Rows are stored by UTC day, which begins and ends at most a day from a zone's.
    let (first, last) = (from.pred_opt().unwrap_or(from), to.succ_opt().unwrap_or(to));
    let days = first
        .iter_days()
        .take_while(|day| *day <= last)
        .map(|day| day.to_string());
    let log = tables.audit.log();
    let queries = stream::iter(days)
        .map(async |day| log.of_day(&day).await)
        .buffered(MAX_CONCURRENCY);
    let rows: Vec<Vec<StoredAuditRow>> = queries.try_collect().await?;
    let about = ids_of(tables, filter.about.as_deref()).await?;
    let days = from.to_string()..=to.to_string();
    let mut rows: Vec<_> = rows
        .into_iter()
        .flatten()
        .filter(|row| filter.takes(row, &about))
        .collect();
    rows.retain(|stored| {
        days.contains(
            &stored
                .row
                .as_ref()
                .map_or_else(|| stored.day.clone(), |row| row.at.day_in(zone)),
        )
    });
    // A wrong clock may have put a row under another day.
    rows.sort_by_key(|row| row.sequence);
    Ok(rows)
}

/// The given text, and ids of submissions with this reference.
async fn ids_of(tables: &Tables, about: Option<&str>) -> Result<Vec<String>, Failure> {
    let Some(about) = about else {
        return Ok(Vec::new());
    };
    let mut ids = vec![about.to_owned()];
    if about.parse::<Reference>().is_ok() {
        let found = crate::submissions::find(tables, about).await;
        ids.extend(
            found
                .iter()
                .flatten()
                .map(|submission| submission.submission_id.to_string()),
        );
    }
    Ok(ids)
}

impl RowFilter {
    fn takes(&self, stored: &StoredAuditRow, about: &[String]) -> bool {
        let Self {
            campaign,
            action,
            who,
            about: wanted,
        } = self;
        let Some(AuditRow { entry, .. }) = &stored.row else {
            // An unreadable row may match.
            return true;
        };
        let is_by = |name: &String| {
            entry.who == *name || name_in_arn(&entry.who) == name || entry.by.as_ref() == Some(name)
        };
        let is_action = |wanted: &String| {
            let rest = entry.action.strip_prefix(wanted.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        // Rows about a person list the submissions in their details.
        let is_about = |id: &String| {
            entry.subject.as_ref() == Some(id) || entry.details.contains(&format!("\"{id}\""))
        };
        campaign
            .as_ref()
            .is_none_or(|slug| entry.campaign.as_deref() == Some(slug.as_str()))
            && action.as_ref().is_none_or(is_action)
            && who.as_ref().is_none_or(is_by)
            && (wanted.is_none() || about.iter().any(is_about))
    }
}

/// Refuses empty, long and multi-line text; `option` is where it was given.
pub fn words(text: &str, option: &str) -> Result<String, Failure> {
    let text = stripped(text);
    if crate::phones::has_phone(text) {
        let message = format!(
            "{option} has a phone number in it, and would be kept for good; say it without the number"
        );
        return Err(Failure::new("phone_in_words", message));
    }
    if WORDS_CHARS.contains(&text.chars().count()) && !text.chars().any(char::is_control) {
        Ok(text.to_owned())
    } else {
        let message =
            format!("{option} must be 1 to 500 characters on one line; it goes into the record");
        Err(Failure::new("words_invalid", message))
    }
}
