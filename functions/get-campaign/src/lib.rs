//! `GET /api/v1/campaign`: the settings that a brand's page needs at first.

use common::config::ConfigError;
use common::error::Error;
use common::http::campaign::CampaignObject;
use common::http::reply::Reply;
use common::http::routes::{self, Route};
use common::runtime::http_handler::{ApiRequest, AppContext, Endpoint};

pub struct GetCampaign;

impl Endpoint for GetCampaign {
    const ROUTE: Route = routes::GET_CAMPAIGN;

    fn connect(_context: &AppContext) -> Result<Self, ConfigError> {
        Ok(Self)
    }

    async fn handle(&self, request: ApiRequest) -> Result<Reply, Error> {
        Reply::ok(&CampaignObject::new(
            &request.campaign,
            request.scope.environment,
            request.language(),
            request.domain_now,
        ))
    }
}
