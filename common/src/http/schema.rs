//! Text formats that several objects share. They only describe: the objects themselves hold plain text.

#![expect(dead_code, reason = "their schemas are used, never a value")]

use schemars::JsonSchema;

/// A random UUID.
#[derive(JsonSchema)]
#[schemars(inline, extend("format" = "uuid"))]
pub struct Uuid(#[schemars(length(equal = 36))] String);

/// A campaign's slug.
#[derive(JsonSchema)]
#[schemars(inline, example = &"chai-bora-2026")]
pub struct Slug(
    #[schemars(
        length(min = 1, max = 64),
        regex(pattern = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")
    )]
    String,
);

/// The id of a request.
#[derive(JsonSchema)]
#[schemars(inline)]
pub struct RequestId(
    #[schemars(length(min = 1, max = 128), regex(pattern = "^[A-Za-z0-9._+/=-]+$"))] String,
);

/// The reference of a submission.
#[derive(JsonSchema)]
#[schemars(inline, example = &"K7M2-Q9XD")]
pub(super) struct Reference(
    #[schemars(
        length(equal = 9),
        regex(pattern = "^[2-9A-HJKMNP-Z]{4}-[2-9A-HJKMNP-Z]{4}$")
    )]
    String,
);

/// A point in time: UTC, to the millisecond.
#[derive(JsonSchema)]
#[schemars(inline, extend("format" = "date-time"))]
pub(super) struct Time(
    #[schemars(
        length(max = 24),
        regex(pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$")
    )]
    String,
);

/// A day.
#[derive(JsonSchema)]
#[schemars(inline, extend("format" = "date"))]
pub(super) struct Day(
    #[schemars(length(max = 10), regex(pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"))] String,
);

/// The name of a time zone.
#[derive(JsonSchema)]
#[schemars(inline, example = &"Africa/Dar_es_Salaam")]
pub(super) struct TimeZone(
    #[schemars(length(min = 1, max = 64), regex(pattern = "^[A-Za-z0-9_+/-]+$"))] String,
);

/// The key of a product or branch.
#[derive(JsonSchema)]
#[schemars(inline)]
pub(super) struct Key(
    #[schemars(length(min = 1, max = 64), regex(pattern = "^[A-Za-z0-9_-]+$"))] String,
);

/// The name of a field, such as `claimed.items[0].qty`, or of a header.
#[derive(JsonSchema)]
#[schemars(inline)]
pub(super) struct FieldName(
    #[schemars(
        length(min = 1, max = 100),
        regex(pattern = r"^(SVC-Test-Time|[a-z_]+(\[[0-9]+\])?(\.[a-z_]+(\[[0-9]+\])?)*)$")
    )]
    String,
);
