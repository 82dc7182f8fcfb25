pub mod code_entered;
pub mod listing;
pub mod timeline;
pub mod view;

use crate::approvals::action;
use crate::codes::find::lookup;
use crate::prelude::*;

/// One page of the index.
const MAX_PER_PHONE: u16 = 1_000;

/// Finds by id or reference, in every scope. References are unique in a scope, so there are rarely
/// two.
pub async fn find(tables: &Tables, name: &str) -> Result<Vec<Submission>> {
    let found = if let Ok(id) = name.parse::<SubmissionId>() {
        let mut found = by_reference(tables, id.reference()).await?;
        found.retain(|found| found.submission_id == id);
        found
    } else if let Ok(reference) = name.parse::<Reference>() {
        by_reference(tables, reference).await?
    } else {
        bail!(
            "name_invalid",
            "this is neither a submission's id nor a reference such as K7M2-Q9XD; check what was pasted"
        );
    };
    if found.is_empty() {
        bail!(
            "submission_unknown",
            "there is no such submission on this stack; check the id, and which stack the environment points at"
        );
    }
    Ok(found)
}

pub async fn one(tables: &Tables, name: &str) -> Result<Submission> {
    let mut found = find(tables, name).await?;
    match (found.pop(), found.is_empty()) {
        (Some(submission), true) => Ok(submission),
        _ => {
            bail!(
                "reference_ambiguous",
                "several submissions have this reference; `ops submission show REF` lists them, take the id"
            )
        }
    }
}

/// Consumers quote the reference alone.
pub(crate) async fn by_reference(tables: &Tables, reference: Reference) -> Result<Vec<Submission>> {
    let campaigns = tables.campaigns.list().await?;
    let scopes = campaigns
        .into_iter()
        .flat_map(|campaign| campaign.slug.scopes());
    let submissions = tables.submissions();
    let reads =
        scopes.map(|scope| async move { submissions.by_reference(&scope, reference).await });
    let found = concurrently(reads).await?;
    Ok(found.into_iter().flatten().collect())
}

pub async fn of_phone(tables: &Tables, scope: &Scope, phone: &Phone) -> Result<Vec<Submission>> {
    let entrant = tables.entrant_id(scope, phone).await?;
    let submissions = tables.submissions();
    let found = submissions.recent(scope, &entrant, MAX_PER_PHONE).await?;
    let reads = found
        .into_iter()
        .map(|found| submissions.get(scope, found.submission_id));
    let found = concurrently(reads).await?;
    Ok(found.into_iter().flatten().collect())
}

/// The submission that holds or redeemed a code; fails for a test code.
pub async fn of_code(
    tables: &Tables,
    campaign: &Campaign,
    scope: &Scope,
    typed: &str,
) -> Result<Option<Submission>> {
    let refused = |why: &str| failure!("code_invalid", "--code is {why}");
    let code: Code = typed
        .parse()
        .map_err(|_| refused("no code, which has 1 to 64 characters"))?;
    if code.sentinel().is_some() {
        return Err(refused(
            "a test code, which every phone has for itself; use --phone",
        ));
    }
    let code = match &campaign.partner {
        Some(partner) => code.in_form(partner.code),
        None => code,
    };
    let found = lookup(tables, scope, campaign.code, &code).await?;
    Ok(found.and_then(|found| found.submission))
}

// What is hidden otherwise. The doc comments are the help of `ops submission show`.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Disclosure {
    /// Show the whole phone number; recorded in the audit log
    #[arg(long = "show-phone")]
    pub phone: bool,
    /// Show the receipt's code and time, or the text of its QR code; anyone who has them can look the receipt up;
    /// recorded in the audit log
    #[arg(long = "show-receipt")]
    pub receipt: bool,
    /// Link to the receipt's photo; recorded in the audit log
    #[arg(long = "show-photo")]
    pub photo: bool,
}

/// Writes a row before hidden parts are shown; if it fails, nothing may be shown.
pub async fn record_disclosure(
    tables: &Tables,
    submission: &Submission,
    disclosure: Disclosure,
    now: Timestamp,
) -> Result<Recorded> {
    let action = action("submission.show", submission).with(json!(disclosure));
    tables.audit.append(action, now).await
}
