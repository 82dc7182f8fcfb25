//! Names that most modules use.

pub(crate) use std::collections::{BTreeMap, HashMap, HashSet};
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::time::Duration;

pub(crate) use chrono::NaiveDate;
pub(crate) use chrono_tz::Tz;
pub(crate) use clap::Args;
pub(crate) use common::aws::{Aws, concurrently};
pub(crate) use common::clock::Clock;
pub(crate) use common::config::{ConfigError, Env};
pub(crate) use common::domain::campaign::{Campaign, PersonalData};
pub(crate) use common::domain::code_record::CodeKey;
pub(crate) use common::domain::codebook::{Batch, BatchStatus, CodeBook};
pub(crate) use common::domain::draw::DrawName;
pub(crate) use common::domain::draw::contact::Contact;
pub(crate) use common::domain::ids::{Reference, SubmissionId};
pub(crate) use common::domain::message::MessageKey;
pub(crate) use common::domain::phone::Phone;
pub(crate) use common::domain::receipt::Receipt;
pub(crate) use common::domain::receipt::payload::VerificationCode;
pub(crate) use common::domain::scope::{CampaignSlug, Environment, Scope};
pub(crate) use common::domain::statistics::{Counters, Metric};
pub(crate) use common::domain::submission::{OperatorDecision, State, Submission};
pub(crate) use common::domain::timestamp::Timestamp;
pub(crate) use common::error::StoreError;
pub(crate) use serde::Serialize;
pub(crate) use serde_json::{Map, Value, json};

pub(crate) use crate::audit::{Action, validate_reason};
pub(crate) use crate::connection;
pub(crate) use crate::failure::Failure;
pub(crate) use crate::failure::{bail, failure};
pub(crate) use crate::format::{
    grouped, lines, local_time, or_dash, printable, scope_in_words, table, zoned_time,
};
pub(crate) use crate::tables::Tables;
pub(crate) use crate::terminal::{Progress, Report, Terminal};
pub(crate) use crate::view::{extended, of_record};

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;
