//! Who the operator is to AWS.

use aws_sdk_sts::Client;
use common::domain::submission::name_in_arn;

use crate::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// A user, or a session of a role: `arn:aws:sts::123456789012:assumed-role/ROLE/SESSION`.
    pub(crate) arn: String,
    pub(crate) account: String,
    pub(crate) region: String,
}

impl Identity {
    pub(crate) fn name(&self) -> &str {
        name_in_arn(&self.arn)
    }

    /// Asks STS, which needs no permission.
    pub(crate) async fn ask(aws: &Aws) -> Result<Self> {
        const ASKING: &str = "asking AWS who you are";
        let config = aws.sts_config();
        let region = config.region().map(ToString::to_string).unwrap_or_default();
        let sent = Box::pin(Client::new(&config).get_caller_identity().send()).await;
        let reply = sent.during(ASKING)?;
        match (reply.arn, reply.account) {
            (Some(arn), Some(account)) => Ok(Self {
                arn,
                account,
                region,
            }),
            (_, _) => Err(StoreError::new(ASKING, "the answer has no ARN").into()),
        }
    }
}
