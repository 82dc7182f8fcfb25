#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), common::runtime::lambda::Error> {
    common::runtime::lambda::serve::<refresh_upload_url::RefreshUploadUrl>().await
}
