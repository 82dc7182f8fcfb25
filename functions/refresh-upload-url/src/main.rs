//! Gives a receipt's upload a fresh URL, on AWS Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), common::lambda::Error> {
    common::lambda::serve::<refresh_upload_url::RefreshUploadUrl>().await
}
