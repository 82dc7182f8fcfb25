//! Objects, by signed requests.

use aws_sdk_s3::Client;
use aws_sdk_s3::error::ProvideErrorMetadata;

use crate::common::{SECRET, Storage, body, credentials, storage};

#[tokio::test]
async fn part_of_an_object_comes_with_its_place() {
    let storage = storage().await;
    storage.store("letter", "hello").await;
    let head = storage.head("letter").send().await.unwrap();
    assert_eq!(head.content_length(), Some(5));
    let parts = [
        ("bytes=1-3", "ell", "bytes 1-3/5"),
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
    let read = storage.get("letter").send().await.unwrap();
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
