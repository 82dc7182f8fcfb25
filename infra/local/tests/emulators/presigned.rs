//! Uploads with presigned URLs, and their failures.

use std::time::{Duration, UNIX_EPOCH};

use aws_sdk_s3::Client;
use aws_sdk_s3::presigning::{PresignedRequest, PresigningConfig};
use axum::http::{Request, Response};
use tempfile::tempdir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::common::{BUCKET, NOW, Storage, credentials, send, storage, storage_in};

const PHOTO: &str = "photo";

fn for_five_minutes() -> PresigningConfig {
    PresigningConfig::expires_in(Duration::from_secs(300)).unwrap()
}

async fn sign(storage: &Storage, how: PresigningConfig) -> PresignedRequest {
    let put = storage.put("a/b c").content_type("image/jpeg");
    let put = put.content_length(5).if_none_match("*");
    put.presigned(how).await.unwrap()
}

/// Uploads with the signed headers, after a change.
async fn upload(
    signed: &PresignedRequest,
    body: &'static str,
    change: impl Fn(&mut Request<&'static str>),
) -> Response<String> {
    let mut request = Request::put(signed.uri());
    for (name, value) in signed.headers() {
        request = request.header(name, value);
    }
    let mut request = request.body(body).unwrap();
    change(&mut request);
    send(request).await
}

#[tokio::test]
async fn upload_as_signed_is_stored_and_announced() {
    let mut storage = storage().await;
    let signed = sign(&storage, for_five_minutes()).await;
    let mut names: Vec<_> = signed.headers().map(|(name, _)| name).collect();
    names.sort_unstable();
    assert_eq!(names, ["content-length", "content-type", "if-none-match"]);

    let response = upload(&signed, PHOTO, |_| {}).await;
    assert_eq!(
        (response.status().as_u16(), response.body().as_str()),
        (200, "")
    );
    // echo -n photo | md5sum
    assert_eq!(
        response.headers()["etag"],
        "\"5ae0c1c8a5260bc7b6648f6fbd115c35\""
    );

    let event = storage.created.recv().await.unwrap();
    assert_eq!(
        (event.bucket.as_str(), event.key.as_str(), event.size),
        (BUCKET, "a/b c", 5)
    );
    assert_eq!(event.etag, "5ae0c1c8a5260bc7b6648f6fbd115c35");
    assert_eq!(event.time.timestamp(), NOW);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_fifty_first_uploads_is_stored() {
    let folder = tempdir().unwrap();
    for mut storage in [storage().await, storage_in(Some(folder.path())).await] {
        let signed = sign(&storage, for_five_minutes()).await;
        let mut uploads = JoinSet::new();
        for _ in 0..50 {
            let signed = signed.clone();
            uploads.spawn(async move { upload(&signed, PHOTO, |_| {}).await.status().as_u16() });
        }
        let mut statuses = uploads.join_all().await;
        statuses.sort_unstable();
        assert_eq!(statuses[0], 200);
        assert_eq!(statuses[1..], [412; 49]);
        storage.created.recv().await.unwrap();
        assert!(
            storage.created.try_recv().is_err(),
            "more than one was announced"
        );
    }
}

#[tokio::test]
async fn expired_url_is_refused() {
    let storage = storage().await;
    let how = PresigningConfig::builder()
        .start_time(UNIX_EPOCH + Duration::from_secs(1_700_000_000))
        .expires_in(Duration::from_secs(300))
        .build()
        .unwrap();
    let response = upload(&sign(&storage, how).await, PHOTO, |_| {}).await;
    assert_eq!(response.status(), 403);
    assert!(
        response.body().contains("Request has expired"),
        "{}",
        response.body()
    );
    assert!(storage.keys("").await.is_empty());
}

#[tokio::test]
async fn url_signed_with_another_secret_is_refused() {
    let mut storage = storage().await;
    let ours = storage.client.clone();
    let config = ours.config().to_builder();
    let config = config.credentials_provider(credentials("local", "another secret"));
    storage.client = Client::from_conf(config.build());
    let signed = sign(&storage, for_five_minutes()).await;
    storage.client = ours;
    assert_eq!(upload(&signed, PHOTO, |_| {}).await.status(), 403);
    assert!(storage.keys("").await.is_empty());
}

#[tokio::test]
async fn upload_that_breaks_off_leaves_nothing() {
    let mut storage = storage().await;
    let signed = sign(&storage, for_five_minutes()).await;
    let address = storage.server.url.trim_start_matches("http://");
    let target = signed.uri().trim_start_matches(&storage.server.url);
    let mut head = format!("PUT {target} HTTP/1.1\r\nhost: {address}\r\n");
    for (name, value) in signed.headers() {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(format!("{head}\r\npho").as_bytes())
        .await
        .unwrap();
    stream.shutdown().await.unwrap();
    // The server closes the connection, with or without a reply.
    let mut reply = String::new();
    let _ = stream.read_to_string(&mut reply).await;
    assert!(!reply.starts_with("HTTP/1.1 200"), "{reply}");
    assert!(storage.keys("").await.is_empty());
    assert!(
        storage.created.try_recv().is_err(),
        "the broken upload was announced"
    );
}
