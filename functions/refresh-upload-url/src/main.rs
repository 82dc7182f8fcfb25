use common::runtime::lambda;

fn main() -> lambda::Served {
    lambda::serve::<refresh_upload_url::RefreshUploadUrl>()
}
