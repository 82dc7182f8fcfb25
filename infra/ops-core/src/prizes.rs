use crate::contact_log::{WinnersOf, steps_json};
use crate::prelude::*;
use crate::submissions;

/// A win, with what only its submission knows.
#[derive(Clone, Debug)]
pub struct Winner {
    pub win: Win,
    pub region: Option<String>,
    /// Masked, or a word for why there is none.
    pub phone: String,
    /// True if the prize is open, and the phone was blocked since.
    pub is_blocked: bool,
}

impl Winner {
    pub fn state_in_words(&self) -> String {
        let blocked = if self.is_blocked { ", BLOCKED" } else { "" };
        format!("{}{blocked}", self.win.state_in_words())
    }

    pub(crate) fn as_json(&self) -> Value {
        let win = &self.win;
        json!({
            "campaign": win.scope.campaign,
            "environment": win.scope.environment,
            "id": win.submission_id,
            "ref": win.reference.to_string(),
            "accepted_at": win.accepted_at,
            "prize": win.prize,
            "source": win.source,
            "status": win.status(),
            "state": win.state(),
            "phone": self.phone,
            "region": self.region,
            "blocked": self.is_blocked,
            "steps": steps_json(&win.log),
        })
    }

    /// The next command, in words; `None` once the prize is handed over or lost.
    pub fn next_step(&self) -> Option<String> {
        let command = WinnersOf::Instant.next_command(&self.win.log, self.is_blocked)?;
        Some(format!(
            "next: `ops prize {command} {}`",
            self.win.reference
        ))
    }
}

pub async fn list(
    tables: &Tables,
    scope: &Scope,
    status: Option<WinStatus>,
) -> Result<Vec<Winner>> {
    let mut wins = tables.wins().list(scope).await?;
    wins.retain(|win| status.is_none_or(|status| status == win.status()));
    concurrently(wins.into_iter().map(|win| with_submission(tables, win))).await
}

/// The latest win of a submission, by its id or reference.
pub async fn find(tables: &Tables, name: &str) -> Result<Winner> {
    let submission = submissions::one(tables, name).await?;
    let mut wins = tables.wins().of_submission(&submission).await?;
    let Some(win) = wins.pop() else {
        bail!(
            "prize_unknown",
            "{} won no instant prize; `ops prize list` shows those that were won",
            submission.reference()
        );
    };
    with_submission(tables, win).await
}

pub async fn with_submission(tables: &Tables, win: Win) -> Result<Winner> {
    let submission = submission(tables, &win).await?;
    let entrants = &tables.entrants;
    let is_blocked = win.is_open()
        && entrants
            .get(&win.scope, &submission.entrant_id, &submission.day)
            .await?
            .blocked;
    Ok(Winner {
        phone: phones::shown(tables, &submission, false).await?,
        region: submission.region,
        win,
        is_blocked,
    })
}

async fn submission(tables: &Tables, win: &Win) -> Result<Submission> {
    let found = tables
        .submissions()
        .get(&win.scope, win.submission_id)
        .await?;
    found.ok_or_else(|| {
        failure!(
            "prize_without_entry",
            "the prize {} of {} has no submission any more: it was deleted without `ops`. Ask the administrator of the stack",
            visible(&win.prize),
            win.reference
        )
    })
}

/// The number to call, after a row of the audit log.
pub async fn show_phone(tables: &Tables, win: &Win, now: Timestamp) -> Result<String> {
    let action = Action::new("prize.show_phone")
        .in_scope(&win.scope)
        .on(win.submission_id)
        .with(json!({ "prize": win.prize }));
    tables.audit.append(action, now).await?;
    phones::shown(tables, &submission(tables, win).await?, true).await
}

/// Logs a step. Revoking the submission is what revokes its prize.
pub async fn log(tables: &Tables, win: &Win, event: ContactEvent, now: Timestamp) -> Result<Win> {
    // Steps are of those who may call. Reviewers, who revoke, have the right to the record alone.
    tables.secrets().current().await?;
    let action = Action::new(WinnersOf::Instant.action(&event))
        .in_scope(&win.scope)
        .on(win.submission_id)
        .with(json!({ "prize": win.prize, "event": event }));
    let step = ContactStep {
        at: win.step_time(now),
        by: Some(tables.audit.operator().await?),
        event,
    };
    let after = win.after(step).map_err(|refused| {
        failure!(
            "step_refused",
            "nothing was logged for {}: {refused}",
            win.reference
        )
    })?;
    tables.audit.append(action, now).await?;
    if !tables.wins().log(win, &after).await? {
        bail!(
            "changed_meanwhile",
            "another operator logged a step for this winner at the same time, or the entry was revoked; nothing was logged. \
             Look with `ops prize list`, then run this again if it still applies"
        );
    }
    Ok(after)
}
