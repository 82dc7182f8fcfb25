use common::app::auth::DEFAULT_PER_MINUTE;
use common::clock::Clock;
use common::config::Env;
use common::domain::{
    Environment, PhotoType, Receipt, Scope, Source, Submission, SubmissionStatus,
};
use common::store::api_keys::{ApiKeyRecord, KeyHash};
use ops_core::{campaign_file, campaigns};

use super::past::Past;
use super::{DemoError, unusable};

const FILE: &str = include_str!("../../demo/sample-events.yaml");
/// Public, for test entries only.
const KEY: &str = "svc_test_KeyOfTheSampleEvents";
const SUBMISSION: &str = "5d2f7c1e-0b64-8a8e-9f3d-7c6e0d3407c3";
/// The photo has not been uploaded.
const AWAITED: &str = "a1c4e7f0-3b52-4d68-8e91-2f6a5b4c3d2e";
/// The photo is in storage; its event comes later.
const ARRIVED: &str = "c7e9b2d4-61f8-4a35-9b0c-8d7e6f5a4b3c";
/// First bytes; nothing reads further.
const PHOTO: &[u8] = &[
    0xff, 0xd8, 0xff, 0xe0, 0, 0x10, b'J', b'F', b'I', b'F', 0, 1,
];

pub async fn load(env: &Env, clock: &Clock) -> Result<(), DemoError> {
    let past = Past::connect(env).await?;
    let tables = &past.tables;
    let file = campaign_file::read("sample-events.yaml", FILE).map_err(|_| unusable("campaign"))?;
    let campaign = &file.campaign;
    if tables.campaigns.get(&campaign.slug).await?.is_some() {
        return Ok(());
    }
    let scope = Scope {
        campaign: campaign.slug.clone(),
        environment: Environment::Test,
    };
    let now = clock.now();
    for (id, size_bytes, photo) in [
        (AWAITED, 482_113, None),
        (ARRIVED, 12, Some(PHOTO.to_vec())),
    ] {
        let receipt = Receipt {
            receipt_id: id.parse().map_err(|_| unusable("id"))?,
            scope: scope.clone(),
            source: Source::Photo {
                content_type: PhotoType::Jpeg,
                size_bytes,
                qr_payload: None,
            },
            arrived: None,
            attached_to: None,
            created_at: now,
        };
        past.receipt(&receipt, photo).await?;
    }
    let id = SUBMISSION.parse().map_err(|_| unusable("id"))?;
    let new = past.submission(&scope, id, "+255712345678", None, now, campaign)?;
    let submission = Submission {
        status: SubmissionStatus::accepted(1, None),
        ..new
    };
    past.write(submission, None, campaign).await?;

    let hash = KeyHash::digest(KEY);
    let record = ApiKeyRecord {
        key_id: hash.key_id().to_owned(),
        scope,
        label: Some("sample events".to_owned()),
        per_minute: DEFAULT_PER_MINUTE,
        created_at: now,
        valid_until: None,
        revoked_at: None,
    };
    tables.api_keys.put(hash, record).await?;
    // Written last: its presence means that the rest exists.
    campaigns::apply(tables, &[file], now).await?;
    Ok(())
}
