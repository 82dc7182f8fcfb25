//! Submissions: finding them, and settling by hand what waits for a person.

use common::domain::ids::{Reference, SubmissionId};
use common::domain::message::MessageKey;
use common::domain::scope::{Environment, Scope};
use common::domain::submission::{Event, OperatorDecision, Submission};
use common::store::codes::CodeName;
use common::store::ledger::Settled;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::failure::Failure;
use crate::tables::Tables;

/// The reason that a settled submission carries besides its message key.
const DECIDED_BY_A_PERSON: &str = "operator_decision";

/// Scopes looked into at once.
const AT_ONCE: usize = 16;

/// What an operator decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The consumer is in.
    Accept,
    /// Not in, for this reason.
    Reject(MessageKey),
}

/// The submissions that an id or a reference names: in every campaign and both environments.
///
/// # Errors
/// When the text is neither, nothing has that name, or a table does not answer.
pub async fn find(tables: &Tables, name: &str) -> Result<Vec<Submission>, Failure> {
    let found = if let Ok(id) = name.parse::<SubmissionId>() {
        by_id(tables, id).await?.into_iter().collect()
    } else if let Ok(reference) = name.parse::<Reference>() {
        tables.ledger.submissions().by_reference(&reference).await?
    } else {
        let message = "this is neither a submission's id (a UUID) nor a reference such as K7M2-Q9XD; check what was \
                       pasted";
        return Err(Failure::new("name_invalid", message));
    };
    if found.is_empty() { Err(unknown()) } else { Ok(found) }
}

async fn by_id(tables: &Tables, id: SubmissionId) -> Result<Option<Submission>, Failure> {
    let campaigns = tables.campaigns.list().await?;
    let scopes = campaigns.into_iter().flat_map(|campaign| {
        Environment::ALL.map(|environment| Scope { campaign: campaign.slug.clone(), environment })
    });
    let submissions = tables.ledger.submissions();
    let looks = scopes.map(|scope| async move { submissions.get(&scope, id).await });
    let mut found = stream::iter(looks).buffer_unordered(AT_ONCE);
    while let Some(submission) = found.try_next().await? {
        if submission.is_some() {
            return Ok(submission);
        }
    }
    Ok(None)
}

fn unknown() -> Failure {
    let message =
        "there is no such submission on this stack; check the id, and which stack the environment points at";
    Failure::new("submission_unknown", message)
}

/// A scope's submissions, newest first.
///
/// # Errors
/// When there is no such campaign, or a table does not answer.
pub async fn list(
    tables: &Tables,
    scope: &Scope,
    only_unsettled: bool,
    most: usize,
) -> Result<Vec<Submission>, Failure> {
    tables.campaign(&scope.campaign).await?;
    let wanted = |submission: &Submission| !only_unsettled || !submission.standing.is_terminal();
    Ok(tables.ledger.submissions().list(scope, most, wanted).await?)
}

/// Settles a submission as an operator decided: an accepted one earns the campaign's entries and the
/// prize of its code, a rejected one frees its code and gives its place back.
///
/// # Errors
/// When there is no such submission, it is settled already, or a table does not answer.
pub async fn settle(
    tables: &Tables,
    id: SubmissionId,
    verdict: Verdict,
    decision: OperatorDecision,
) -> Result<Submission, Failure> {
    let before = by_id(tables, id).await?.ok_or_else(unknown)?;
    let now = decision.at;
    let event = match verdict {
        Verdict::Reject(key) => Event::Reject(key),
        Verdict::Accept => Event::Accept {
            entries: tables.campaign(&before.scope.campaign).await?.entries_per_submission,
            instant_win: prize(tables, &before).await?,
        },
    };
    let mut after = before.after(event, now).map_err(|_| settled_already(&before))?;
    after.reasons = vec![after.standing.message_key().as_str().to_owned(), DECIDED_BY_A_PERSON.to_owned()];
    after.decision = Some(decision);
    match tables.ledger.settle(&before, &after, None).await? {
        Settled::Done => Ok(after),
        Settled::PurchaseTaken => {
            let message = "another submission was accepted with the same receipt; reject this one with \
                           `--reject receipt_already_used`";
            Err(Failure::new("purchase_taken", message))
        }
        Settled::Moved | Settled::EntrantMoved => {
            let message = "the submission changed in the meantime; look at it with `ops submission show` and settle \
                           it again if it still waits";
            Err(Failure::new("submission_moved", message))
        }
    }
}

fn settled_already(submission: &Submission) -> Failure {
    let by_whom = match &submission.decision {
        Some(decision) => format!(" by {} at {}", decision.by, decision.at),
        None => format!(" since {}", submission.updated_at),
    };
    let message = format!(
        "the submission is settled already as `{}`{by_whom}; a settled submission never changes",
        submission.standing.message_key()
    );
    Failure::new("already_settled", message)
}

/// The instant prize of the code that a submission holds.
async fn prize(tables: &Tables, submission: &Submission) -> Result<Option<String>, Failure> {
    let (Some(code_key), Some(stored)) =
        (&submission.code_key, tables.codes().book(&submission.scope).await?)
    else {
        return Ok(None);
    };
    let book = stored.book;
    let batch = match CodeName::of_key(&submission.scope, code_key) {
        Some(CodeName::Minted(serial)) => book.batch_of(serial).cloned(),
        Some(name @ CodeName::Imported { .. }) => {
            let record = tables.codes().get(&submission.scope, &name).await?.unwrap_or_default();
            record.batch.and_then(|name| book.batch(&name).cloned())
        }
        Some(CodeName::Sentinel(_)) | None => None,
    };
    Ok(batch.and_then(|batch| batch.prize))
}
