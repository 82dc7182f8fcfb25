use std::time::Duration;

use common::app::partner_gateway::{Answered, AskedFrom};
use common::domain::{PartnerOutcome, PartnerRules, Phone, RetryContext, Submission, Unanswered};
use common::error::Error;
use common::http::reply::LogFields;
use common::random;
use common::runtime::http_handler::ApiRequest;
use common::store::submission_writes::SettleResult;
use common::telemetry;
use tokio::time::{Instant, timeout_at};

use crate::CreateSubmission;
use crate::created::CreatedSubmission;

const WRITE_RESERVE: Duration = Duration::from_secs(1);

impl CreateSubmission {
    pub(crate) async fn take_first_step(
        &self,
        api: &ApiRequest,
        created: &mut CreatedSubmission,
        phone: &Phone,
    ) -> Result<(), Error> {
        let settling = created.submission.settling.as_ref();
        if settling.is_some_and(|settling| settling.is_under_way(api.received_at)) {
            let (before, log_fields) = (created.submission.clone(), &mut created.log_fields);
            let asking = Box::pin(self.ask_partner(api, before, phone, log_fields));
            created.submission = asking.await?;
        }
        Ok(())
    }

    /// A failure leaves the submission pending.
    async fn ask_partner(
        &self,
        api: &ApiRequest,
        before: Submission,
        phone: &Phone,
        log_fields: &mut LogFields,
    ) -> Result<Submission, Error> {
        let left = api.deadline.saturating_duration_since(Instant::now());
        let limit = PartnerRules::MAX_TIMEOUT.min(left.saturating_sub(WRITE_RESERVE));
        let (campaign, from) = (&api.campaign, AskedFrom::Request);
        let asking = self
            .partners
            .ask(&before, phone, campaign, limit, from, || api.now());
        let Answered { outcome, lease } = asking.await.unwrap_or_else(|error| {
            log_fields.error_chain = telemetry::error_chain(&error);
            PartnerOutcome::NoAnswer(Unanswered::service_failed()).into()
        });
        log_fields.metrics.extend(outcome.metrics());
        let retry = RetryContext {
            now: api.now(),
            speedup: self.speedup,
            jitter: random::unit_f64(),
        };
        let Ok(after) = outcome.apply(&before, campaign.entries_per_submission, retry) else {
            self.partners.release(lease, before.submission_id).await;
            return Ok(before);
        };
        let after = Submission {
            notify: false,
            ..after
        };
        let wrong_code_in = outcome.is_wrong_code().then_some(&**campaign);
        let store = self.store.with_deadline(api.deadline);
        let claims = self.moments.claims(&api.scope, campaign);
        let settling = self.moments.settle(
            &store,
            &before,
            &after,
            wrong_code_in,
            claims,
            api.received_at,
        );
        let (settled, ()) =
            tokio::join!(settling, self.partners.release(lease, before.submission_id));
        match settled {
            Ok((SettleResult::Committed, after)) => Ok(after),
            // An operator was first.
            Ok((SettleResult::StaleRevision | SettleResult::ReceiptAlreadyUsed, _)) => {
                self.submission(&api.scope, before.submission_id).await
            }
            Err(error) => {
                let chain = &mut log_fields.error_chain;
                chain.extend(telemetry::error_chain(&error));
                // Perhaps written; then no event tells it.
                let reading = self.submission(&api.scope, before.submission_id);
                let read = timeout_at(api.deadline, reading).await;
                Ok(read.ok().and_then(Result::ok).unwrap_or(before))
            }
        }
    }
}
