//! The pages, a module each with its routes.

mod campaigns;
mod changes;
pub(crate) mod codes;
mod contact_log;
pub(crate) mod draws;
mod keys;
mod overview;
mod people;
mod prizes;
pub(crate) mod review;
mod search;
pub(crate) mod submission;
pub(crate) mod submissions;
mod webhooks;

use std::panic::AssertUnwindSafe;

use axum::middleware::Next;

use crate::prelude::*;

pub(crate) fn routes() -> Router<Console> {
    Router::new()
        .merge(campaigns::routes())
        .merge(overview::routes())
        .merge(codes::routes())
        .merge(draws::routes())
        .merge(prizes::routes())
        .merge(webhooks::routes())
        .merge(keys::routes())
        .merge(search::routes())
        .merge(submission::routes())
        .merge(submissions::routes())
        .merge(people::routes())
        .merge(changes::routes())
        .merge(review::routes())
}

/// Answers a request even if its page panics: each has its own tables, so no state is left behind.
pub(crate) async fn answer(request: Request, next: Next) -> Response {
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    answered.unwrap_or_else(|_| {
        let message =
            "This is a fault of the console. Report it, and use the command line instead.";
        refusal(
            StatusCode::INTERNAL_SERVER_ERROR,
            "This did not work",
            message,
        )
    })
}

/// Named by a path, such as a [`Scope`](common::domain::scope::Scope) by `{campaign}` and
/// `{environment}`.
pub(crate) struct Named<T>(pub(crate) T);

impl<T> Named<(CampaignSlug, Environment, T)> {
    pub(crate) fn names(self) -> (Scope, T) {
        let Self((campaign, environment, name)) = self;
        let scope = Scope {
            campaign,
            environment,
        };
        (scope, name)
    }
}

impl<S: Send + Sync, T> FromRequestParts<S> for Named<T>
where
    Path<T>: FromRequestParts<S>,
{
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(named)) => Ok(Self(named)),
            Err(_) => Err(page_unknown()),
        }
    }
}
