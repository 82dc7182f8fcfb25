//! The Campaign object.

use common::domain::campaign::CampaignStatus;
use common::domain::receipt::photo::{MAX_BYTES, PhotoType};
use serde_json::Value;

use super::super::schema::{
    KEY, field, integer, link, list, map, object, one_of, one_of_plain, or_null, such_as, switch, text, time,
    words,
};

/// The schemas of a campaign.
pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let types: Vec<&str> = PhotoType::ALL.iter().map(|of| of.media_type()).collect();
    vec![
        ("Campaign", campaign()),
        (
            "CampaignStatus",
            one_of(
                "Whether the campaign takes entries at the time of the request.",
                &CampaignStatus::ALL,
                status_meaning,
            ),
        ),
        ("PhotoType", one_of_plain("Media type of a photo.", &types)),
        ("CampaignReceipt", receipt()),
        ("ProductRange", range()),
        ("Product", product()),
        ("Branch", branch()),
    ]
}

fn status_meaning(status: CampaignStatus) -> &'static str {
    match status {
        CampaignStatus::Live => "Entries are taken.",
        CampaignStatus::Paused => "The operator paused the campaign. Submissions answer `campaign_paused`.",
        CampaignStatus::NotStarted => {
            "The entry window has not started. Submissions answer `campaign_not_started`."
        }
        CampaignStatus::Ended => "The entry window is over. Submissions answer `campaign_ended`.",
    }
}

fn campaign() -> Value {
    object(
        "What your page needs before it asks the consumer for anything.",
        vec![
            field("slug", "Campaign slug.", slug()),
            field("name", "Campaign name to show.", such_as("Chai Bora Shinda", words(120))),
            field("brand", "Brand name to show.", such_as("Chai Bora", words(120))),
            field("livemode", "`false` with a test key.", switch()),
            field(
                "status",
                "Current status, computed from the pause switch and the entry window on each request.",
                link("CampaignStatus"),
            ),
            field(
                "window",
                "Entry window.",
                object(
                    "Entry window.",
                    vec![
                        field("start", "Start of the entry window, or null.", or_null(time())),
                        field("end", "End of the entry window (exclusive), or null.", or_null(time())),
                    ],
                ),
            ),
            field("timezone", "IANA time zone in which days and limits are counted.", timezone()),
            field(
                "capabilities",
                "What a submission must carry.",
                object(
                    "What a submission must carry.",
                    vec![
                        field(
                            "precheck",
                            "Whether [`POST /api/v1/codes/check`](/docs/endpoints/codes#checkCode) can judge codes of this campaign.",
                            switch(),
                        ),
                        field("code_required", "Whether every submission needs a `code`.", switch()),
                        field("receipt_required", "Whether every submission needs a `receipt_id`.", switch()),
                        field("typed_receipt", "Whether receipts of type `typed` are accepted.", switch()),
                    ],
                ),
            ),
            field(
                "limits",
                "Submissions per phone. Further ones end in `daily_limit` or `entry_limit`. Rejected submissions do not count.",
                object(
                    "Submissions per phone; null means no limit.",
                    vec![
                        field("phone_daily", "Per day, in the campaign's time zone.", limit()),
                        field("phone_total", "Over the whole campaign.", limit()),
                    ],
                ),
            ),
            field(
                "receipt",
                "Receipt settings, or null if the campaign takes no receipts.",
                or_null(link("CampaignReceipt")),
            ),
            field(
                "messages",
                "Text for every message key in the request's language, including the campaign's own wording.",
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
        "Receipt settings of a campaign, and the products and shops to choose from.",
        vec![
            field("max_bytes", "Maximum photo size in bytes.", integer(1, MAX_BYTES)),
            field("accepted_types", "Accepted photo types.", list(10, link("PhotoType"))),
            field("ranges", "Product ranges, for grouping.", list(50, link("ProductRange"))),
            field(
                "products",
                "Participating products. If empty, any purchase counts.",
                list(200, link("Product")),
            ),
            field("branches", "Participating shops. If empty, any shop counts.", list(500, link("Branch"))),
            field("draw_period", "How often the draw takes place, as text, or null.", or_null(words(120))),
        ],
    )
}

fn range() -> Value {
    object(
        "A product range.",
        vec![
            field("name", "Name of the range.", words(120)),
            field("tag", "Short tag line, or null.", or_null(words(120))),
        ],
    )
}

fn product() -> Value {
    object(
        "A participating product.",
        vec![
            field("key", "Product key; send it as `claimed.items[].key`.", text(1, 64, KEY)),
            field("range", "Name of its range.", words(120)),
            field("label", "Short label, for a tile.", words(40)),
            field("name", "Full product name.", words(120)),
            field("color", "Tile colour, or null.", or_null(words(40))),
            field("image", "Image path, or null.", or_null(words(500))),
        ],
    )
}

fn branch() -> Value {
    object(
        "A participating shop.",
        vec![
            field(
                "key",
                "Shop key, unique in the campaign. `receipt.branch` of a submission names it.",
                text(1, 64, KEY),
            ),
            field("name", "Shop name.", words(120)),
            field("city", "City.", words(120)),
            field("merchant", "Merchant that the shop belongs to.", words(120)),
        ],
    )
}
