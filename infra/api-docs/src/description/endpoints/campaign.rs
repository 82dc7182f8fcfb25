//! `GET /api/v1/campaign`.

use common::http::routes;
use serde_json::Value;

use super::{Endpoint, Reply};
use crate::description::examples::{self, Example};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![Endpoint {
        route: routes::GET_CAMPAIGN,
        id: "getCampaign",
        tag: "Campaign",
        summary: "Read the campaign",
        description: "Read it when your page loads. It says whether a code or a receipt is needed, which products and \
                      shops to offer, and has the text for every message.",
        parameters: Vec::new(),
        request: None,
        reply: Reply {
            description: "The campaign of the API key.",
            schema: "Campaign",
            examples: vec![
                Example::new("codes", "Campaign with codes", examples::campaign(false)),
                Example::new(
                    "receipts",
                    "Campaign with receipts",
                    examples::campaign(true),
                ),
            ],
            can_be_replayed: false,
            links: Value::Null,
        },
        refusals: Vec::new(),
    }]
}
