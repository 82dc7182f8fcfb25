//! Objects in a folder.

use std::fs;
use std::path::Path;

use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::primitives::ByteStream;
use tempfile::tempdir;

use crate::common::{BUCKET, NOW, Storage, storage_in};

async fn put(storage: &Storage, key: &str, content: &'static str) {
    let put = storage
        .client
        .put_object()
        .bucket(BUCKET)
        .key(key)
        .content_type("text/plain");
    put.body(ByteStream::from_static(content.as_bytes()))
        .send()
        .await
        .unwrap();
}

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[tokio::test]
async fn objects_outlive_a_restart() {
    let folder = tempdir().unwrap();
    let first = storage_in(Some(folder.path())).await;
    put(&first, "a/letter", "old").await;
    put(&first, "a/letter", "line\nline").await;
    put(&first, "gone", "hello").await;
    first
        .client
        .delete_object()
        .bucket(BUCKET)
        .key("gone")
        .send()
        .await
        .unwrap();
    first.s3.stop().await;

    let second = storage_in(Some(folder.path())).await;
    let got = second
        .client
        .get_object()
        .bucket(BUCKET)
        .key("a/letter")
        .send()
        .await
        .unwrap();
    assert_eq!(got.content_type(), Some("text/plain"));
    assert_eq!(got.e_tag(), Some("\"4a99f75a47159b48c28bb838389f4b9e\""));
    assert_eq!(got.last_modified().unwrap().secs(), NOW);
    assert_eq!(got.body.collect().await.unwrap().into_bytes(), "line\nline");
    let listed = second
        .client
        .list_objects_v2()
        .bucket(BUCKET)
        .send()
        .await
        .unwrap();
    assert_eq!(listed.contents().len(), 1);
    let again = second
        .client
        .put_object()
        .bucket(BUCKET)
        .key("a/letter")
        .if_none_match("*")
        .send()
        .await;
    assert_eq!(again.unwrap_err().code(), Some("PreconditionFailed"));
}

#[tokio::test]
async fn no_key_leads_out_of_the_folder() {
    let outer = tempdir().unwrap();
    let folder = outer.path().join("s3");
    let storage = storage_in(Some(&folder)).await;
    let long = "long/".repeat(200);
    let keys = [
        "../../outside",
        "..",
        "/etc/outside",
        "a/../../../outside",
        &long,
    ];
    for key in keys {
        put(&storage, key, "hello").await;
        let got = storage
            .client
            .get_object()
            .bucket(BUCKET)
            .key(key)
            .send()
            .await
            .unwrap();
        assert_eq!(
            got.body.collect().await.unwrap().into_bytes(),
            "hello",
            "{key}"
        );
    }
    assert_eq!(files(outer.path()), ["s3"]);
    assert_eq!(files(&folder), [BUCKET]);
    assert_eq!(files(&folder.join(BUCKET)).len(), keys.len());
}

#[tokio::test]
async fn what_a_broken_write_left_is_removed() {
    let folder = tempdir().unwrap();
    storage_in(Some(folder.path())).await.s3.stop().await;
    fs::write(
        folder.path().join(BUCKET).join("unfinished"),
        "half of an ob",
    )
    .unwrap();
    let storage = storage_in(Some(folder.path())).await;
    let listed = storage
        .client
        .list_objects_v2()
        .bucket(BUCKET)
        .send()
        .await
        .unwrap();
    assert!(listed.contents().is_empty());
    assert!(files(&folder.path().join(BUCKET)).is_empty());
}
