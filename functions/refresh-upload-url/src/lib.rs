//! `POST /api/v1/receipts/{id}/upload-url`: a new URL for a missing photo.

use common::app::uploads::Uploads;
use common::config::ConfigError;
use common::domain::{ReceiptId, ReceiptState, Source};
use common::error::{Error, ErrorCode};
use common::http::receipt::ReceiptObject;
use common::http::reply::Reply;
use common::http::routes::{self, Route};
use common::runtime::http_handler::{ApiRequest, AppContext, Endpoint};
use common::store::receipts::Receipts;

pub struct RefreshUploadUrl {
    receipts: Receipts,
    uploads: Uploads,
}

impl Endpoint for RefreshUploadUrl {
    const ROUTE: Route = routes::REFRESH_UPLOAD_URL;

    fn connect(context: &AppContext) -> Result<Self, ConfigError> {
        let receipts = Receipts::from_env(&context.env, &context.aws.dynamodb())?;
        Ok(Self {
            uploads: Uploads::from_env(&context.env, &context.aws, receipts.clone())?,
            receipts,
        })
    }

    async fn handle(&self, request: ApiRequest) -> Result<Reply, Error> {
        let id = request.path_id::<ReceiptId>()?;
        let receipt = self
            .receipts
            .get(&request.scope, id)
            .await?
            .ok_or(ErrorCode::NotFound)?;
        if receipt.state() == ReceiptState::Attached {
            return Err(ErrorCode::ReceiptAlreadyAttached.into());
        }
        if matches!(receipt.source, Source::Typed { .. }) {
            return Err(
                Error::body("This receipt is typed in; there is nothing to upload.").with_fix(
                    "Send the receipt's id as `receipt_id` with POST /api/v1/submissions at once.",
                ),
            );
        }
        let (receipt, target) = self
            .uploads
            .reconcile_with_target(receipt, request.received_at)
            .await?;
        Ok(Reply::ok(&ReceiptObject::new(&receipt, target))?.with_subject(receipt.receipt_id))
    }
}
