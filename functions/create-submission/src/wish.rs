//! What a request asks for, read and checked in the order of the reference.

use common::domain::code::Code;
use common::domain::ids::{IdempotencyKey, ReceiptId};
use common::domain::phone::Phone;
use common::domain::submission::{Claimed, ClaimedItem};
use common::error::{Error, ErrorCode};
use common::http::body::Fields;
use common::http::function::Call;

/// Characters of a region.
const REGION_CHARS: std::ops::RangeInclusive<usize> = 0..=80;
/// Characters of a receipt's id; a UUID has 36.
const RECEIPT_ID_CHARS: std::ops::RangeInclusive<usize> = 1..=64;
/// Claimed products in one submission.
const MOST_ITEMS: usize = 40;
/// Characters of a claimed product's key; a campaign's own keys are shorter.
const ITEM_KEY_CHARS: std::ops::RangeInclusive<usize> = 1..=64;
/// How many of one product.
const ITEM_QTY: std::ops::RangeInclusive<u32> = 1..=99;
/// Characters of a claimed branch.
const BRANCH_CHARS: std::ops::RangeInclusive<usize> = 0..=120;

/// A well-formed request to enter.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    /// One for each attempt, the same on every retry of it.
    pub(crate) key: IdempotencyKey,
    /// The digest of the body.
    pub(crate) body_hash: String,
    /// Who wants to enter.
    pub(crate) phone: Phone,
    /// With which code; none when the campaign takes none.
    pub(crate) code: Option<Code>,
    /// With which receipt.
    pub(crate) receipt_id: Option<ReceiptId>,
    /// From where.
    pub(crate) region: Option<String>,
    /// With what.
    pub(crate) claimed: Option<Claimed>,
}

impl Wish {
    /// Reads a call.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub(crate) fn of(call: &Call) -> Result<Self, Error> {
        let key = call.required_idempotency_key()?;
        let body = call.json()?;
        let fields = body.fields();
        let phone = fields.required("phone", fields.phone()?)?;
        let code = fields.text("code", Code::CHARS)?;
        if !fields.is_true("consent") {
            return Err(Error::from(ErrorCode::ConsentRequired).with_field("consent"));
        }
        let region = fields.text("region", REGION_CHARS)?;
        let receipt_id = fields.text("receipt_id", RECEIPT_ID_CHARS)?.map(str::parse::<ReceiptId>);
        let receipt_id =
            receipt_id.transpose().map_err(|_| Error::field("receipt_id", "`receipt_id` must be a UUID."))?;
        let claimed = claimed(&fields)?;

        let code = code.map(str::parse::<Code>).transpose().map_err(Error::internal)?;
        let is_sentinel = code.as_ref().is_some_and(|code| code.sentinel().is_some());
        if is_sentinel && call.scope.environment.is_live() {
            return Err(Error::from(ErrorCode::SentinelWithLiveKey).with_field("code"));
        }
        let code = code.filter(|_| call.campaign.needs_code());
        let region = region.map(str::to_owned);
        Ok(Self { key, body_hash: body.digest(), phone, code, receipt_id, region, claimed })
    }

    /// What the campaign needs and does not find here, or finds and does not take.
    pub(crate) fn unmet(&self, call: &Call) -> Option<Error> {
        let campaign = &call.campaign;
        if self.code.is_none() && campaign.needs_code() {
            Some(Error::field("code", "`code` is missing."))
        } else if self.receipt_id.is_none() && campaign.needs_receipt() {
            Some(Error::from(ErrorCode::ReceiptRequired).with_field("receipt_id"))
        } else if self.receipt_id.is_some() && campaign.receipt.is_none() {
            Some(Error::field("receipt_id", "This campaign takes no receipts."))
        } else {
            None
        }
    }
}

fn claimed(fields: &Fields<'_>) -> Result<Option<Claimed>, Error> {
    let Some(claimed) = fields.object("claimed")? else { return Ok(None) };
    let items = claimed.objects("items", MOST_ITEMS)?.unwrap_or_default();
    let item = |item: Fields<'_>| {
        let key = item.required("key", item.text("key", ITEM_KEY_CHARS)?)?.to_owned();
        let qty = item.required("qty", item.integer("qty", ITEM_QTY)?)?;
        Ok(ClaimedItem { key, qty })
    };
    let items = items.into_iter().map(item).collect::<Result<_, Error>>()?;
    let branch = claimed.text("branch", BRANCH_CHARS)?.map(str::to_owned);
    Ok(Some(Claimed { items, branch }))
}
