//! Names that most pages use.

pub(crate) use std::collections::HashMap;
pub(crate) use std::time::Duration;

pub(crate) use axum::Router;
pub(crate) use axum::http::StatusCode;
pub(crate) use axum::response::{Html, IntoResponse, Redirect, Response};
pub(crate) use axum::routing::{get, post};
pub(crate) use chrono_tz::Tz;
pub(crate) use common::domain::campaign::Campaign;
pub(crate) use common::domain::ids::SubmissionId;
pub(crate) use common::domain::scope::Scope;
pub(crate) use common::domain::submission::Submission;
pub(crate) use common::domain::timestamp::Timestamp;
pub(crate) use maud::{Markup, html};
pub(crate) use ops_core::failure::Failure;
pub(crate) use ops_core::format::{grouped, local_time, or_dash, zoned_time};
pub(crate) use ops_core::tables::Tables;

pub(crate) use crate::failure::PageResult;
pub(crate) use crate::form::{Form, Query, text_field};
pub(crate) use crate::layout::{Page, Section, facts, path_of, pill, table};
pub(crate) use crate::plot::number;
pub(crate) use crate::state::Console;
