//! The storage's clock, by the date of its reply: an operator's can be wrong, or set wrong.

use std::sync::Arc;

use aws_sdk_s3::config::interceptors::BeforeDeserializationInterceptorContextRef;
use aws_sdk_s3::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_s3::error::BoxError;
use common::lock::Mutex;

use super::files::EVIDENCE_VARIABLE;
use super::prelude::*;

#[derive(Clone, Debug, Default)]
struct DateOfReply(Arc<Mutex<Option<String>>>);

impl Intercept for DateOfReply {
    fn name(&self) -> &'static str {
        "DateOfReply"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context.response().headers().get("date");
        *self.0.lock() = date.map(str::to_owned);
        Ok(())
    }
}

/// In whole seconds, rounded down.
pub(crate) async fn storage_time(tables: &Tables) -> Result<Timestamp> {
    const ACTION: &str = "asking the storage for its time";
    let date = DateOfReply::default();
    let evidence = tables.env.required(EVIDENCE_VARIABLE)?;
    let list = tables.s3().list_objects_v2().bucket(evidence).max_keys(1);
    let list = list.customize().interceptor(date.clone());
    list.send().await.during(ACTION)?;
    let date = date.0.lock().take();
    let date = date.and_then(|date| DateTime::parse_from_rfc2822(&date).ok());
    let date = date.ok_or_else(|| StoreError::new(ACTION, "storage does not say when"))?;
    Ok(date.to_utc().into())
}
