pub mod api_gateway;
pub mod event_handler;
pub mod http_handler;
pub mod lambda;
pub mod sqs_batch;
