use common::domain::submission::{Channel, DeclaredItem, DeclaredPurchase};
use common::domain::{
    Campaign, Code, EntrantId, Environment, IdempotencyKey, Phone, ReceiptId, Scope,
};
use common::error::{Error, ErrorCode};
use common::http::fields::{Fields, Problems};
use common::http::request::Request;
use common::store::submission_writes::RecordKeys;

const CONSENT_VERSION_CHARS: std::ops::RangeInclusive<usize> = 1..=40;
const REGION_CHARS: std::ops::RangeInclusive<usize> = 0..=80;
const CHANNEL_CHARS: std::ops::RangeInclusive<usize> = 1..=20;
/// A UUID has 36 characters.
const RECEIPT_ID_CHARS: std::ops::RangeInclusive<usize> = 1..=64;
const MAX_ITEMS: usize = 40;
/// Campaigns' own keys are shorter.
const ITEM_KEY_CHARS: std::ops::RangeInclusive<usize> = 1..=64;
const ITEM_QTY: std::ops::RangeInclusive<u32> = 1..=99;
const BRANCH_CHARS: std::ops::RangeInclusive<usize> = 0..=120;

const NO_RECEIPTS: &str = "Leave `receipt_id` out: `receipt` of GET /api/v1/campaign is null for a campaign that takes no \
                           receipts. Or use a key of a campaign with receipts.";

#[derive(Debug)]
pub(crate) struct CreateSubmissionRequest {
    pub(crate) key: IdempotencyKey,
    pub(crate) body_digest: String,
    pub(crate) phone: Phone,
    /// Typed form; see [`Self::code_for`].
    code: Option<Code>,
    pub(crate) receipt_id: Option<ReceiptId>,
    pub(crate) region: Option<String>,
    pub(crate) channel: Option<Channel>,
    pub(crate) claimed: Option<DeclaredPurchase>,
    pub(crate) consent_version: Option<String>,
}

impl CreateSubmissionRequest {
    pub(crate) fn parse(request: &Request, environment: Environment) -> Result<Self, Error> {
        let key = request.required_idempotency_key()?;
        let body = request.json()?;
        let request = body.read(|fields| Self::read(fields, key, body.digest()))?;
        let is_sentinel = |code: &Code| code.sentinel().is_some();
        if environment.is_live() && request.code.as_ref().is_some_and(is_sentinel) {
            return Err(Error::from(ErrorCode::SentinelWithLiveKey).with_field("code"));
        }
        Ok(request)
    }

    fn read(fields: &Fields<'_>, key: IdempotencyKey, body_digest: String) -> Option<Self> {
        let phone = fields.required("phone", Fields::phone);
        let code = fields.code("code");
        if !fields.is_true("consent") {
            fields.note_as(ErrorCode::ConsentRequired, "consent", "`true`");
        }
        let consent_version = fields
            .text("consent_version", CONSENT_VERSION_CHARS)
            .map(str::to_owned);
        let region = fields.text("region", REGION_CHARS).map(str::to_owned);
        let known = "`web`, `sms`, `ussd`, `whatsapp`, `agent` or `other`";
        let channel = fields.parsed("channel", CHANNEL_CHARS, known, |text| text.parse().ok());
        let receipt_id = fields.parsed("receipt_id", RECEIPT_ID_CHARS, "a UUID", |id| {
            id.parse().ok()
        });
        let claimed = fields.object("claimed").map(|claimed| {
            let items = claimed
                .each("items", MAX_ITEMS, claimed_item)
                .unwrap_or_default();
            let branch = claimed.text("branch", BRANCH_CHARS).map(str::to_owned);
            DeclaredPurchase { items, branch }
        });
        Some(Self {
            key,
            body_digest,
            phone: phone?,
            code,
            receipt_id,
            region,
            channel,
            claimed,
            consent_version,
        })
    }

    pub(crate) fn code_for(&self, campaign: &Campaign) -> Option<Code> {
        let code = self.code.clone().filter(|_| campaign.needs_code())?;
        Some(match &campaign.partner {
            Some(partner) => code.in_form(partner.code),
            None => code,
        })
    }

    pub(crate) fn record_keys<'a>(
        &'a self,
        scope: &'a Scope,
        entrant: &'a EntrantId,
    ) -> RecordKeys<'a> {
        RecordKeys {
            scope,
            key: &self.key,
            entrant,
            code: None,
            receipt: self.receipt_id,
        }
    }

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

fn claimed_item(item: &Fields<'_>) -> Option<DeclaredItem> {
    let key = item
        .required("key", |item, name| item.text(name, ITEM_KEY_CHARS))
        .map(str::to_owned);
    let qty = item.required("qty", |item, name| item.integer(name, ITEM_QTY));
    Some(DeclaredItem {
        key: key?,
        qty: qty?,
    })
}
