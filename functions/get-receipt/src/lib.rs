//! `GET /api/v1/receipts/{id}`: the state of a receipt.

use common::config::ConfigError;
use common::domain::ReceiptId;
use common::error::{Error, ErrorCode};
use common::http::receipt::ReceiptObject;
use common::http::reply::Reply;
use common::http::routes::{self, Route};
use common::runtime::http_handler::{ApiRequest, AppContext, Endpoint};
use common::store::receipts::Receipts;

pub struct GetReceipt {
    receipts: Receipts,
}

impl Endpoint for GetReceipt {
    const ROUTE: Route = routes::GET_RECEIPT;

    fn connect(context: &AppContext) -> Result<Self, ConfigError> {
        Ok(Self {
            receipts: Receipts::from_env(&context.env, &context.aws.dynamodb())?,
        })
    }

    async fn handle(&self, request: ApiRequest) -> Result<Reply, Error> {
        let id = request.path_id::<ReceiptId>()?;
        let receipt = self
            .receipts
            .get(&request.scope, id)
            .await?
            .ok_or(ErrorCode::NotFound)?;
        Ok(Reply::ok(&ReceiptObject::new(&receipt, None))?.with_subject(receipt.receipt_id))
    }
}
