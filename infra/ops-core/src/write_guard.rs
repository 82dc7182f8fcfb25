//! Refuses changing requests to AWS until a row of the audit log was written, whichever service a
//! command writes to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use common::aws::Aws;

/// Reading operations of AWS's JSON protocols. S3 has no names of operations: there, the HTTP
/// method decides.
const READS: [&str; 8] = [
    "BatchGetItem",
    "DescribeTable",
    "GetItem",
    "GetQueueAttributes",
    "GetSecretValue",
    "Query",
    "Scan",
    "TransactGetItems",
];

/// True if writes pass; clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteGuard(Arc<AtomicBool>);

#[derive(Debug, thiserror::Error)]
#[error(
    "nothing was changed: this command wrote no audit row first. This is a bug in ops; report it"
)]
struct NotRecorded;

#[derive(Debug)]
struct Guarded {
    guard: WriteGuard,
    connector: SharedHttpConnector,
}

impl WriteGuard {
    pub(crate) fn before(&self, aws: &Aws) -> Aws {
        aws.through(|connector| {
            SharedHttpConnector::new(Guarded {
                guard: self.clone(),
                connector,
            })
        })
    }

    pub(crate) fn open(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl HttpConnector for Guarded {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        if self.guard.0.load(Ordering::Relaxed) || only_reads(&request) {
            self.connector.call(request)
        } else {
            HttpConnectorFuture::ready(Err(ConnectorError::user(Box::new(NotRecorded))))
        }
    }
}

fn only_reads(request: &HttpRequest) -> bool {
    match request
        .headers()
        .get("x-amz-target")
        .and_then(|target| target.rsplit('.').next())
    {
        Some(operation) => READS.contains(&operation),
        None => matches!(request.method(), "GET" | "HEAD"),
    }
}
