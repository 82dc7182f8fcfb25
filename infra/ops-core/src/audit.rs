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

use chrono::Days;
use common::domain::audit::AuditEntry;
use common::domain::draw::Operator;
use common::domain::submission::name_in_arn;
use common::domain::unicode::stripped;
use common::store::audit::AuditLog;
use tokio::sync::OnceCell;

use crate::identity::Identity;
use crate::prelude::*;
use crate::write_guard::WriteGuard;

const USUAL_DAYS: u64 = 30;
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

    /// True for a row of the same action with the same details, of any person.
    fn is_like(&self, row: &AuditEntry) -> bool {
        let details = |entry: &AuditEntry| {
            let mut details: Value = serde_json::from_str(&entry.details).unwrap_or_default();
            // What a request replaced; the second one replaces nothing.
            if let Some(details) = details.as_object_mut() {
                details.remove("replaced");
            }
            details
        };
        let about = |entry: &AuditEntry| {
            let AuditEntry {
                action,
                campaign,
                environment,
                subject,
                ..
            } = entry.clone();
            (action, campaign, environment, subject)
        };
        about(&self.0) == about(row) && details(&self.0) == details(row)
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

    pub(crate) fn for_next_command(&self) -> (Self, Aws) {
        let next = Self {
            guard: WriteGuard::default(),
            ..self.clone()
        };
        let aws = next.guarded(&next.aws);
        (next, aws)
    }

    /// Writes a row. Nothing may be changed or shown if it fails.
    pub async fn append(&self, action: Action, now: Timestamp) -> Result<Recorded> {
        let entry = AuditEntry {
            who: self.identity().await?.to_owned(),
            by: self.by.clone(),
            ..action.0
        };
        let row = Box::pin(self.log.append(&entry, now)).await?;
        self.guard.open();
        Ok(Recorded(row.sequence))
    }

    /// True if the log has a person's request, whose row was like this one. A person with
    /// the right to write the record could have made it up.
    pub(crate) async fn has_request(
        &self,
        row: &Action,
        request: &OperatorDecision,
    ) -> Result<bool> {
        let rows = Box::pin(self.log.of_day(&request.at.day_in(Tz::UTC))).await?;
        let mut rows = rows.iter().filter_map(|stored| stored.row.as_ref());
        Ok(rows.any(|logged| {
            logged.at == request.at
                && Some(&logged.entry.who) == request.identity.as_ref()
                && row.is_like(&logged.entry)
        }))
    }

    pub async fn identity(&self) -> Result<&str> {
        Ok(&self.asked().await?.arn)
    }

    async fn asked(&self) -> Result<&Identity> {
        Box::pin(self.identity.get_or_try_init(|| Identity::ask(&self.aws))).await
    }

    pub async fn operator(&self) -> Result<Operator> {
        Ok(Operator {
            who: self.identity().await?.to_owned(),
            by: self.by.clone(),
        })
    }

    /// The given name, otherwise the one in the AWS identity. Rows of the log have the whole
    /// identity too.
    pub async fn operator_name(&self) -> Result<String> {
        match &self.by {
            Some(by) => Ok(by.clone()),
            None => Ok(self.asked().await?.name().to_owned()),
        }
    }

    pub async fn decision(&self, why: String, now: Timestamp) -> Result<OperatorDecision> {
        Ok(OperatorDecision {
            by: self.operator_name().await?,
            at: now,
            why: Some(why),
            confirmed: None,
            identity: Some(self.identity().await?.to_owned()),
        })
    }

    /// Both names, such as `asha (deploy-bot)`, for records without an AWS identity.
    pub async fn operator_in_full(&self) -> Result<String> {
        let name = self.asked().await?.name();
        let given = self.by.as_deref().filter(|by| *by != name);
        Ok(given.map_or_else(|| name.to_owned(), |by| format!("{by} ({name})")))
    }

    pub fn log(&self) -> &AuditLog {
        &self.log
    }
}

