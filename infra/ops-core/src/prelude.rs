//! Names that several modules use.

pub(crate) use std::collections::{BTreeMap, HashMap, HashSet};
pub(crate) use std::fs::File;
pub(crate) use std::io::{self, Write};
pub(crate) use std::num::NonZeroU64;
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::time::Duration;

pub(crate) use chrono::{DateTime, NaiveDate};
pub(crate) use chrono_tz::Tz;
pub(crate) use clap::{Args, Subcommand, ValueEnum};
pub(crate) use common::aws::photos::Photos;
pub(crate) use common::aws::{Aws, concurrently};
pub(crate) use common::clock::Clock;
pub(crate) use common::config::{ConfigError, Env};
pub(crate) use common::domain::audit::{AuditRow, StoredAuditRow};
pub(crate) use common::domain::campaign::{Campaign, CampaignStatus, CodePolicy, PersonalData};
pub(crate) use common::domain::code::Code;
pub(crate) use common::domain::code_record::{CodeKey, CodeRecord};
pub(crate) use common::domain::codebook::{Batch, BatchStatus, CodeBook, Origin};
pub(crate) use common::domain::contact_log::{
    ContactEvent, ContactLog, ContactState, ContactStep, SkipReason,
};
pub(crate) use common::domain::draw::contact::Contact;
pub(crate) use common::domain::draw::{Draw, DrawName};
pub(crate) use common::domain::ids::{EntrantId, Reference, SubmissionId};
pub(crate) use common::domain::message::MessageKey;
pub(crate) use common::domain::phone::Phone;
pub(crate) use common::domain::receipt::payload::VerificationCode;
pub(crate) use common::domain::receipt::{Receipt, Source};
pub(crate) use common::domain::scope::{CampaignSlug, Environment, Scope};
pub(crate) use common::domain::settling::Assignee;
pub(crate) use common::domain::statistics::{Amount, Counter, Counters, ENTRIES_RANGES, Metric};
pub(crate) use common::domain::submission::approval::{Acceptance, Approval, ProposedChange};
pub(crate) use common::domain::submission::correction::Correction;
pub(crate) use common::domain::submission::{OperatorDecision, State, Submission};
pub(crate) use common::domain::timestamp::Timestamp;
pub(crate) use common::domain::win::{Win, WinStatus};
pub(crate) use common::error::{During, StoreError, UnreadableRecord};
pub(crate) use common::random;
pub(crate) use common::store::campaign_versions::CampaignChange;
pub(crate) use common::store::code_books::CodeBooks;
pub(crate) use common::store::codes::Codes;
pub(crate) use futures_util::{StreamExt, TryStreamExt, stream};
pub(crate) use serde::{Deserialize, Serialize};
pub(crate) use serde_json::{Map, Value, json};

pub(crate) use crate::approvals::Decided;
pub(crate) use crate::audit::{Action, Recorded, validate_reason};
pub(crate) use crate::column::Column;
pub(crate) use crate::failure::{Failure, bail, failure};
pub(crate) use crate::format::{
    aligned, entries_in_words, grouped, joined, lines, local_time, one_guess_in, one_line, or_dash,
    printable, scope_in_words, shortened, span_in_words, visible, zoned_time,
};
pub(crate) use crate::people::PersonRecords;
pub(crate) use crate::problem::{Problem, Problems};
pub(crate) use crate::submissions::Disclosure;
pub(crate) use crate::tables::Tables;
pub(crate) use crate::terminal::{EXIT_FAILURE, Progress, Report, Terminal, unless_interrupted};
pub(crate) use crate::view::{Columns, extended, facts, of_record, table, write_times_out};
pub(crate) use crate::{connection, phones};

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;
