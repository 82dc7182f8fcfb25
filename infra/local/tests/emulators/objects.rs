//! Objects, by signed requests.

use aws_sdk_s3::Client;
use aws_sdk_s3::config::RequestChecksumCalculation;
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::primitives::ByteStream;
use axum::http::Request;
use tokio::net::TcpStream;

use crate::common::{
    MAX_OBJECT_BYTES, NOW, SECRET, Storage, body, credentials, send, soon, storage,
};

#[tokio::test]
async fn head_tells_everything_but_the_content() {
    let storage = storage().await;
    storage.store("letter", "hello").await;
    let head = storage.head("letter").send().await.unwrap();
    assert_eq!(
        (head.content_length(), head.content_type(), head.e_tag()),
        (
            Some(5),
            Some("text/plain"),
            Some("\"5d41402abc4b2a76b9719d911017c592\"")
        )
    );
    assert_eq!(head.last_modified().unwrap().secs(), NOW);
}

#[tokio::test]
async fn part_of_an_object_comes_with_its_place() {
    let storage = storage().await;
    storage.store("letter", "hello").await;
    let parts = [
        ("bytes=1-3", "ell", "bytes 1-3/5"),
        ("bytes=3-", "lo", "bytes 3-4/5"),
        ("bytes=-2", "lo", "bytes 3-4/5"),
        ("bytes=0-99", "hello", "bytes 0-4/5"),
    ];
    for (range, content, place) in parts {
        let got = storage.get("letter").range(range).send().await.unwrap();
        let length = i64::try_from(content.len()).unwrap();
        assert_eq!(
            (got.content_range(), got.content_length()),
            (Some(place), Some(length)),
            "{range}"
        );
        assert_eq!(
            got.body.collect().await.unwrap().into_bytes(),
            content,
            "{range}"
        );
    }
}

#[tokio::test]
async fn part_that_is_not_there_is_refused() {
    let storage = storage().await;
    storage.store("letter", "hello").await;
    storage.store("nothing", "").await;
    for (key, range) in [
        ("letter", "bytes=5-6"),
        ("nothing", "bytes=0-0"),
        ("nothing", "bytes=-1"),
    ] {
        let error = storage.get(key).range(range).send().await.unwrap_err();
        let status = error.raw_response().unwrap().status().as_u16();
        assert_eq!(
            (status, error.code()),
            (416, Some("InvalidRange")),
            "{key} {range}"
        );
    }
}

#[tokio::test]
async fn second_person_reads_and_erases_a_photo() {
    let mut storage = storage().await;
    storage.store("photo", "seen").await;
    let config = storage.client.config().to_builder();
    let config = config.credentials_provider(credentials("neema", SECRET));
    storage.client = Client::from_conf(config.build());
    assert_eq!(storage.content("photo").await, "seen");
    storage.delete("photo").await;
    assert!(storage.keys("").await.is_empty());
}

#[tokio::test]
async fn deleted_object_is_not_found() {
    let storage = storage().await;
    storage.store("letter", "hello").await;
    for _ in 0..2 {
        storage.delete("letter").await;
    }
    let got = storage.get("letter").send().await.unwrap_err();
    assert_eq!(got.code(), Some("NoSuchKey"));
    let head = storage.head("letter").send().await.unwrap_err();
    assert!(head.as_service_error().unwrap().is_not_found(), "{head:?}");
}

#[tokio::test]
async fn list_has_the_keys_of_a_prefix_in_order() {
    let storage = storage().await;
    for key in ["b/2", "a", "b/1", "b"] {
        storage.store(key, "hello").await;
    }
    assert_eq!(storage.keys("").await, ["a", "b", "b/1", "b/2"]);
    assert_eq!(storage.keys("b/").await, ["b/1", "b/2"]);
}

#[tokio::test]
async fn long_list_comes_in_pages() {
    let storage = storage().await;
    for key in ["1", "2", "3", "4", "5"] {
        storage.store(key, "hello").await;
    }
    let mut pages = storage.list().max_keys(2).into_paginator().send();
    let mut sizes = Vec::new();
    while let Some(page) = pages.next().await {
        sizes.push(page.unwrap().contents().len());
    }
    assert_eq!(sizes, [2, 2, 1]);
}

