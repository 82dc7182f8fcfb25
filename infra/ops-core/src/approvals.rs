//! A change with something at stake waits for a second operator.

use common::store::submissions::DueSubmission;

use crate::draws::abandon;
use crate::prelude::*;

#[derive(Clone, Debug)]
pub enum Decided {
    Done(Submission),
    /// A second operator has to ask for the same.
    Proposed {
        after: Submission,
        /// Such as `it gives the instant prize “Kettle”`.
        at_stake: String,
        /// The proposal that this one replaces.
        replaced: Option<Box<Approval>>,
    },
    Unchanged(Submission),
}

impl Decided {
    pub fn submission(&self) -> &Submission {
        match self {
            Self::Done(submission)
            | Self::Proposed {
                after: submission, ..
            }
            | Self::Unchanged(submission) => submission,
        }
    }
}

pub(crate) enum Agreed {
    /// Two people agree.
    Both(OperatorDecision),
    Proposed(Box<Decided>),
}

/// After its `row` in the audit log.
pub(crate) async fn agree(
    tables: &Tables,
    before: &Submission,
    change: ProposedChange,
    decision: OperatorDecision,
    at_stake: String,
    row: Action,
) -> Result<Agreed> {
    let approval = Approval { change, decision };
    let first = before.approval.as_ref();
    if let Some(first) = first.filter(|first| first.change == approval.change)
        && let Some(both) = Box::pin(confirmed(
            tables,
            &row,
            &first.decision,
            &approval.decision,
            &at_stake,
        ))
        .await?
    {
        return Ok(Agreed::Both(both));
    }
    tables.audit.append(row, approval.decision.at).await?;
    let after = before.awaiting(approval);
    if !tables.store.annotate(before, &after).await? {
        return Err(moved());
    }
    Ok(Agreed::Proposed(Box::new(Decided::Proposed {
        after,
        at_stake,
        replaced: before.approval.clone().map(Box::new),
    })))
}

/// The decision of two people, or `None` if the audit log does not have the first one's request,
/// whose row was like this one. Fails for one person.
pub(crate) async fn confirmed(
    tables: &Tables,
    row: &Action,
    first: &OperatorDecision,
    second: &OperatorDecision,
    at_stake: &str,
) -> Result<Option<OperatorDecision>> {
    if !tables.audit.has_request(row, first).await? {
        return Ok(None);
    }
    let both = first.confirmed_by(second).ok_or_else(|| {
        failure!(
            "second_person_needed",
            "{} asked for it at {}, and {at_stake}; nothing happens until a second operator asks for the same, with their own \
             AWS identity and name",
            first.by,
            first.at
        )
    })?;
    Ok(Some(both))
}

/// Its operator withdraws it, another one declines it.
pub async fn decline(
    tables: &Tables,
    before: &Submission,
    decision: &OperatorDecision,
) -> Result<Submission> {
    let Some(first) = &before.approval else {
        bail!(
            "not_asked",
            "nothing in {} waits for a second person",
            before.reference()
        );
    };
    let name = match is_own(&first.decision, decision) {
        true => "submission.withdraw",
        false => "submission.decline",
    };
    let row = decided(name, before, decision).with(proposal_json(first));
    tables.audit.append(row, decision.at).await?;
    let after = before.without_approval();
    match tables.store.annotate(before, &after).await? {
        true => Ok(after),
        false => Err(moved()),
    }
}

/// The first of two people, for the row of what the second one approved.
pub(crate) fn asked_by(decision: &OperatorDecision) -> Option<(&'static str, Value)> {
    let is_approved = decision.confirmed.is_some();
    is_approved.then(|| ("asked_by", json!(decision.by)))
}

pub(crate) fn is_own(first: &OperatorDecision, decision: &OperatorDecision) -> bool {
    first.is_by(
        decision.identity.as_deref().unwrap_or_default(),
        &decision.by,
    )
}

/// What waits for a second person, besides acceptances, which wait in the review.
#[derive(Debug)]
pub struct Requests {
    pub submissions: Vec<DueSubmission>,
    pub draws: Vec<Draw>,
}

impl Requests {
    pub async fn read(tables: &Tables, scope: &Scope, now: Timestamp) -> Result<Self, StoreError> {
        let mut draws = tables.draws.list(scope).await?;
        draws.retain(|draw| abandon::awaits_second(draw, now));
        Ok(Self {
            submissions: tables.submissions().waiting_for_approval(scope).await?,
            draws,
        })
    }

    pub fn count(&self) -> usize {
        self.submissions.len() + self.draws.len()
    }
}

pub(crate) fn action(name: &'static str, submission: &Submission) -> Action {
    Action::new(name)
        .in_scope(&submission.scope)
        .on(submission.submission_id)
}

/// An [`action`] with the reason of the latest operator.
pub(crate) fn decided(
    name: &'static str,
    submission: &Submission,
    decision: &OperatorDecision,
) -> Action {
    let second = decision.confirmed.as_ref();
    let why = second.map_or(&decision.why, |second| &second.why);
    action(name, submission).because(why.as_deref().unwrap_or_default())
}

pub(crate) fn moved() -> Failure {
    failure!(
        "submission_moved",
        "the submission changed in the meantime; look at it with `ops submission show` and try again if it \
                   still waits"
    )
}

/// Such as `accept with 2 entries`.
pub fn in_words(change: &ProposedChange) -> String {
    match change {
        ProposedChange::Accept(Acceptance { entries, .. }) => {
            format!("accept with {}", entries_in_words(*entries))
        }
        ProposedChange::Correct(Correction::Revoke {
            free_code,
            keep_prize,
        }) => {
            let code = if *free_code { " and free the code" } else { "" };
            let prize = if *keep_prize {
                ", though the prize was handed over"
            } else {
                ""
            };
            format!("revoke{code}{prize}")
        }
        ProposedChange::Correct(Correction::Reopen) => "reopen".to_owned(),
    }
}

/// Leaves out the receipt's code.
pub(crate) fn change_json(change: &ProposedChange) -> Value {
    match change {
        ProposedChange::Accept(Acceptance { entries, .. }) => {
            json!({ "change": "accept", "entries": entries })
        }
        ProposedChange::Correct(correction) => json!(correction),
    }
}

pub(crate) fn proposal_json(Approval { change, decision }: &Approval) -> Value {
    json!({ "correction": change_json(change), "decision": decision })
}
