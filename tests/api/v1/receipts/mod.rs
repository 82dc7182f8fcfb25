//! `/api/v1/receipts`.

mod bad_input;
mod create;
mod id;
mod upload;
mod upload_url;
