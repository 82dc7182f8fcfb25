//! What a request announces, read and checked in the order of the reference.

use common::domain::ids::IdempotencyKey;
use common::domain::receipt::Source;
use common::domain::receipt::payload::ReceiptTime;
use common::domain::receipt::photo::{MAX_BYTES, PhotoType};
use common::error::{Error, ErrorCode};
use common::http::body::Fields;
use common::http::function::Call;

/// Characters of a selector or a media type; longer ones are none that are known.
const NAME_CHARS: std::ops::RangeInclusive<usize> = 1..=64;
/// Characters of a QR code's text.
const QR_PAYLOAD_CHARS: std::ops::RangeInclusive<usize> = 0..=400;
/// Characters of a typed code.
const CODE_CHARS: std::ops::RangeInclusive<usize> = 6..=40;
/// Characters of a typed time: `h:mm` to `hh:mm:ss`.
const TIME_CHARS: std::ops::RangeInclusive<usize> = 4..=8;

/// A well-formed request to start a receipt. It holds the receipt's secrets, so it does not print.
pub(crate) struct Announcement {
    /// Names the attempt, where the caller wants retries of it to be one.
    pub(crate) key: Option<IdempotencyKey>,
    /// The digest of the body.
    pub(crate) body_hash: String,
    /// What the receipt is made of.
    pub(crate) source: Source,
}

impl Announcement {
    /// Reads a call.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub(crate) fn of(call: &Call) -> Result<Self, Error> {
        let key = call.idempotency_key()?;
        let body = call.json()?;
        let fields = body.fields();
        let kind = fields.required("type", fields.text("type", NAME_CHARS)?)?;
        let source = match kind {
            "photo" => photo(&fields)?,
            "typed" => typed(&fields)?,
            _ => return Err(Error::field("type", "`type` must be `photo` or `typed`.")),
        };
        if source.sentinel().is_some() && call.scope.environment.is_live() {
            let field = match source {
                Source::Photo { .. } => "qr_payload",
                Source::Typed { .. } => "code",
            };
            return Err(Error::from(ErrorCode::SentinelWithLiveKey).with_field(field));
        }
        if matches!(source, Source::Typed { .. }) && !call.campaign.takes_typed_receipts() {
            return Err(Error::from(ErrorCode::TypedReceiptUnsupported).with_field("type"));
        }
        if call.campaign.receipt.is_none() {
            return Err(Error::body("This campaign takes no receipts."));
        }
        Ok(Self { key, body_hash: body.digest(), source })
    }
}

fn photo(fields: &Fields<'_>) -> Result<Source, Error> {
    let named = fields.required("content_type", fields.text("content_type", NAME_CHARS)?)?;
    let types = PhotoType::ALL.map(|photo_type| format!("`{}`", photo_type.media_type())).join(", ");
    let content_type = PhotoType::of_media_type(named)
        .ok_or_else(|| Error::field("content_type", format!("`content_type` must be one of {types}.")))?;
    let size_bytes = fields.required("size_bytes", fields.positive("size_bytes")?)?;
    if size_bytes > MAX_BYTES {
        return Err(Error::from(ErrorCode::FileTooLarge).with_field("size_bytes"));
    }
    let qr_payload = fields.text("qr_payload", QR_PAYLOAD_CHARS)?.map(str::to_owned);
    Ok(Source::Photo { content_type, size_bytes, qr_payload })
}

fn typed(fields: &Fields<'_>) -> Result<Source, Error> {
    let code = fields.required("code", fields.text("code", CODE_CHARS)?)?.to_owned();
    let time = fields.required("time", fields.text("time", TIME_CHARS)?)?;
    let time = ReceiptTime::from_typed(time)
        .map_err(|_| Error::field("time", "`time` must be a time of day, `hh:mm` or `hh:mm:ss`."))?;
    Ok(Source::Typed { code, time })
}
