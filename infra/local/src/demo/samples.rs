//! The records behind the sample events, so that each event works unchanged: a campaign, a public test key, and records
//! with the ids in the events.

use common::app::auth::DEFAULT_PER_MINUTE;
use common::aws::Aws;
use common::aws::photos::{self, object_key};
use common::clock::Clock;
use common::config::Env;
use common::domain::campaign::Campaign;
use common::domain::entrant::{Entrant, PhoneChecks};
use common::domain::message::MessageKey;
use common::domain::receipt::photo::PhotoType;
use common::domain::receipt::{Receipt, Source};
use common::domain::scope::{CampaignSlug, Environment, Scope};
use common::domain::submission::{NewSubmission, Submission, SubmissionStatus};
use common::domain::timestamp::Timestamp;
use common::random;
use common::store::api_keys::{ApiKeyRecord, KeyHash};
use common::store::receipts::Receipts;
use common::store::submission_writes::{RecordKeys, SubmissionWrite};
use ops_core::failure::Failure;
use ops_core::tables::Tables;
use ops_core::{campaign_file, campaigns};

use super::DemoError;

const FILE: &str = include_str!("../../demo/sample-events.yaml");
const SLUG: &str = "sample-events";
/// The key in the events. It is public, and a test key: anyone who reaches a local stack may use it.
const KEY: &str = "svc_test_KeyOfTheSampleEvents";
/// An accepted submission.
const SUBMISSION: &str = "5d2f7c1e-0b64-8a8e-9f3d-7c6e0d3407c3";
/// A receipt whose photo has not been uploaded.
const AWAITED: &str = "a1c4e7f0-3b52-4d68-8e91-2f6a5b4c3d2e";
/// A receipt whose photo is in storage, with its event still to come.
const ARRIVED: &str = "c7e9b2d4-61f8-4a35-9b0c-8d7e6f5a4b3c";
/// The first bytes of that photo; nothing reads further.
const PHOTO: &[u8] = &[
    0xff, 0xd8, 0xff, 0xe0, 0, 0x10, b'J', b'F', b'I', b'F', 0, 1,
];

/// Loads the records, unless they exist.
///
/// # Errors
/// If a table or storage does not answer.
pub async fn load(env: &Env, clock: &Clock) -> Result<(), DemoError> {
    let aws = Aws::for_function(env)?;
    let tables = Tables::from_env(env, &aws)?;
    let receipts = Receipts::from_env(env, &aws.dynamodb())?;
    let bucket = env.required(photos::VARIABLE)?;
    let slug: CampaignSlug = SLUG.parse().map_err(|_| unusable("slug"))?;
    if tables
        .campaigns
        .get(&slug)
        .await
        .map_err(Failure::from)?
        .is_some()
    {
        return Ok(());
    }
    let scope = Scope {
        campaign: slug,
        environment: Environment::Test,
    };
    let now = clock.now();

    let receipt = |id: &str, size_bytes| -> Result<Receipt, DemoError> {
        Ok(Receipt {
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
        })
    };
    let arrived = receipt(ARRIVED, 12)?;
    for receipt in [&receipt(AWAITED, 482_113)?, &arrived] {
        receipts
            .create(receipt, None)
            .await
            .map_err(Failure::from)?;
    }
    let put = aws
        .s3()
        .put_object()
        .bucket(bucket)
        .key(object_key(&scope, arrived.receipt_id));
    put.body(PHOTO.to_vec().into())
        .send()
        .await
        .map_err(|_| unusable("photo"))?;

    let file = campaign_file::read("sample-events.yaml", FILE).map_err(|_| unusable("campaign"))?;
    create_submission(&tables, &scope, &file.campaign, now).await?;

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
    tables
        .api_keys
        .put(hash, record)
        .await
        .map_err(Failure::from)?;
    // The campaign is written last: its presence means that the rest exists.
    campaigns::apply(&tables, &[file], now).await?;
    Ok(())
}

async fn create_submission(
    tables: &Tables,
    scope: &Scope,
    campaign: &Campaign,
    now: Timestamp,
) -> Result<(), DemoError> {
    let submission_id = SUBMISSION.parse().map_err(|_| unusable("id"))?;
    let version = tables
        .secrets()
        .version_for_phones()
        .await
        .map_err(Failure::from)?;
    let phone = "+255712345678".parse().map_err(|_| unusable("phone"))?;
    let new = NewSubmission {
        submission_id,
        scope: scope.clone(),
        phone: version
            .secret
            .encrypt_phone(scope, submission_id, &phone, random::bytes()),
        entrant_id: version.secret.consumer(scope, phone).id,
        region: None,
        claimed: None,
        consent: None,
        day: now.to_string().chars().take(10).collect(),
        created_at: now,
        request_id: None,
    };
    let submission = Submission {
        reasons: vec![MessageKey::Entered.as_str().to_owned()],
        ..Submission::new(new, SubmissionStatus::accepted(1, None))
    };
    let key = "a-sample-event-0001".parse().map_err(|_| unusable("key"))?;
    let write = SubmissionWrite {
        keys: RecordKeys {
            scope: &submission.scope,
            key: &key,
            entrant: &submission.entrant_id,
            code: None,
            receipt: None,
        },
        body_hash: "",
        submission: &submission,
    };
    let (entrant, checks) = (Entrant::default(), PhoneChecks::default());
    let created = tables
        .store
        .create_admitted(write, &entrant, campaign, checks, now)
        .await;
    created.map_err(Failure::from)?;
    Ok(())
}

/// True for the photo whose storage event is among the sample events and still to be sent.
pub(crate) fn is_unannounced(object_key: &str) -> bool {
    object_key.ends_with(ARRIVED)
}

fn unusable(what: &str) -> DemoError {
    DemoError::Refused(format!("the {what} of the sample events cannot be used"))
}
