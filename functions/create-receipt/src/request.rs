use common::domain::receipt::photo::MAX_BYTES;
use common::domain::{IdempotencyKey, PhotoType, ReceiptTime, Source};
use common::error::{Error, ErrorCode};
use common::http::fields::Fields;
use common::http::receipt::ReceiptType;
use common::runtime::http_handler::ApiRequest;

/// No known value is longer.
const NAME_CHARS: std::ops::RangeInclusive<usize> = 1..=64;
const QR_PAYLOAD_CHARS: std::ops::RangeInclusive<usize> = 0..=400;
const CODE_CHARS: std::ops::RangeInclusive<usize> = 6..=40;
/// `h:mm` to `hh:mm:ss`.
const TIME_CHARS: std::ops::RangeInclusive<usize> = 4..=8;
const TIME_OF_DAY: &str = "a time of day from 0:00 to 23:59:59, written `hh:mm` or `hh:mm:ss`";

const NO_RECEIPTS: &str = "Start no receipt: `receipt` of GET /api/v1/campaign is null for a campaign that takes none. \
                           Enter the consumer with POST /api/v1/submissions alone, or use a key of a campaign with \
                           receipts.";

/// Holds receipt secrets, so it has no `Debug`.
pub(crate) struct CreateReceiptRequest {
    pub(crate) key: Option<IdempotencyKey>,
    pub(crate) body_digest: String,
    pub(crate) source: Source,
}

impl CreateReceiptRequest {
    pub(crate) fn parse(request: &ApiRequest) -> Result<Self, Error> {
        let key = request.http.idempotency_key()?;
        let body = request.http.json()?;
        let source = body.read(|fields| {
            let kind = fields.required("type", |fields, name| {
                fields.parsed(name, NAME_CHARS, "`photo` or `typed`", |text| {
                    text.parse::<ReceiptType>().ok()
                })
            });
            match kind? {
                ReceiptType::Photo => photo(fields),
                ReceiptType::Typed => typed(fields),
            }
        })?;
        if source.sentinel().is_some() && request.scope.environment.is_live() {
            let field = match source {
                Source::Photo { .. } => "qr_payload",
                Source::Typed { .. } => "code",
            };
            return Err(Error::from(ErrorCode::SentinelWithLiveKey).with_field(field));
        }
        if matches!(source, Source::Typed { .. }) && !request.campaign.takes_typed_receipts() {
            return Err(Error::from(ErrorCode::TypedReceiptUnsupported).with_field("type"));
        }
        if request.campaign.receipt.is_none() {
            return Err(Error::body("This campaign takes no receipts.").with_fix(NO_RECEIPTS));
        }
        Ok(Self {
            key,
            body_digest: body.digest(),
            source,
        })
    }
}

fn photo(fields: &Fields<'_>) -> Option<Source> {
    let types = PhotoType::ALL
        .map(|photo_type| format!("`{photo_type}`"))
        .join(", ");
    let content_type = fields.required("content_type", |fields, name| {
        fields.parsed(name, NAME_CHARS, &format!("one of {types}"), |text| {
            text.parse::<PhotoType>().ok()
        })
    });
    let size_bytes = fields.required("size_bytes", Fields::positive);
    if size_bytes.is_some_and(|bytes| bytes > MAX_BYTES) {
        fields.note_as(
            ErrorCode::FileTooLarge,
            "size_bytes",
            &format!("at most {MAX_BYTES}"),
        );
    }
    let qr_payload = fields
        .text("qr_payload", QR_PAYLOAD_CHARS)
        .map(str::to_owned);
    Some(Source::Photo {
        content_type: content_type?,
        size_bytes: size_bytes?,
        qr_payload,
    })
}

fn typed(fields: &Fields<'_>) -> Option<Source> {
    let code = fields.required("code", |fields, name| {
        fields.receipt_code(name, &CODE_CHARS)
    });
    let time = fields.required("time", |fields, name| {
        fields.parsed(name, TIME_CHARS, TIME_OF_DAY, |time| {
            ReceiptTime::from_typed(time).ok()
        })
    });
    Some(Source::Typed {
        code: code?,
        time: time?,
    })
}
