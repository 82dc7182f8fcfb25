mod body;
mod files;
mod service;
mod store;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{DATE, ETAG};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use common::clock::Clock;
use s3s::auth::{S3Auth, SecretKey};
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s::{S3Result, s3_error};
use tokio::sync::mpsc;
use tower_http::cors::{AllowHeaders, Any, CorsLayer};

use self::service::Objects;
use self::store::Store;
pub(crate) use self::store::etag;
use crate::loopback::{Loopback, Server};
use crate::sts::is_access_key;

/// The openings of a draw of a million entrants have 60 MB.
pub const MAX_OBJECT_BYTES: usize = 256 * 1024 * 1024;

pub struct S3Options<'a> {
    /// No others can be created.
    pub buckets: &'a [&'a str],
    pub folder: Option<PathBuf>,
    pub secret_key: &'a str,
    pub created: mpsc::UnboundedSender<ObjectCreated>,
    /// Signatures expire by the machine's clock instead.
    pub clock: Clock,
    /// Larger objects are refused with `EntityTooLarge`.
    pub max_object_bytes: usize,
}

/// An `s3:ObjectCreated:Put`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectCreated {
    pub bucket: String,
    /// Raw; S3's events URL-encode it.
    pub key: String,
    /// Bytes.
    pub size: i64,
    /// MD5 in hexadecimal, without quotes.
    pub etag: String,
    pub access_key: String,
    pub time: DateTime<Utc>,
}

struct Keys(SecretKey);

#[async_trait::async_trait]
impl S3Auth for Keys {
    async fn get_secret_key(&self, access_key: &str) -> S3Result<SecretKey> {
        match is_access_key(access_key) {
            true => Ok(self.0.clone()),
            false => Err(s3_error!(
                InvalidAccessKeyId,
                "The access key is not one of this stack."
            )),
        }
    }
}

/// Bucket names are in the path.
///
/// # Errors
/// If it cannot listen, or the folder is unusable.
pub async fn serve(options: S3Options<'_>) -> io::Result<Server> {
    let mut service = S3ServiceBuilder::new(Objects {
        store: Store::open(options.buckets, options.folder)?.into(),
        created: options.created,
        clock: options.clock.clone(),
        max_object_bytes: options.max_object_bytes,
    });
    service.set_auth(Keys(options.secret_key.into()));
    let router = Router::new()
        .fallback(respond)
        .with_state((service.build(), options.clock))
        .layer(cross_origin());
    Ok(Loopback::bind(0).await?.serve(router))
}

async fn respond(State((service, clock)): State<(S3Service, Clock)>, request: Request) -> Response {
    let request = request.map(s3s::Body::http_body_unsync);
    let mut response = match service.call(request).await {
        Ok(response) => response.map(Body::new),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    };
    // Without GMT, AWS's client does not sign by it: signatures expire by the machine's clock.
    let now = DateTime::from(clock.now()).to_rfc2822();
    if let Ok(date) = HeaderValue::from_str(&now) {
        response.headers_mut().insert(DATE, date);
    }
    response
}

fn cross_origin() -> CorsLayer {
    CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::PUT, Method::GET])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([ETAG])
        .max_age(Duration::from_secs(3_000))
}
