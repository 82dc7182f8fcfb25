//! Parses and validates the request, checking fields in the order of the API reference.

use common::domain::campaign::Campaign;
use common::domain::code::Code;
use common::domain::entrant_id::{Consumer, StoredPhone};
use common::domain::ids::{IdempotencyKey, ReceiptId, SubmissionId};
use common::domain::key_encryption::DeploymentSecret;
use common::domain::phone::Phone;
use common::domain::scope::{Environment, Scope};
use common::domain::submission::{Claimed, ClaimedItem};
use common::error::{Error, ErrorCode};
use common::http::fields::{Fields, Problems};
use common::http::request::Request;
use common::random;

/// Characters of a consent text's version; the campaign file has the same limit.
const CONSENT_VERSION_CHARS: std::ops::RangeInclusive<usize> = 1..=40;
const REGION_CHARS: std::ops::RangeInclusive<usize> = 0..=80;
/// A UUID has 36 characters.
const RECEIPT_ID_CHARS: std::ops::RangeInclusive<usize> = 1..=64;
const MAX_ITEMS: usize = 40;
/// Campaigns' own keys are shorter.
const ITEM_KEY_CHARS: std::ops::RangeInclusive<usize> = 1..=64;
const ITEM_QTY: std::ops::RangeInclusive<u32> = 1..=99;
const BRANCH_CHARS: std::ops::RangeInclusive<usize> = 0..=120;

const NO_RECEIPTS: &str = "Leave `receipt_id` out: `receipt` of GET /api/v1/campaign is null for a campaign that takes no \
                           receipts. Or use a key of a campaign with receipts.";

#[derive(Clone, Debug)]
pub(crate) struct CreateSubmissionRequest {
    pub(crate) key: IdempotencyKey,
    /// The digest of the body, without a key.
    pub(crate) body_hash: String,
    pub(crate) phone: Phone,
    /// In the form that the campaign compares, once [`Self::for_campaign`] has run.
    pub(crate) code: Option<Code>,
    pub(crate) receipt_id: Option<ReceiptId>,
    pub(crate) region: Option<String>,
    pub(crate) claimed: Option<Claimed>,
    /// The version of the campaign's text that the consumer agreed to.
    pub(crate) consent_version: Option<String>,
}

impl CreateSubmissionRequest {
    pub(crate) fn parse(request: &Request, environment: Environment) -> Result<Self, Error> {
        let key = request.required_idempotency_key()?;
        let body = request.json()?;
        let SubmissionBody {
            phone,
            code,
            receipt_id,
            region,
            claimed,
            consent_version,
        } = body.read(SubmissionBody::read)?;
        let is_sentinel = code.as_ref().is_some_and(|code| code.sentinel().is_some());
        if is_sentinel && environment.is_live() {
            return Err(Error::from(ErrorCode::SentinelWithLiveKey).with_field("code"));
        }
        Ok(Self {
            key,
            body_hash: body.digest(),
            phone,
            code,
            receipt_id,
            region,
            claimed,
            consent_version,
        })
    }

    /// Converts the code to the form that the campaign compares; drops it if the campaign takes no codes.
    pub(crate) fn for_campaign(self, campaign: &Campaign) -> Self {
        let code =
            self.code
                .filter(|_| campaign.needs_code())
                .map(|code| match &campaign.partner {
                    Some(partner) => code.in_form(partner.code),
                    None => code,
                });
        Self { code, ..self }
    }

    /// Checks that the request has all that the campaign requires, and nothing that it does not take.
    pub(crate) fn check(&self, campaign: &Campaign) -> Result<(), Error> {
        let problems = Problems::default();
        if self.code.is_none() && campaign.needs_code() {
            problems.note("code", "`code` is missing.");
        }
        if self.receipt_id.is_none() && campaign.needs_receipt() {
            problems.note_as(
                ErrorCode::ReceiptRequired,
                "receipt_id",
                "`receipt_id` is missing.",
            );
        } else if self.receipt_id.is_some() && campaign.receipt.is_none() {
            problems.note("receipt_id", "This campaign takes no receipts.");
            return problems
                .check()
                .map_err(|error| error.with_fix(NO_RECEIPTS));
        }
        problems.check()
    }
}

/// A request with the digest and the encrypted form of its phone.
pub(crate) struct IdentifiedRequest {
    pub(crate) request: CreateSubmissionRequest,
    pub(crate) consumer: Consumer,
    /// The keyed digest of the body.
    pub(crate) body_hash: String,
    /// The id of the submission that the request makes, if it makes one.
    pub(crate) submission_id: SubmissionId,
    /// The phone, encrypted for that submission.
    pub(crate) phone: StoredPhone,
}

impl IdentifiedRequest {
    /// Never `None`: every valid phone can be encrypted.
    pub(crate) fn new(
        request: CreateSubmissionRequest,
        scope: &Scope,
        secret: &DeploymentSecret,
    ) -> Option<Self> {
        let consumer = secret.consumer(scope, request.phone.clone());
        let body_hash = secret.keyed_digest(scope, &request.body_hash);
        let submission_id = random::submission_id();
        let phone = secret.encrypt_phone(scope, submission_id, &request.phone, random::bytes())?;
        Some(Self {
            request,
            consumer,
            body_hash,
            submission_id,
            phone,
        })
    }
}

struct SubmissionBody {
    phone: Phone,
    code: Option<Code>,
    receipt_id: Option<ReceiptId>,
    region: Option<String>,
    claimed: Option<Claimed>,
    consent_version: Option<String>,
}

impl SubmissionBody {
    fn read(fields: &Fields<'_>) -> Option<Self> {
        let phone = fields.required("phone", Fields::phone);
        let code = fields.code("code");
        if !fields.is_true("consent") {
            fields.note_as(ErrorCode::ConsentRequired, "consent", "`true`");
        }
        let consent_version = fields
            .text("consent_version", CONSENT_VERSION_CHARS)
            .map(str::to_owned);
        let region = fields.text("region", REGION_CHARS).map(str::to_owned);
        let receipt_id = fields.parsed("receipt_id", RECEIPT_ID_CHARS, "a UUID", |id| {
            id.parse().ok()
        });
        let claimed = fields.object("claimed").map(|claimed| {
            let items = claimed
                .each("items", MAX_ITEMS, claimed_item)
                .unwrap_or_default();
            let branch = claimed.text("branch", BRANCH_CHARS).map(str::to_owned);
            Claimed { items, branch }
        });
        Some(Self {
            phone: phone?,
            code,
            receipt_id,
            region,
            claimed,
            consent_version,
        })
    }
}

fn claimed_item(item: &Fields<'_>) -> Option<ClaimedItem> {
    let key = item
        .required("key", |item, name| item.text(name, ITEM_KEY_CHARS))
        .map(str::to_owned);
    let qty = item.required("qty", |item, name| item.integer(name, ITEM_QTY));
    Some(ClaimedItem {
        key: key?,
        qty: qty?,
    })
}
