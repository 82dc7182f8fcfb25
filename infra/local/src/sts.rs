//! The embedded Security Token Service, which names the caller: a user with the name of the access key, so that tests
//! have several. Signatures are not checked.

use std::io;

use axum::Router;
use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use axum::routing::post;

use crate::loopback::{Loopback, Served};

/// The account that everything local belongs to.
const ACCOUNT: &str = "000000000000";

/// A serving STS. It stops when told to or when dropped.
pub struct Sts {
    endpoint: String,
    served: Served,
}

impl Sts {
    /// Starts an STS and returns once it listens.
    ///
    /// # Errors
    /// When it cannot listen.
    pub async fn serve() -> io::Result<Self> {
        let loopback = Loopback::bind(0).await?;
        let endpoint = loopback.endpoint.clone();
        Ok(Self {
            endpoint,
            served: loopback.serve(Router::new().route("/", post(answer))),
        })
    }

    /// Where it serves, without a slash at the end.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Waits for requests in flight, then stops.
    pub async fn stop(self) {
        self.served.stop().await;
    }
}

async fn answer(headers: HeaderMap, body: String) -> Response<Body> {
    let action = form_urlencoded::parse(body.as_bytes()).find(|(name, _)| name == "Action");
    let (status, reply) = match (
        action.as_ref().map(|(_, action)| action.as_ref()),
        access_key(&headers),
    ) {
        (Some("GetCallerIdentity"), Some(user)) => (StatusCode::OK, identity(user)),
        (Some("GetCallerIdentity"), None) => (
            StatusCode::FORBIDDEN,
            error("MissingAuthenticationToken", "The request is not signed."),
        ),
        (_, _) => (
            StatusCode::BAD_REQUEST,
            error("InvalidAction", "The local STS only says who you are."),
        ),
    };
    let mut response = Response::new(Body::from(reply));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/xml"));
    response
}

/// The access key that signed a request.
fn access_key(headers: &HeaderMap) -> Option<&str> {
    let authorization = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (_, credential) = authorization.split_once("Credential=")?;
    let (key, _) = credential.split_once('/')?;
    is_access_key(key).then_some(key)
}

/// True for every access key that the stack knows: with these characters it is safe in XML.
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
