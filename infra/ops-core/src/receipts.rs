//! A submission's receipt and a link to its photo.

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
    /// `None` until the photo arrives, or if not requested.
    pub photo: Option<PhotoLink>,
}

/// Shows the photo to anyone who has it; so no `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct PhotoLink {
    pub url: String,
    pub expires_at: Timestamp,
}

/// Links to the photo only for a recorded disclosure, and needs the bucket's name only then.
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
