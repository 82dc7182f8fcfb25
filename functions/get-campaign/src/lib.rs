//! `GET /api/v1/campaign`: what a brand's page needs to know before it asks the consumer anything.

use std::collections::BTreeMap;

use common::config::ConfigError;
use common::domain::campaign::{Campaign, CampaignStatus, CodePolicy, PhoneLimits};
use common::domain::message::{Language, MessageKey};
use common::domain::moment::Moment;
use common::error::Error;
use common::http::function::{Call, Operation, Setup};
use common::http::reply::Reply;
use common::http::routes::{self, Route};
use serde::Serialize;

/// The operation. What it answers with came through the gate already.
pub struct GetCampaign;

impl Operation for GetCampaign {
    const ROUTE: Route = routes::GET_CAMPAIGN;

    fn connect(_setup: &Setup) -> Result<Self, ConfigError> {
        Ok(Self)
    }

    async fn handle(&self, call: Call) -> Result<Reply, Error> {
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
    receipt: Option<()>,
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

impl<'a> CampaignObject<'a> {
    fn new(campaign: &'a Campaign, livemode: bool, language: Language, now: Moment) -> Self {
        let copy = |key: &MessageKey| (*key, campaign.messages.copy(*key, language));
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
                    CodePolicy::None => false,
                },
                code_required: campaign.needs_code(),
                receipt_required: false,
                typed_receipt: false,
            },
            limits: campaign.limits,
            receipt: None,
            messages: MessageKey::ALL.iter().map(copy).collect(),
        }
    }
}
