//! The Campaign object.

use common::domain::campaign::CampaignStatus;
use common::domain::receipt::photo::{MAX_BYTES, PhotoType};
use serde_json::Value;

use super::super::schema::{
    KEY, field, integer, link, list, map, object, one_of, or_null, such_as, switch, text, time, words,
};

/// The schemas of a campaign.
pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let types: Vec<&str> = PhotoType::ALL.iter().map(|of| of.media_type()).collect();
    vec![
        ("Campaign", campaign()),
        (
            "CampaignStatus",
            one_of("Whether entries are taken at the time of the request.", &CampaignStatus::ALL),
        ),
        ("PhotoType", one_of("The type of a photo's file.", &types)),
        ("CampaignReceipt", receipt()),
        ("ProductRange", range()),
        ("Product", product()),
        ("Branch", branch()),
    ]
}

fn campaign() -> Value {
    object(
        "What a page needs to know before it asks a consumer for anything.",
        vec![
            field("slug", "The campaign's name in requests and logs.", slug()),
            field("name", "The campaign's name for people.", such_as("Chai Bora Shinda", words(120))),
            field("brand", "The brand that it belongs to.", such_as("Chai Bora", words(120))),
            field("livemode", "False with a test key.", switch()),
            field(
                "status",
                "Whether entries are taken right now: what the clock and the pause switch say.",
                link("CampaignStatus"),
            ),
            field(
                "window",
                "When entries are taken.",
                object(
                    "When entries are taken.",
                    vec![
                        field("start", "From when on; null when it has no start.", or_null(time())),
                        field("end", "Until when, not included; null when it has no end.", or_null(time())),
                    ],
                ),
            ),
            field("timezone", "The IANA time zone whose days the limits go by.", timezone()),
            field(
                "capabilities",
                "What the campaign needs from you.",
                object(
                    "What the campaign needs from you.",
                    vec![
                        field("precheck", "Whether a pre-check can judge codes here.", switch()),
                        field("code_required", "Whether every submission must carry `code`.", switch()),
                        field(
                            "receipt_required",
                            "Whether every submission must carry `receipt_id`.",
                            switch(),
                        ),
                        field("typed_receipt", "Whether receipts of type `typed` are taken.", switch()),
                    ],
                ),
            ),
            field(
                "limits",
                "How many submissions of one phone count. Beyond, the outcome is `daily_limit` or `entry_limit`.",
                object(
                    "How many submissions of one phone count; null is no limit.",
                    vec![
                        field("phone_daily", "In one day of the campaign's time zone.", limit()),
                        field("phone_total", "In the whole campaign.", limit()),
                    ],
                ),
            ),
            field(
                "receipt",
                "What it asks of receipts; null when it takes none.",
                or_null(link("CampaignReceipt")),
            ),
            field(
                "messages",
                "The copy for every message key, in the language of the request, with the campaign's own words.",
                map(100, "^[a-z][a-z0-9_]*$", 320),
            ),
        ],
    )
}

/// A campaign's slug.
pub(in super::super) fn slug() -> Value {
    such_as("chai-bora-2026", text(1, 64, "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"))
}

/// The name of a time zone.
pub(super) fn timezone() -> Value {
    such_as("Africa/Dar_es_Salaam", text(1, 64, "^[A-Za-z0-9_+/-]+$"))
}

fn limit() -> Value {
    or_null(integer(0, 4_294_967_295))
}

fn receipt() -> Value {
    object(
        "What a campaign asks of receipts, and what it offers for choosing from.",
        vec![
            field("max_bytes", "The largest photo, in bytes.", integer(1, MAX_BYTES)),
            field("accepted_types", "The types of photos that are taken.", list(10, link("PhotoType"))),
            field("ranges", "Groups of products.", list(50, link("ProductRange"))),
            field(
                "products",
                "The products that take part; any purchase counts when there are none.",
                list(200, link("Product")),
            ),
            field(
                "branches",
                "The shops that take part; any shop counts when there are none.",
                list(500, link("Branch")),
            ),
            field("draw_period", "The rhythm of the draw, in words.", or_null(words(120))),
        ],
    )
}

fn range() -> Value {
    object(
        "A group of products.",
        vec![
            field("name", "Its name.", words(120)),
            field("tag", "A short line about it.", or_null(words(120))),
        ],
    )
}

fn product() -> Value {
    object(
        "A product that takes part.",
        vec![
            field("key", "What you send as `claimed.items[].key`.", text(1, 64, KEY)),
            field("range", "The range that it belongs to, by name.", words(120)),
            field("label", "A short label, for a tile.", words(40)),
            field("name", "Its full name.", words(120)),
            field("color", "A colour for its tile.", or_null(words(40))),
            field("image", "The path of its image.", or_null(words(500))),
        ],
    )
}

fn branch() -> Value {
    object(
        "A shop that takes part.",
        vec![
            field("key", "Its key.", text(1, 64, KEY)),
            field("name", "Its name.", words(120)),
            field("city", "Its city.", words(120)),
            field("merchant", "The merchant that it belongs to.", words(120)),
        ],
    )
}
