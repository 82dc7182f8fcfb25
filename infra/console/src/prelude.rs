//! Names that most pages use.

pub(crate) use std::collections::HashMap;
pub(crate) use std::io;
pub(crate) use std::num::NonZeroU64;
pub(crate) use std::time::Duration;

pub(crate) use axum::Router;
pub(crate) use axum::extract::{FromRequestParts, Path, Request};
pub(crate) use axum::http::StatusCode;
pub(crate) use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
pub(crate) use axum::http::request::Parts;
pub(crate) use axum::response::{Html, IntoResponse, Redirect, Response};
pub(crate) use axum::routing::{get, post};
pub(crate) use chrono_tz::Tz;
pub(crate) use common::config::Env;
pub(crate) use common::domain::campaign::{Campaign, CampaignStatus};
pub(crate) use common::domain::codebook::{Batch, BatchStatus};
pub(crate) use common::domain::contact_log::{ContactEvent, ContactState, SkipReason};
pub(crate) use common::domain::draw::contact::Contact;
pub(crate) use common::domain::draw::{Draw, DrawName};
pub(crate) use common::domain::ids::SubmissionId;
pub(crate) use common::domain::phone::Phone;
pub(crate) use common::domain::scope::{CampaignSlug, Environment, Scope};
pub(crate) use common::domain::statistics::{Counters, Metric};
pub(crate) use common::domain::submission::Submission;
pub(crate) use common::domain::timestamp::Timestamp;
pub(crate) use common::random;
pub(crate) use futures_util::FutureExt;
pub(crate) use maud::{DOCTYPE, Markup, html};
pub(crate) use ops_core::audit::validate_reason;
pub(crate) use ops_core::failure::{Failure, bail, failure};
pub(crate) use ops_core::format::{
    entries_in_words, grouped, joined, local_time, or_dash, shortened, span_in_words, visible,
    zoned_time,
};
pub(crate) use ops_core::review::item::ReviewItem;
pub(crate) use ops_core::review::photo::{PhotoCopier, ShownPhoto};
pub(crate) use ops_core::roles::Role;
pub(crate) use ops_core::statistics::aggregate::{Aggregate, by_dimension, records_of};
pub(crate) use ops_core::tables::Tables;
pub(crate) use ops_core::{ConsoleSettings, submissions};

pub(crate) use crate::assets;
pub(crate) use crate::download::{CSV, ZIP, download};
pub(crate) use crate::failure::{
    PageError, PageResult, on_pages, page_message, page_unknown, refusal,
};
pub(crate) use crate::form::{
    Form, MAX_BYTES, Query, TOO_LONG, check_typed, hidden, select, text_field, typed_form,
};
pub(crate) use crate::layout::{
    Page, Section, environment, facts, head, lacks, path_of, pill, table, with_query, with_role,
};
pub(crate) use crate::pages::Named;
pub(crate) use crate::pages::submission::path_of_submission;
pub(crate) use crate::plot::number;
pub(crate) use crate::state::Console;
