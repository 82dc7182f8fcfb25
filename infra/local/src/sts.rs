//! The caller is the access key. Signatures are not checked.

use std::io;

use axum::Router;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;

use crate::loopback::{Loopback, Server};

const ACCOUNT: &str = "000000000000";

pub async fn serve() -> io::Result<Server> {
    let loopback = Loopback::bind(0).await?;
    Ok(loopback.serve(Router::new().route("/", post(answer))))
}

async fn answer(headers: HeaderMap, body: String) -> Response {
    let action = form_urlencoded::parse(body.as_bytes()).find(|(name, _)| name == "Action");
    let is_known = action.is_some_and(|(_, action)| action == "GetCallerIdentity");
    let (status, reply) = match access_key(&headers) {
        Some(user) if is_known => (StatusCode::OK, identity(user)),
        Some(_) => (
            StatusCode::BAD_REQUEST,
            error("InvalidAction", "The local STS only names the caller."),
        ),
        None => (
            StatusCode::FORBIDDEN,
            error("MissingAuthenticationToken", "The request is not signed."),
        ),
    };
    (status, [(CONTENT_TYPE, "text/xml")], reply).into_response()
}

fn access_key(headers: &HeaderMap) -> Option<&str> {
    let authorization = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (_, credential) = authorization.split_once("Credential=")?;
    let (key, _) = credential.split_once('/')?;
    is_access_key(key).then_some(key)
}

/// True if safe in XML.
pub(crate) fn is_access_key(key: &str) -> bool {
    !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

fn identity(user: &str) -> String {
    format!(
        "<GetCallerIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><GetCallerIdentityResult>\
         <Arn>arn:aws:iam::{ACCOUNT}:user/{user}</Arn><UserId>{user}</UserId><Account>{ACCOUNT}</Account>\
         </GetCallerIdentityResult><ResponseMetadata><RequestId>local</RequestId></ResponseMetadata>\
         </GetCallerIdentityResponse>"
    )
}

fn error(code: &str, message: &str) -> String {
    format!(
        "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>Sender</Type>\
         <Code>{code}</Code><Message>{message}</Message></Error><RequestId>local</RequestId></ErrorResponse>"
    )
}
