//! Finds and lists submissions.

use common::domain::ids::{Reference, SubmissionId};
use common::domain::scope::{Environment, Scope};
use common::domain::submission::Submission;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::failure::Failure;
use crate::tables::Tables;

/// Scopes to search concurrently.
const AT_ONCE: usize = 16;

/// Finds the submissions with an id or a reference, in every campaign and both environments.
///
/// # Errors
/// When the text is neither, nothing is found, or a table does not answer.
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

/// Finds the submission with an id, in any scope.
pub(crate) async fn by_id(tables: &Tables, id: SubmissionId) -> Result<Option<Submission>, Failure> {
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

pub(crate) fn unknown() -> Failure {
    let message =
        "there is no such submission on this stack; check the id, and which stack the environment points at";
    Failure::new("submission_unknown", message)
}

/// Lists at most `most` of a scope's submissions, newest first.
///
/// # Errors
/// When there is no such campaign, or a table does not answer.
pub async fn list(tables: &Tables, scope: &Scope, most: usize) -> Result<Vec<Submission>, Failure> {
    tables.campaign(&scope.campaign).await?;
    Ok(tables.ledger.submissions().list(scope, most, |_| true).await?)
}

/// Lists a scope's unsettled submissions, longest waiting first.
///
/// # Errors
/// When there is no such campaign, or a table does not answer.
pub async fn list_unsettled(tables: &Tables, scope: &Scope) -> Result<Vec<Submission>, Failure> {
    tables.campaign(&scope.campaign).await?;
    Ok(tables.ledger.submissions().list_unsettled(scope).await?)
}
