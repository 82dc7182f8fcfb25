//! Forms and queries of pages.

use std::convert::Infallible;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::FromRequest;
use axum::http::header::CONNECTION;

use crate::prelude::*;

/// Reasons and names are short.
pub(crate) const MAX_BYTES: usize = 64 * 1024;

/// A page says it before it sends more.
pub(crate) const TOO_LONG: &str = "This is longer than 64 kB, and nothing was changed. Shorten it. A campaign with more, such as \
     hundreds of branches, is applied as a file, with ops campaign apply.";

/// Trimmed fields of a form or query. May hold a phone or a code, so no `Debug`.
#[derive(Default)]
pub(crate) struct Form(HashMap<String, String>);

impl Form {
    pub(crate) fn parse(encoded: &[u8]) -> Self {
        let pairs = form_urlencoded::parse(encoded);
        Self(
            pairs
                .map(|(name, value)| (name.into_owned(), value.trim().to_owned()))
                .collect(),
        )
    }

    pub(crate) fn set(&mut self, name: String, value: String) {
        self.0.insert(name, value.trim().to_owned());
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.get(name).map(String::as_str).unwrap_or_default()
    }
}

impl<S: Send + Sync> FromRequest<S> for Form {
    type Rejection = Response;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Self::Rejection> {
        Ok(Self::parse(&read(request.into_body()).await?))
    }
}

/// Fields of a query; addresses have no phones and no codes.
pub(crate) struct Query(pub(crate) Form);

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(Form::parse(
            parts.uri.query().unwrap_or_default().as_bytes(),
        )))
    }
}

/// Refuses if `word` was not typed.
pub(crate) fn check_typed(form: &Form, word: &str) -> Result<(), Failure> {
    if form.get("typed") == word {
        return Ok(());
    }
    bail!(
        "not_confirmed",
        "nothing was changed; type exactly `{word}` to continue"
    )
}

/// The button works once `word` was typed.
pub(crate) fn typed_form(action: &str, word: &str, button: &str, fields: Markup) -> Markup {
    html! {
        form method="post" action=(action) {
            (fields)
            label for="typed" { "This cannot be undone. Type " code { (word) } " to continue" }
            input #typed name="typed" required autocomplete="off" autocapitalize="off" spellcheck="false" data-word=(word);
            p { button.danger { (button) } }
        }
    }
}

pub(crate) fn text_field(name: &str, label: &str) -> Markup {
    html! {
        label for=(name) { (label) }
        input id=(name) name=(name) required maxlength="500" autocomplete="off";
    }
}

pub(crate) fn hidden(name: &str, value: &str) -> Markup {
    html! { input type="hidden" name=(name) value=(value); }
}

/// `is_required` refuses an empty value.
pub(crate) fn select<'a>(
    name: &str,
    label: &str,
    options: impl IntoIterator<Item = (&'a str, &'a str)>,
    chosen: &str,
    is_required: bool,
) -> Markup {
    html! {
        label for=(name) { (label) }
        select id=(name) name=(name) required[is_required] {
            @for (value, words) in options { option value=(value) selected[value == chosen] { (words) } }
        }
    }
}

pub(crate) async fn text(body: Body) -> Result<String, Response> {
    Ok(String::from_utf8_lossy(&read(body).await?).into_owned())
}

/// The rest of a body that is too long is not read, so the connection ends.
async fn read(body: Body) -> Result<Bytes, Response> {
    to_bytes(body, MAX_BYTES).await.map_err(|_| {
        let mut refused = refusal(StatusCode::PAYLOAD_TOO_LARGE, "Too long", TOO_LONG);
        refused
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
        refused
    })
}
