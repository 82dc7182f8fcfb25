//! `GET /api/v1/campaign`: what a brand's page needs to know before it asks the consumer anything.

use std::collections::BTreeMap;

use common::config::ConfigError;
use common::domain::campaign::{Campaign, CampaignStatus, CodePolicy, PhoneLimits};
use common::domain::message::{Language, MessageKey};
use common::domain::receipt::photo::{MAX_BYTES, PhotoType};
use common::domain::receipt::rules::{Branch, Product, ProductRange, ReceiptRules};
use common::domain::timestamp::Timestamp;
use common::error::Error;
use common::http::reply::Reply;
use common::http::routes::{self, Route};
use common::runtime::http_handler::{ApiRequest, AppContext, Endpoint};
use serde::Serialize;

/// The operation. What it answers with is read with the key already.
pub struct GetCampaign;

impl Endpoint for GetCampaign {
    const ROUTE: Route = routes::GET_CAMPAIGN;

    fn connect(_setup: &AppContext) -> Result<Self, ConfigError> {
        Ok(Self)
    }

    async fn handle(&self, call: ApiRequest) -> Result<Reply, Error> {
        let livemode = call.scope.environment.is_live();
        Reply::ok(&CampaignObject::new(&call.campaign, livemode, call.language(), call.now))
    }
}

/// A campaign as callers see it.
#[derive(Serialize)]
struct CampaignObject<'a> {
    slug: &'a str,
    name: &'a str,
    brand: &'a str,
    livemode: bool,
    status: CampaignStatus,
    window: WindowObject,
    timezone: &'a str,
    capabilities: Capabilities,
    limits: PhoneLimits,
    receipt: Option<ReceiptBlock<'a>>,
    messages: BTreeMap<MessageKey, &'a str>,
}

#[derive(Serialize)]
struct WindowObject {
    start: Option<String>,
    end: Option<String>,
}

#[derive(Serialize)]
struct Capabilities {
    precheck: bool,
    code_required: bool,
    receipt_required: bool,
    typed_receipt: bool,
}

/// What a campaign asks of receipts, as callers see it: not how a branch or a product is recognised.
#[derive(Serialize)]
struct ReceiptBlock<'a> {
    max_bytes: u64,
    accepted_types: [&'static str; 3],
    ranges: &'a [ProductRange],
    products: Vec<ProductObject<'a>>,
    branches: Vec<BranchObject<'a>>,
    draw_period: Option<&'a str>,
}

#[derive(Serialize)]
struct ProductObject<'a> {
    key: &'a str,
    range: &'a str,
    label: &'a str,
    name: &'a str,
    color: Option<&'a str>,
    image: Option<&'a str>,
}

#[derive(Serialize)]
struct BranchObject<'a> {
    key: &'a str,
    name: &'a str,
    city: &'a str,
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
            accepted_types: PhotoType::ALL.map(PhotoType::media_type),
            ranges: &rules.ranges,
            products: rules.products.iter().map(product).collect(),
            branches: rules.branches.iter().map(branch).collect(),
            draw_period: rules.draw_period.as_deref(),
        }
    }
}

impl<'a> CampaignObject<'a> {
    fn new(campaign: &'a Campaign, livemode: bool, language: Language, now: Timestamp) -> Self {
        let copy = |key: &MessageKey| (*key, campaign.messages.text(*key, language));
        Self {
            slug: campaign.slug.as_str(),
            name: &campaign.name,
            brand: &campaign.brand,
            livemode,
            status: campaign.status(now),
            window: WindowObject {
                start: campaign.window.start.map(|start| start.to_string()),
                end: campaign.window.end.map(|end| end.to_string()),
            },
            timezone: campaign.timezone.name(),
            capabilities: Capabilities {
                precheck: match campaign.code {
                    CodePolicy::Service => true,
                    CodePolicy::Partner | CodePolicy::None => false,
                },
                code_required: campaign.needs_code(),
                receipt_required: campaign.needs_receipt(),
                typed_receipt: campaign.takes_typed_receipts(),
            },
            limits: campaign.limits,
            receipt: campaign.receipt.as_ref().map(ReceiptBlock::new),
            messages: MessageKey::ALL.iter().map(copy).collect(),
        }
    }
}
