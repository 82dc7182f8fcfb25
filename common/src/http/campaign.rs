use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::campaign::CampaignStatus;
use crate::domain::message::TextKey;
use crate::domain::receipt::photo::MAX_BYTES;
use crate::domain::receipt::rules::{Branch, Product, ProductRange, ReceiptRules};
use crate::domain::{
    Campaign, CodePolicy, Environment, Language, PhoneLimits, PhotoType, Timestamp,
};
use crate::http::schema::{Key, Slug, Time, TimeZone};

/// What your page needs before it asks the consumer for anything.
#[derive(Serialize, JsonSchema)]
#[schemars(
    rename = "Campaign",
    // With `instant`, which is not among the required ones.
    extend("x-order" = ["slug", "name", "brand", "livemode", "status", "window", "timezone", "capabilities", "limits", "receipt", "consent", "instant", "messages"]),
)]
pub struct CampaignObject<'a> {
    /// Campaign slug.
    #[schemars(with = "Slug")]
    slug: &'a str,
    /// Campaign name to show.
    #[schemars(length(max = 120), example = "Chai Bora Shinda")]
    name: &'a str,
    /// Brand name to show.
    #[schemars(length(max = 120), example = "Chai Bora")]
    brand: &'a str,
    /// `false` with a test key.
    livemode: bool,
    /// Current status, computed from the pause switch and the entry window on each request.
    status: CampaignStatus,
    /// Entry window.
    window: WindowObject,
    /// IANA time zone in which days and limits are counted.
    #[schemars(with = "TimeZone")]
    timezone: &'a str,
    /// What a submission must carry.
    capabilities: Capabilities,
    /// Submissions per phone. Further ones end in `daily_limit` or `entry_limit`. Rejected submissions do not count.
    limits: PhoneLimits,
    /// Receipt settings, or null if the campaign takes no receipts.
    receipt: Option<ReceiptBlock<'a>>,
    /// Text that the consumer agrees to, or null if the campaign has none of its own.
    consent: Option<ConsentTextObject<'a>>,
    /// Prizes given at winning moments, which were committed to before the first. Absent if the campaign has none.
    #[schemars(with = "InstantObject<'a>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    instant: Option<InstantObject<'a>>,
    /// Text for every message key in the request's language, including the campaign's own wording. Two more are for your
    /// form: `phone_invalid` and `consent_required`.
    #[schemars(with = "BTreeMap<String, String>", extend(
        "maxProperties" = 100,
        "propertyNames" = { "pattern": "^[a-z][a-z0-9_]*$", "maxLength": 64 },
        "additionalProperties" = { "type": "string", "maxLength": 320 },
    ))]
    messages: BTreeMap<TextKey, &'a str>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct WindowObject {
    /// Start of the entry window, or null.
    #[schemars(with = "Option<Time>")]
    start: Option<String>,
    /// End of the entry window (exclusive), or null.
    #[schemars(with = "Option<Time>")]
    end: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct ConsentTextObject<'a> {
    /// Version of the text. Send it as `consent_version`.
    #[schemars(length(min = 1, max = 40))]
    version: &'a str,
    /// The text in the request's language.
    #[schemars(length(min = 1, max = 2_000))]
    text: &'a str,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct InstantObject<'a> {
    /// Commitment to the plan, 64 hexadecimal digits: anyone can check the plan with it once it is over.
    #[schemars(length(min = 64, max = 64), regex(pattern = "^[0-9a-f]{64}$"))]
    commitment: String,
    /// The prizes in words.
    #[schemars(
        length(max = 20),
        inner(length(min = 1, max = 120), regex(pattern = r"^\S(.*\S)?$"))
    )]
    prizes: &'a [String],
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Capabilities {
    /// Whether [`POST /api/v1/codes/check`](/docs/endpoints/codes#checkCode) can judge codes of this campaign.
    precheck: bool,
    /// Whether every submission needs a `code`.
    code_required: bool,
    /// Whether every submission needs a `receipt_id`.
    receipt_required: bool,
    /// Whether receipts of type `typed` are accepted.
    typed_receipt: bool,
}

