//! The pages, a module each with its routes.

mod campaigns;
mod changes;
mod codes;
mod draws;
mod overview;
mod people;
pub(crate) mod review;
mod search;
mod submission;

use std::panic::AssertUnwindSafe;

use axum::Router;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{FromRequestParts, RawPathParams, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use common::domain::scope::Scope;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ops_core::failure::Failure;

use crate::failure::{PageError, refusal};
use crate::state::Console;

pub(crate) fn routes() -> Router<Console> {
    Router::new()
        .merge(campaigns::routes())
        .merge(overview::routes())
        .merge(codes::routes())
        .merge(draws::routes())
        .merge(search::routes())
        .merge(submission::routes())
        .merge(people::routes())
        .merge(changes::routes())
        .merge(review::routes())
}

/// Makes a handler of `work`, which gets the console and what `Input` takes from the request.
pub(crate) fn page<Input, Work, Working>(
    work: Work,
) -> impl Fn(State<Console>, Input) -> BoxFuture<'static, Response> + Clone + Send + Sync + 'static
where
    Input: Send + 'static,
    Work: Fn(Console, Input) -> Working + Clone + Send + Sync + 'static,
    Working: Future<Output: IntoResponse> + Send + 'static,
{
    move |State(console), input| {
        let answer = work(console, input).map(IntoResponse::into_response);
        // Every request has its own tables, so a panic leaves nothing behind that others see.
        let answered = AssertUnwindSafe(answer).catch_unwind();
        answered
            .map(|answered| answered.unwrap_or_else(|_| failed()))
            .boxed()
    }
}

fn failed() -> Response {
    let message = "This is a fault of the console. Report it, and use the command line instead.";
    refusal(
        StatusCode::INTERNAL_SERVER_ERROR,
        "This did not work",
        message,
    )
}

/// The campaign and environment in a path with `{slug}` and `{environment}`.
pub(crate) struct InScope(pub(crate) Scope);

impl<S: Send + Sync> FromRequestParts<S> for InScope {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let unknown = |_: String| {
            let message = "this is not a campaign's page; choose a campaign in the list";
            PageError::from(Failure::new("campaign_unknown", message))
        };
        let params = RawPathParams::from_request_parts(parts, state).await;
        let params =
            params.map_err(|rejection: RawPathParamsRejection| unknown(rejection.to_string()))?;
        let part = |wanted| {
            params
                .iter()
                .find(|(name, _)| *name == wanted)
                .map_or("", |(_, value)| value)
        };
        let campaign = part("slug").parse().map_err(unknown)?;
        let environment = part("environment").parse().map_err(unknown)?;
        Ok(Self(Scope {
            campaign,
            environment,
        }))
    }
}
