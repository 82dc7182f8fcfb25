//! Objects in a folder.

use std::fs;
use std::path::Path;

use aws_sdk_s3::error::ProvideErrorMetadata;
use tempfile::tempdir;

use crate::common::{BUCKET, NOW, storage_in};

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
    first.store("a/letter", "old").await;
    first.store("a/letter", "line\nline").await;
    first.store("gone", "hello").await;
    first.delete("gone").await;
    first.server.stop().await;

    let second = storage_in(Some(folder.path())).await;
    let got = second.get("a/letter").send().await.unwrap();
    assert_eq!(
        (
            got.content_type(),
            got.e_tag(),
            got.last_modified().unwrap().secs()
        ),
        (
            Some("text/plain"),
            Some("\"4a99f75a47159b48c28bb838389f4b9e\""),
            NOW
        )
    );
    assert_eq!(second.content("a/letter").await, "line\nline");
    assert_eq!(second.keys("").await, ["a/letter"]);
    let again = second.put("a/letter").if_none_match("*").send().await;
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
        storage.store(key, "hello").await;
        assert_eq!(storage.content(key).await, "hello", "{key}");
    }
    assert_eq!(files(outer.path()), ["s3"]);
    assert_eq!(files(&folder), [BUCKET]);
    assert_eq!(files(&folder.join(BUCKET)).len(), keys.len());
}

#[tokio::test]
async fn remains_of_a_broken_write_are_removed() {
    let folder = tempdir().unwrap();
    storage_in(Some(folder.path())).await.server.stop().await;
    let bucket = folder.path().join(BUCKET);
    fs::write(bucket.join("unfinished"), "half of an ob").unwrap();
    let storage = storage_in(Some(folder.path())).await;
    assert!(storage.keys("").await.is_empty());
    assert!(files(&bucket).is_empty());
}