/// Receipt settings of a campaign, and the products and shops to choose from.
// Callers do not see how a shop or a product is recognized.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CampaignReceipt")]
struct ReceiptBlock<'a> {
    /// Maximum photo size in bytes.
    #[schemars(range(min = 1, max = MAX_BYTES))]
    max_bytes: u64,
    /// Accepted photo types.
    #[schemars(with = "Vec<PhotoType>", length(max = 10))]
    accepted_types: [PhotoType; 3],
    /// Product ranges, for grouping.
    #[schemars(length(max = 50))]
    ranges: &'a [ProductRange],
    /// Participating products. If empty, any purchase counts.
    #[schemars(length(max = 200))]
    products: Vec<ProductObject<'a>>,
    /// Participating shops. If empty, any shop counts.
    #[schemars(length(max = 500))]
    branches: Vec<BranchObject<'a>>,
    /// How often the draw takes place, as text, or null.
    #[schemars(length(max = 120))]
    draw_period: Option<&'a str>,
}

/// A participating product.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Product")]
struct ProductObject<'a> {
    /// Product key; send it as `claimed.items[].key`.
    #[schemars(with = "Key")]
    key: &'a str,
    /// Name of its range.
    #[schemars(length(max = 120))]
    range: &'a str,
    /// Short label, for a tile.
    #[schemars(length(max = 40))]
    label: &'a str,
    /// Full product name.
    #[schemars(length(max = 120))]
    name: &'a str,
    /// Tile colour, or null.
    #[schemars(length(max = 40))]
    color: Option<&'a str>,
    /// Image path, or null.
    #[schemars(length(max = 500))]
    image: Option<&'a str>,
}

/// A participating shop.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Branch")]
struct BranchObject<'a> {
    /// Shop key, unique in the campaign. `receipt.branch` of a submission names it.
    #[schemars(with = "Key")]
    key: &'a str,
    /// Shop name.
    #[schemars(length(max = 120))]
    name: &'a str,
    /// City.
    #[schemars(length(max = 120))]
    city: &'a str,
    /// Merchant that the shop belongs to.
    #[schemars(length(max = 120))]
    merchant: &'a str,
}

impl<'a> ReceiptBlock<'a> {
    fn new(rules: &'a ReceiptRules) -> Self {
        let product = |product: &'a Product| ProductObject {
            key: &product.key,
            range: &product.range,
            label: &product.label,
            name: &product.name,
            color: product.color.as_deref(),
            image: product.image.as_deref(),
        };
        let branch = |branch: &'a Branch| BranchObject {
            key: &branch.key,
            name: &branch.name,
            city: &branch.city,
            merchant: &branch.merchant,
        };
        Self {
            max_bytes: MAX_BYTES,
            accepted_types: PhotoType::ALL,
            ranges: &rules.ranges,
            products: rules.products.iter().map(product).collect(),
            branches: rules.branches.iter().map(branch).collect(),
            draw_period: rules.draw_period.as_deref(),
        }
    }
}

impl<'a> CampaignObject<'a> {
    pub fn new(
        campaign: &'a Campaign,
        environment: Environment,
        language: Language,
        now: Timestamp,
    ) -> Self {
        let copy = |key| (key, campaign.messages.text(key, language));
        Self {
            slug: campaign.slug.as_str(),
            name: &campaign.name,
            brand: &campaign.brand,
            livemode: environment.is_live(),
            status: campaign.status(now),
            window: WindowObject {
                start: campaign.window.start.map(|start| start.to_string()),
                end: campaign.window.end.map(|end| end.to_string()),
            },
            timezone: campaign.timezone.name(),
            capabilities: Capabilities {
                precheck: campaign.code == CodePolicy::Service,
                code_required: campaign.needs_code(),
                receipt_required: campaign.needs_receipt(),
                typed_receipt: campaign.takes_typed_receipts(),
            },
            limits: campaign.limits,
            receipt: campaign.receipt.as_ref().map(ReceiptBlock::new),
            consent: campaign.consent.as_ref().map(|consent| ConsentTextObject {
                version: &consent.version,
                text: match language {
                    Language::En => &consent.en,
                    Language::Sw => &consent.sw,
                },
            }),
            instant: campaign
                .instant_plan(environment)
                .map(|plan| InstantObject {
                    commitment: plan.commitment.to_string(),
                    prizes: &plan.prizes,
                }),
            messages: TextKey::all().map(copy).collect(),
        }
    }
}