// The doc comments are the help of `ops audit list`.
#[derive(Args, Clone, Debug, Default)]
pub struct RowFilter {
    /// Only rows about this campaign
    #[arg(long, value_name = "SLUG")]
    pub campaign: Option<CampaignSlug>,
    /// Only rows of this action, such as person.erase, or of a group, such as person
    #[arg(long, value_name = "ACTION")]
    pub action: Option<String>,
    /// Only rows by this person: an ARN, the name at its end, or the one given with --by
    #[arg(long, value_name = "NAME")]
    pub who: Option<String>,
    /// Only rows about this reference or id, of a submission, a person's submission, a key, a draw
    #[arg(long, value_name = "REF")]
    pub about: Option<String>,
}

/// The rows of some days, oldest first; both days are included.
#[derive(Debug)]
pub struct AuditRows {
    pub rows: Vec<StoredAuditRow>,
    pub from: NaiveDate,
    pub to: NaiveDate,
    /// The campaign's, or that of the country.
    pub zone: Tz,
}

/// Finds the rows up to a day or today, from a day or 30 days on.
///
/// # Errors
/// When the range is empty or too long, there is no such campaign, or a table does not answer.
pub async fn list(
    tables: &Tables,
    filter: &RowFilter,
    from: Option<NaiveDate>,
    to: Option<NaiveDate>,
    now: Timestamp,
) -> Result<AuditRows> {
    let zone = match &filter.campaign {
        Some(slug) => tables.campaign(slug).await?.timezone,
        None => Tz::Africa__Dar_es_Salaam,
    };
    let to = to.unwrap_or_else(|| now.in_zone(zone).date_naive());
    let usual = || to.checked_sub_days(Days::new(USUAL_DAYS - 1));
    let from = from.or_else(usual).unwrap_or(to);
    Ok(AuditRows {
        rows: rows(tables, filter, from, to, zone).await?,
        from,
        to,
        zone,
    })
}

pub(crate) async fn rows(
    tables: &Tables,
    filter: &RowFilter,
    from: NaiveDate,
    to: NaiveDate,
    zone: Tz,
) -> Result<Vec<StoredAuditRow>> {
    if from > to || (to - from).num_days() >= MAX_DAYS {
        bail!(
            "days_invalid",
            "the first day must be before the last, or the same, and at most ten years before it"
        );
    }
    // Rows are stored by UTC day, which begins and ends at most a day from a zone's.
    let (first, last) = (from.pred_opt().unwrap_or(from), to.succ_opt().unwrap_or(to));
    let days = first
        .iter_days()
        .take_while(|day| *day <= last)
        .map(|day| day.to_string());
    let log = tables.audit.log();
    let queries = days.map(|day| async move { log.of_day(&day).await });
    let mut rows = concurrently(queries).await?.concat();
    let about = ids_of(tables, filter.about.as_deref()).await?;
    let days = from.to_string()..=to.to_string();
    rows.retain(|stored| {
        let day_in_zone = stored.row.as_ref().map(|row| row.at.day_in(zone));
        let day = day_in_zone.as_ref().unwrap_or(&stored.day);
        days.contains(day) && filter.takes(stored, &about)
    });
    // A wrong clock may have put a row under another day.
    rows.sort_by_key(|row| row.sequence);
    Ok(rows)
}

/// The given text, and ids of submissions with this reference.
async fn ids_of(tables: &Tables, about: Option<&str>) -> Result<Vec<String>> {
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
pub fn validate_reason(text: &str, option: &str) -> Result<String> {
    let text = stripped(text);
    if phones::has_phone(text) {
        bail!(
            "phone_in_words",
            "{option} has a phone number in it, and would be kept for good; say it without the number"
        );
    }
    if WORDS_CHARS.contains(&text.chars().count()) && !text.chars().any(char::is_control) {
        Ok(text.to_owned())
    } else {
        bail!(
            "words_invalid",
            "{option} must be 1 to 500 characters on one line; it goes into the record"
        )
    }
}
