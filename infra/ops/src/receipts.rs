//! What an operator sees of a submission's receipt.

use common::aws::photos::LINK_LIFETIME;
use common::config::Env;
use common::domain::receipt::Receipt;
use common::domain::submission::Submission;
use common::domain::timestamp::Timestamp;

use crate::connection;
use crate::failure::Failure;
use crate::tables::Tables;

/// A receipt and the way to its photo.
#[derive(Clone)]
pub struct SeenReceipt {
    /// The receipt.
    pub receipt: Receipt,
    /// A link to its photo, once that has arrived.
    pub photo: Option<PhotoLink>,
}

/// A link that shows a photo to whoever has it, for a short while; so it does not print.
#[derive(Clone, PartialEq, Eq)]
pub struct PhotoLink {
    /// The link.
    pub url: String,
    /// When it stops working.
    pub expires_at: Timestamp,
}

/// A submission's receipt; `None` when it came without one. The bucket's name is asked for only when
/// there is a photo in it.
///
/// # Errors
/// When the table does not answer, or the link cannot be signed.
pub async fn of_submission(
    tables: &Tables,
    env: &Env,
    submission: &Submission,
    now: Timestamp,
) -> Result<Option<SeenReceipt>, Failure> {
    let Some(id) = submission.receipt_id else { return Ok(None) };
    let Some(receipt) = tables.ledger.receipts().get(&submission.scope, id).await? else { return Ok(None) };
    let photo = match receipt.arrived {
        Some(_) => {
            let url = connection::photos(env).await?.link(&receipt.scope, id).await?;
            Some(PhotoLink { url, expires_at: now.after(LINK_LIFETIME) })
        }
        None => None,
    };
    Ok(Some(SeenReceipt { receipt, photo }))
}
