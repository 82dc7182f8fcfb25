//! Objects, through signed requests of the SDK.

use aws_sdk_s3::config::{Credentials, RequestChecksumCalculation};
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::primitives::ByteStream;
use axum::http::Request;
use tokio::net::TcpStream;

use crate::common::{
    BUCKET, MAX_OBJECT_BYTES, NOW, SECRET, Storage, s3_client, send, soon, storage,
};

async fn put(storage: &Storage, key: &str, content: &'static str) {
    let put = storage
        .client
        .put_object()
        .bucket(BUCKET)
        .key(key)
        .content_type("text/plain");
    put.metadata("source", "tests")
        .body(ByteStream::from_static(content.as_bytes()))
        .send()
        .await
        .unwrap();
}

async fn keys(storage: &Storage, prefix: &str) -> Vec<String> {
    let listed = storage
        .client
        .list_objects_v2()
        .bucket(BUCKET)
        .prefix(prefix)
        .send()
        .await
        .unwrap();
    listed
        .contents()
        .iter()
        .map(|object| object.key().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn head_tells_everything_but_the_content() {
    let storage = storage().await;
    put(&storage, "letter", "hello").await;
    let head = storage
        .client
        .head_object()
        .bucket(BUCKET)
        .key("letter")
        .send()
        .await
        .unwrap();
    assert_eq!(head.content_length(), Some(5));
    assert_eq!(head.content_type(), Some("text/plain"));
    assert_eq!(head.e_tag(), Some("\"5d41402abc4b2a76b9719d911017c592\""));
    assert_eq!(head.last_modified().unwrap().secs(), NOW);
    assert_eq!(head.metadata().unwrap()["source"], "tests");
}

#[tokio::test]
async fn a_part_of_an_object_comes_with_its_place() {
    let storage = storage().await;
    put(&storage, "letter", "hello").await;
    let parts = [
        ("bytes=1-3", "ell", "bytes 1-3/5"),
        ("bytes=3-", "lo", "bytes 3-4/5"),
        ("bytes=-2", "lo", "bytes 3-4/5"),
        ("bytes=0-99", "hello", "bytes 0-4/5"),
    ];
    for (range, content, place) in parts {
        let got = storage
            .client
            .get_object()
            .bucket(BUCKET)
            .key("letter")
            .range(range)
            .send()
            .await
            .unwrap();
        assert_eq!(got.content_range(), Some(place), "{range}");
        assert_eq!(
            got.content_length(),
            i64::try_from(content.len()).ok(),
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
async fn a_part_that_is_not_there_is_refused() {
    let storage = storage().await;
    put(&storage, "letter", "hello").await;
    put(&storage, "nothing", "").await;
    for (key, range) in [
        ("letter", "bytes=5-6"),
        ("nothing", "bytes=0-0"),
        ("nothing", "bytes=-1"),
    ] {
        let got = storage
            .client
            .get_object()
            .bucket(BUCKET)
            .key(key)
            .range(range)
            .send()
            .await;
        let error = got.unwrap_err();
        assert_eq!(
            error.raw_response().unwrap().status().as_u16(),
            416,
            "{key} {range}"
        );
        assert_eq!(error.code(), Some("InvalidRange"), "{key} {range}");
    }
}

#[tokio::test]
async fn second_person_reads_and_erases_a_photo() {
    let storage = storage().await;
    put(&storage, "photo", "seen").await;
    let neema = Credentials::new("neema", SECRET, None, None, "a second person");
    let config = storage
        .client
        .config()
        .to_builder()
        .credentials_provider(neema)
        .build();
    let client = aws_sdk_s3::Client::from_conf(config);
    let got = client
        .get_object()
        .bucket(BUCKET)
        .key("photo")
        .send()
        .await
        .unwrap();
    assert_eq!(got.body.collect().await.unwrap().into_bytes(), "seen");
    client
        .delete_object()
        .bucket(BUCKET)
        .key("photo")
        .send()
        .await
        .unwrap();
    assert!(keys(&storage, "").await.is_empty());
}

#[tokio::test]
async fn a_deleted_object_is_not_found() {
    let storage = storage().await;
    put(&storage, "letter", "hello").await;
    for _ in 0..2 {
        storage
            .client
            .delete_object()
            .bucket(BUCKET)
            .key("letter")
            .send()
            .await
            .unwrap();
    }
    let got = storage
        .client
        .get_object()
        .bucket(BUCKET)
        .key("letter")
        .send()
        .await
        .unwrap_err();
    assert!(got.as_service_error().unwrap().is_no_such_key(), "{got:?}");
    let head = storage
        .client
        .head_object()
        .bucket(BUCKET)
        .key("letter")
        .send()
        .await
        .unwrap_err();
    assert!(head.as_service_error().unwrap().is_not_found(), "{head:?}");
}

#[tokio::test]
async fn a_list_has_the_keys_of_a_prefix_in_order() {
    let storage = storage().await;
    for key in ["b/2", "a", "b/1", "b"] {
        put(&storage, key, "hello").await;
    }
    assert_eq!(keys(&storage, "").await, ["a", "b", "b/1", "b/2"]);
    assert_eq!(keys(&storage, "b/").await, ["b/1", "b/2"]);
}

#[tokio::test]
async fn a_long_list_comes_in_pages() {
    let storage = storage().await;
    for key in ["1", "2", "3", "4", "5"] {
        put(&storage, key, "hello").await;
    }
    let mut pages = storage
        .client
        .list_objects_v2()
        .bucket(BUCKET)
        .max_keys(2)
        .into_paginator()
        .send();
    let mut sizes = Vec::new();
    while let Some(page) = pages.next().await {
        sizes.push(page.unwrap().contents().len());
    }
    assert_eq!(sizes, [2, 2, 1]);
}

#[tokio::test]
async fn another_bucket_does_not_exist() {
    let storage = storage().await;
    let got = storage
        .client
        .get_object()
        .bucket("others")
        .key("letter")
        .send()
        .await
        .unwrap_err();
    assert_eq!(got.code(), Some("NoSuchBucket"));
}

#[tokio::test]
async fn the_checksums_that_the_sdk_sends_by_itself_are_taken() {
    let storage = storage().await;
    let client = s3_client(
        &storage.s3,
        SECRET,
        RequestChecksumCalculation::WhenSupported,
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "hello").unwrap();
    // The SDK sends the checksum of a body in memory in a header, that of a stream in a trailer.
    let bodies = [
        ByteStream::from_static(b"hello"),
        ByteStream::from_path(file.path()).await.unwrap(),
    ];
    for body in bodies {
        client
            .put_object()
            .bucket(BUCKET)
            .key("letter")
            .body(body)
            .send()
            .await
            .unwrap();
        let got = client
            .get_object()
            .bucket(BUCKET)
            .key("letter")
            .send()
            .await
            .unwrap();
        assert_eq!(got.body.collect().await.unwrap().into_bytes(), "hello");
        client
            .delete_object()
            .bucket(BUCKET)
            .key("letter")
            .send()
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_content_that_does_not_match_its_checksum_leaves_nothing() {
    let storage = storage().await;
    let put = || {
        storage
            .client
            .put_object()
            .bucket(BUCKET)
            .key("letter")
            .body(ByteStream::from_static(b"hello"))
    };
    // The MD5 of empty content.
    let by_md5 = put()
        .content_md5("1B2M2Y8AsgTpgAmY7PhCfg==")
        .send()
        .await
        .unwrap_err();
    assert_eq!(by_md5.code(), Some("BadDigest"));
    let by_crc = put().checksum_crc32("AAAAAA==").send().await.unwrap_err();
    assert_eq!(by_crc.code(), Some("BadDigest"));
    let by_sha256 = put()
        .customize()
        .mutate_request(|request| {
            request
                .headers_mut()
                .insert("x-amz-checksum-sha256", "of another content");
        })
        .send()
        .await
        .unwrap_err();
    assert_eq!(by_sha256.code(), Some("BadDigest"));
    assert!(keys(&storage, "").await.is_empty());
}

#[tokio::test]
async fn the_largest_object_is_stored_and_a_larger_one_leaves_nothing() {
    let storage = storage().await;
    let put = |key: &str, bytes: usize| {
        let body = ByteStream::from(vec![b'x'; bytes]);
        storage
            .client
            .put_object()
            .bucket(BUCKET)
            .key(key)
            .body(body)
            .send()
    };
    put("largest", MAX_OBJECT_BYTES).await.unwrap();
    let larger = put("larger", MAX_OBJECT_BYTES + 1).await.unwrap_err();
    assert_eq!(larger.code(), Some("EntityTooLarge"));
    assert_eq!(keys(&storage, "").await, ["largest"]);
}

#[tokio::test]
async fn a_condition_that_is_not_known_is_not_ignored() {
    let storage = storage().await;
    let put = storage
        .client
        .put_object()
        .bucket(BUCKET)
        .key("letter")
        .if_none_match("\"abc\"");
    assert_eq!(put.send().await.unwrap_err().code(), Some("NotImplemented"));
    assert!(keys(&storage, "").await.is_empty());
}

#[tokio::test]
async fn an_object_is_replaced_only_while_it_is_the_one_that_was_read() {
    let storage = storage().await;
    let replace = async |etag: &str| {
        let put = storage
            .client
            .put_object()
            .bucket(BUCKET)
            .key("letter")
            .if_match(etag);
        let sent = put.body(ByteStream::from_static(b"second")).send().await;
        sent.map_err(|error| error.code().map(str::to_owned))
    };
    assert_eq!(
        replace("\"abc\"").await.unwrap_err().as_deref(),
        Some("NoSuchKey")
    );
    put(&storage, "letter", "first").await;
    let read = storage
        .client
        .get_object()
        .bucket(BUCKET)
        .key("letter")
        .send()
        .await
        .unwrap();
    let etag = read.e_tag().unwrap().to_owned();
    assert_eq!(
        replace("\"abc\"").await.unwrap_err().as_deref(),
        Some("PreconditionFailed")
    );
    replace(&etag).await.unwrap();
    assert_eq!(
        replace(&etag).await.unwrap_err().as_deref(),
        Some("PreconditionFailed"),
        "it is another one"
    );
}

#[tokio::test]
async fn a_request_without_a_signature_is_refused() {
    let storage = storage().await;
    put(&storage, "letter", "hello").await;
    let url = format!("{}/{BUCKET}/letter", storage.s3.endpoint());
    let response = send(Request::get(url).body("").unwrap()).await;
    assert_eq!(response.status(), 403);
    assert!(
        response.body().contains("<Code>AccessDenied</Code>"),
        "{}",
        response.body()
    );
}

#[tokio::test]
async fn a_dropped_storage_stops_serving() {
    let storage = storage().await;
    let address = storage
        .s3
        .endpoint()
        .trim_start_matches("http://")
        .to_owned();
    TcpStream::connect(&address).await.unwrap();
    drop(storage.s3);
    soon(async {
        while TcpStream::connect(&address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
