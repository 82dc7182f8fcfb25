//! `POST /api/v1/receipts`: starts a receipt, typed or with a photo.

mod request;

use common::app::uploads::Uploads;
use common::aws::StartSecret;
use common::aws::deployment_secret::DeploymentSecrets;
use common::config::ConfigError;
use common::domain::Receipt;
use common::error::{Error, ErrorCode};
use common::http::receipt::ReceiptObject;
use common::http::reply::Reply;
use common::http::routes::{self, Route};
use common::random;
use common::runtime::http_handler::{ApiRequest, AppContext, Endpoint};
use common::store::idempotency_keys::IdempotencyKeys;
use common::store::receipts::Receipts;

use crate::request::CreateReceiptRequest;

pub struct CreateReceipt {
    receipts: Receipts,
    idempotency_keys: IdempotencyKeys,
    uploads: Uploads,
    secrets: DeploymentSecrets,
}

impl Endpoint for CreateReceipt {
    const ROUTE: Route = routes::CREATE_RECEIPT;
    const SECRETS: &[StartSecret] = &[StartSecret::Deployment];

    fn connect(context: &AppContext) -> Result<Self, ConfigError> {
        let AppContext { env, aws, .. } = context;
        let receipts = Receipts::from_env(env, &aws.dynamodb())?;
        Ok(Self {
            idempotency_keys: IdempotencyKeys::from_env(env, &aws.dynamodb())?,
            uploads: Uploads::from_env(env, aws, receipts.clone())?,
            secrets: DeploymentSecrets::from_env(env, aws)?,
            receipts,
        })
    }

    async fn handle(&self, request: ApiRequest) -> Result<Reply, Error> {
        let CreateReceiptRequest {
            key,
            body_digest,
            source,
        } = CreateReceiptRequest::parse(&request)?;
        let receipt = Receipt {
            receipt_id: random::receipt_id(),
            scope: request.scope.clone(),
            source,
            arrived: None,
            attached_to: None,
            created_at: request.received_at,
        };
        // All times can be tried, so a typed receipt's digest needs a key.
        let body_hash = match &key {
            Some(_) => {
                let version = self.secrets.version_for_phones().await?;
                version.secret.keyed_digest(&request.scope, &body_digest)
            }
            None => String::new(),
        };
        let idempotency = key
            .as_ref()
            .map(|key| (&self.idempotency_keys, key, body_hash.as_str()));
        match self.receipts.create(&receipt, idempotency).await? {
            None => {
                let target = self
                    .uploads
                    .upload_target(&receipt, request.received_at)
                    .await?;
                Ok(Reply::ok(&ReceiptObject::new(&receipt, target))?
                    .with_subject(receipt.receipt_id))
            }
            Some(earlier) if body_hash != earlier.body_hash => {
                Err(ErrorCode::IdempotencyKeyReused.into())
            }
            Some(earlier) => {
                let found = self.receipts.get(&request.scope, earlier.record_id).await?;
                let receipt = found.ok_or_else(|| {
                    Error::internal("a request names a receipt that is not there")
                })?;
                let (receipt, target) = self
                    .uploads
                    .reconcile_with_target(receipt, request.received_at)
                    .await?;
                let reply = Reply::ok(&ReceiptObject::new(&receipt, target))?;
                Ok(reply.with_subject(receipt.receipt_id).idempotent_replayed())
            }
        }
    }
}
