//! Decisions of others about a receipt, made meanwhile, in words.

use common::domain::submission::State;
use ops_core::review::queue::First;

use super::screens::Screen;
use super::words;
use crate::prelude::*;

/// Says why the submission is not the first, if so.
pub(super) async fn first(
    tables: &Tables,
    campaign: &Campaign,
    screen: &Screen,
    id: &str,
    now: Timestamp,
) -> Result<Option<String>, Failure> {
    let unknown = || Some("There is no submission with this id here.".to_owned());
    let Ok(id) = id.parse() else {
        return Ok(unknown());
    };
    let locks = tables.review_locks()?;
    let mut queue = screen.queue.lock().await;
    Ok(match queue.put_first(tables, &locks, id, now).await? {
        First::Claimed => None,
        First::HeldBy(by) => Some(format!(
            "The receipt you asked for is open with {by} right now. It is free two minutes after {by} leaves it, at the latest."
        )),
        First::NotWaiting(submission) => {
            let reference = submission.reference();
            Some(match settled_in_words(&submission, campaign) {
                Some(settled) => format!("{reference} waits no more: {settled}."),
                None => format!("{reference} does not wait for a person: the service works on it."),
            })
        }
        First::AcceptedByYou => {
            Some("You accepted it already; it waits for a second person.".to_owned())
        }
        First::Unknown => unknown(),
    })
}

/// Such as `asha rejected it at 10:31, wrong store`.
fn settled_in_words(submission: &Submission, campaign: &Campaign) -> Option<String> {
    let status = &submission.status;
    if !status.is_terminal() {
        return None;
    }
    let by = submission
        .decision
        .as_ref()
        .map_or("the service", |decision| &decision.by);
    let at = zoned_time(submission.updated_at, campaign.timezone);
    Some(match status.state() {
        State::Accepted => format!("{by} accepted it at {at}"),
        State::Rejected | State::Pending | State::Unknown => {
            let why = words(status.message_key().as_str());
            format!("{by} rejected it at {at}, {why}")
        }
    })
}

/// Names who was quicker.
pub(super) async fn changed(
    tables: &Tables,
    scope: &Scope,
    id: SubmissionId,
    failure: &Failure,
) -> Result<String, Failure> {
    let campaign = tables.campaign(&scope.campaign).await?;
    let found = tables.submissions().get(scope, id).await?;
    let settled = found.and_then(|found| settled_in_words(&found, &campaign));
    Ok(match settled {
        Some(settled) => format!("{settled}, so nothing was written."),
        None => page_message(failure),
    })
}
