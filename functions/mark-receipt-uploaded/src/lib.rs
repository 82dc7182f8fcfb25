//! Records size and type (from the first bytes) of each photo, so that a submission need not ask
//! storage. Storage events repeat, late and in any order; objects never change. Events for unknown
//! keys or deleted objects are ignored.

use common::app::job::{EventContext, Job, JobOutcome};
use common::aws::photos::{Photos, receipt_of};
use common::config::ConfigError;
use common::error::Error;
use common::runtime::event_handler::EventHandler;
use common::store::receipts::Receipts;
use serde::Deserialize;
use serde_json::Value;

const FUNCTION: &str = "mark-receipt-uploaded";

pub struct MarkReceiptUploaded {
    context: EventContext,
    photos: Photos,
    receipts: Receipts,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StorageEvent {
    /// Unparsed: one odd record must not lose the others.
    #[serde(rename = "Records")]
    pub records: Vec<Value>,
}

/// S3 form-encodes keys.
fn key(record: &Value) -> Option<String> {
    let written = record.pointer("/s3/object/key")?.as_str()?;
    form_urlencoded::parse(written.as_bytes())
        .next()
        .map(|(key, _)| key.into_owned())
}

impl EventHandler for MarkReceiptUploaded {
    type Event = StorageEvent;
    type Reply = ();

    fn connect(context: &EventContext) -> Result<Self, ConfigError> {
        let env = &context.env;
        Ok(Self {
            photos: Photos::from_env(env, &context.aws)?,
            receipts: Receipts::from_env(env, &context.aws.dynamodb())?,
            context: context.clone(),
        })
    }

    /// One failed receipt repeats the whole event.
    async fn handle(&self, event: StorageEvent) -> Result<(), Error> {
        let mut failed = None;
        for record in event.records {
            if let Err(error) = Box::pin(self.mark(&record)).await {
                failed = Some(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }
}

impl MarkReceiptUploaded {
    async fn mark(&self, record: &Value) -> Result<JobOutcome, Error> {
        let place = key(record).as_deref().and_then(receipt_of);
        let subject = place.as_ref().map(|(_, id)| id.to_string());
        let job = Job {
            function: FUNCTION,
            started: self.context.now(),
            scope: place.as_ref().map(|(scope, _)| scope),
            subject: subject.as_deref(),
        };
        let marking = async {
            let Some((scope, id)) = &place else {
                return Ok("unknown_key".into());
            };
            let Some(arrived) = self.photos.inspect(scope, *id, job.started).await? else {
                return Ok("gone".into());
            };
            let marked = self.receipts.mark_uploaded(scope, *id, &arrived).await?;
            Ok(if marked { "marked" } else { "nothing_to_mark" }.into())
        };
        self.context.run_logged(job, marking).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(json: &str) -> Vec<Option<String>> {
        let event: StorageEvent = serde_json::from_str(json).expect("an event");
        event.records.iter().map(key).collect()
    }

    #[test]
    fn keys_are_decoded_and_odd_records_have_none() {
        let json =
            r#"{"Records":[{"s3":{"object":{"key":"a%2Fb+c"}}},{},7,{"s3":{"object":{"key":7}}}]}"#;
        assert_eq!(keys(json), [Some("a/b c".to_owned()), None, None, None]);
        assert_eq!(
            keys(r#"{"Service":"Amazon S3","Event":"s3:TestEvent"}"#),
            []
        );
    }
}
