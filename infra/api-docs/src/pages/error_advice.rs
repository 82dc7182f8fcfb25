use common::error::ErrorCode;

/// Beyond the reply's own: the cause, and what to check, in inline Markdown.
pub(super) fn advice(code: ErrorCode) -> &'static str {
    use ErrorCode::*;

    match code {
        KeyMissing => {
            "Your HTTP client sent no `Authorization` header. Check that the environment variable with the key is set where \
             the process runs, and that no proxy or redirect drops the header: many clients remove it when they follow a \
             redirect to another host."
        }
        KeyMalformed => {
            "The header is there but is not `Bearer` and a key. Common causes: the word `Bearer` is missing, the key is in \
             quotes, a line break was pasted with it, or the variable still holds a placeholder. A key is `svc_test_` or \
             `svc_live_` and 8 to 128 letters, digits, `_` or `-`."
        }
        KeyUnknown => {
            "The key has the right form, but this deployment does not know it. Check that `BASE` and key belong together: \
             staging and production have different keys. A new key works within 5 seconds."
        }
        KeyWrongEnvironment => {
            "You sent a `svc_live_` key to a deployment that is not production. Test keys work on every deployment, \
             production included."
        }
        SessionExpired => {
            "For agent sessions, which are not available yet. API keys do not expire."
        }
        CampaignNotAssigned => "For agent sessions, which are not available yet.",
        KeyRevoked => {
            "Your service operator revoked the key; this takes effect within 5 seconds. A campaign can have two live keys, \
             so that you can switch without a gap: deploy the second one, then have the first one revoked."
        }
        NotFound => {
            "Ids are only found with a key of the same campaign and the same environment. A submission that a test key \
             created does not exist for a live key.\n\nCheck that the id is the `id` (a UUID) and not the `ref`, and that \
             the path has no slash at its end. For `receipt_id`, check that the receipt was created with the same key's \
             campaign. If `message` says that the campaign of the key is absent, tell your service operator."
        }
        MethodNotAllowed => {
            "The path exists, the method does not: for example `GET /api/v1/submissions`. The `Allow` header lists the \
             methods of the path. To find a consumer's submissions, use \
             [the look-up](/docs/endpoints/submissions#lookupSubmissions). There is no `OPTIONS`: browsers must not call \
             the API."
        }
        IdempotencyInProgress => {
            "The first request with this Idempotency-Key has not finished: for example your client timed out after 3 \
             seconds and retried while a partner was still being asked. Wait for `Retry-After` and repeat. After 10 seconds \
             you get the pending submission instead of this error. A client time-out of 25 seconds avoids it. See \
             [retries](/docs/idempotency)."
        }
        FileTooLarge => {
            "Either `size_bytes` of a new receipt is over 5,242,880, or the stored file is. Downsize in the browser before \
             you start the receipt, and send the size of the downsized file."
        }
        FileWrongType => {
            "The first bytes of the stored file are not those of a JPEG, PNG or WebP. HEIC photos from iPhones are the \
             usual cause: draw them on a canvas in the browser and export JPEG. The receipt cannot be repaired: start a \
             new one."
        }
        CampaignMismatch => {
            "You sent `SVC-Campaign` with a slug that is not the key's campaign. If you serve several campaigns, this \
             protects you from using the wrong key: check which key the code chose."
        }
        ConsentRequired => {
            "Show the consumer `messages.consent_required` of the [campaign](/docs/endpoints/campaign) beside the box. If the \
             box was ticked: `consent` must be the boolean `true`. The string `\"true\"`, `1` and `\"on\"` (what an HTML form sends) do not \
             count."
        }
        IdempotencyKeyInvalid => {
            "The key is shorter than 16 or longer than 128 characters, has a character that is not printable ASCII, or has \
             a comma. A comma also appears when the header is sent twice: HTTP joins the two values. An empty key often \
             means that a shell command such as `uuidgen` is not installed."
        }
        IdempotencyKeyRequired => {
            "`POST /api/v1/submissions` needs the header. Create one key for each attempt, store it, and send it again on \
             every retry. See [idempotency](/docs/idempotency)."
        }
        IdempotencyKeyReused => {
            "The key was used within the last 30 days with another body. Bodies are compared as JSON: order and white space \
             do not matter, `1` is `1.0`, but strings must be identical, so `0712 345 678` and `0712345678` differ.\n\n\
             Common causes: a constant key, a key per consumer instead of per attempt, or a retry that builds the body \
             again with a changed field."
        }
        PhoneInvalid => {
            "After spaces, dots, dashes and brackets are removed, the number must be `+255`, `255` or `0` and nine digits \
             that start with 61 to 69 or 70 to 79. Landlines and foreign numbers are refused. Show the consumer \
             `messages.phone_invalid` of the [campaign](/docs/endpoints/campaign) beside the phone, also when \
             `validation_failed` names `phone` because it is too short or too long, and use a new Idempotency-Key for the corrected body."
        }
        ReceiptAlreadyAttached => {
            "Each receipt belongs to one submission. You get this when you send a receipt again under a new \
             Idempotency-Key: a retry must keep its key. With a code, the same code and phone return the earlier submission \
             instead."
        }
        ReceiptNotUploaded => {
            "The submission came before the `PUT` of the photo succeeded. Check the status of the `PUT`: 403 means a wrong \
             header or an expired URL. Then send the same request again with the same Idempotency-Key. If the URL expired, \
             [get a fresh one](/docs/endpoints/receipts#refreshUploadUrl)."
        }
        ReceiptRequired => {
            "`capabilities.receipt_required` of the [campaign](/docs/endpoints/campaign) is true. Follow the \
             [receipt steps](/docs/receipts)."
        }
        SentinelWithLiveKey => {
            "A code that starts with `TEST-0-`, or a receipt code that starts with `TEST0`, came with a `svc_live_` key. \
             Test data left in a production form is the usual cause. See [test mode](/docs/sentinels)."
        }
        TypedReceiptUnsupported => {
            "The campaign takes photos only. Show the form for typed receipts only if `capabilities.typed_receipt` of the \
             [campaign](/docs/endpoints/campaign) is true."
        }
        ValidationFailed => {
            "The body is not a JSON object, or a field is missing, has the wrong type or length, or does not fit the \
             campaign. `errors` lists every field at fault with a JSON Pointer; without `field`, the body or the request as \
             a whole is at fault and `message` says why.\n\nCheck the `Content-Type` (`application/json`), that numbers and \
             booleans are not strings, and the size: at most 64 KiB. Unknown fields are ignored, so a misspelt optional \
             field causes no error."
        }
        RateLimited => {
            "A key over its rate limit, or too many pre-checks or look-ups of a phone or address range. Wait for \
             `Retry-After`; [RateLimit headers](/docs/limits#headers) tell you before you get here.\n\nIf consumers are \
             limited together, your server does not send `SVC-Client-IP`. Do not confuse it with the message key \
             `rate_limited`: that is a 200 about one consumer's phone."
        }
        ServiceUnavailable => {
            "More requests arrived than the database takes at once, or it answered too late; it adapts within seconds. Nothing is \
             known to be wrong with your request. Send it again after `Retry-After`, with the same Idempotency-Key. A 503 without an `error` object \
             comes from [API Gateway](/docs/gateway)."
        }
        InternalError => {
            "A failure of the service. Send the same request again with the same Idempotency-Key, after 1, 2, 4, 8 seconds. \
             If it keeps failing, send the `request_id` to your service operator, who finds the cause with it."
        }
    }
}
