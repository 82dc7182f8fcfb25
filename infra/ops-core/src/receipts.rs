//! A submission's receipt, with a link to its photo.

use common::aws::photos::LINK_LIFETIME;
use common::config::Env;
use common::domain::receipt::Receipt;
use common::domain::submission::Submission;
use common::domain::timestamp::Timestamp;
use serde::Serialize;

use crate::audit::Recorded;
use crate::failure::Failure;
use crate::tables::Tables;

#[derive(Clone)]
pub struct ReceiptView {
    pub receipt: Receipt,
    /// `None` until the photo has arrived, and unless it was asked for.
    pub photo: Option<PhotoLink>,
}

/// A short-lived link that shows the photo to anyone who has it; so it does not implement `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct PhotoLink {
    pub url: String,
    pub expires_at: Timestamp,
}

/// Reads a submission's receipt; `None` if it came without one. Links to its photo only for a look that was recorded,
/// and needs the bucket's name only then.
///
/// # Errors
/// When the table does not answer, or the link cannot be signed.
pub async fn of_submission(
    tables: &Tables,
    env: &Env,
    submission: &Submission,
    photo: Option<&Recorded>,
    now: Timestamp,
) -> Result<Option<ReceiptView>, Failure> {
    let Some(id) = submission.receipt_id else {
        return Ok(None);
    };
    let Some(receipt) = tables.store.receipts().get(&submission.scope, id).await? else {
        return Ok(None);
    };
    let photo = match (&receipt.arrived, photo) {
        (Some(_), Some(_)) => {
            let url = tables.photos(env)?.link(&receipt.scope, id).await?;
            Some(PhotoLink {
                url,
                expires_at: now.after(LINK_LIFETIME),
            })
        }
        (_, _) => None,
    };
    Ok(Some(ReceiptView { receipt, photo }))
}