#[tokio::test]
async fn another_bucket_does_not_exist() {
    let storage = storage().await;
    let got = storage.get("letter").bucket("others").send().await;
    assert_eq!(got.unwrap_err().code(), Some("NoSuchBucket"));
}

#[tokio::test]
async fn checksums_that_the_sdk_sends_by_itself_are_taken() {
    let mut storage = storage().await;
    let config = storage.client.config().to_builder();
    let config = config.request_checksum_calculation(RequestChecksumCalculation::WhenSupported);
    storage.client = Client::from_conf(config.build());
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "hello").unwrap();
    // The SDK sends a body's checksum in a header, a stream's in a trailer.
    let bodies = [
        body("hello"),
        ByteStream::from_path(file.path()).await.unwrap(),
    ];
    for body in bodies {
        storage.put("letter").body(body).send().await.unwrap();
        assert_eq!(storage.content("letter").await, "hello");
        storage.delete("letter").await;
    }
}

#[tokio::test]
async fn content_of_another_checksum_leaves_nothing() {
    let storage = storage().await;
    let put = || storage.put("letter").body(body("hello"));
    let puts = [
        put().checksum_crc32("AAAAAA=="),
        put().checksum_sha256("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="),
    ];
    for put in puts {
        assert_eq!(put.send().await.unwrap_err().code(), Some("BadDigest"));
    }
    assert!(storage.keys("").await.is_empty());
}

#[tokio::test]
async fn object_over_the_limit_leaves_nothing() {
    let storage = storage().await;
    let put = |key: &str, bytes: usize| {
        let body = ByteStream::from(vec![b'x'; bytes]);
        storage.put(key).body(body).send()
    };
    put("largest", MAX_OBJECT_BYTES).await.unwrap();
    let larger = put("larger", MAX_OBJECT_BYTES + 1).await.unwrap_err();
    assert_eq!(larger.code(), Some("EntityTooLarge"));
    assert_eq!(storage.keys("").await, ["largest"]);
}

#[tokio::test]
async fn unknown_condition_is_not_ignored() {
    let storage = storage().await;
    let put = storage.put("letter").if_none_match("\"abc\"").send().await;
    assert_eq!(put.unwrap_err().code(), Some("NotImplemented"));
    assert!(storage.keys("").await.is_empty());
}

/// Replaces the letter of this ETag; returns the error's code.
async fn replace(storage: &Storage, etag: &str) -> Option<String> {
    let put = storage.put("letter").if_match(etag).body(body("second"));
    let error = put.send().await.err();
    error.map(|error| error.code().unwrap().to_owned())
}

#[tokio::test]
async fn object_is_replaced_only_while_it_is_the_one_read() {
    let storage = storage().await;
    assert_eq!(
        replace(&storage, "\"abc\"").await.as_deref(),
        Some("NoSuchKey")
    );
    storage.store("letter", "first").await;
    let read = storage.head("letter").send().await.unwrap();
    let etag = read.e_tag().unwrap();
    let refused = Some("PreconditionFailed");
    assert_eq!(replace(&storage, "\"abc\"").await.as_deref(), refused);
    assert_eq!(replace(&storage, etag).await, None);
    assert_eq!(
        replace(&storage, etag).await.as_deref(),
        refused,
        "it is another one"
    );
}

#[tokio::test]
async fn request_without_a_signature_is_refused() {
    let storage = storage().await;
    storage.store("letter", "hello").await;
    let reply = send(Request::get(storage.url("letter")).body("").unwrap()).await;
    assert_eq!(reply.status(), 403);
    let denied = "<Code>AccessDenied</Code>";
    assert!(reply.body().contains(denied), "{}", reply.body());
}

#[tokio::test]
async fn dropped_storage_stops_serving() {
    let storage = storage().await;
    let address = storage.server.url.trim_start_matches("http://").to_owned();
    TcpStream::connect(&address).await.unwrap();
    drop(storage.server);
    soon(async {
        while TcpStream::connect(&address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
