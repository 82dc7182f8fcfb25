//! Names that the modules of draws use.

pub(super) use draw::beacon::Chain;
pub(super) use draw::{Committed, Digest, DrawResult, Header, Opening};

pub(super) use super::files::{
    COMMITMENT, DrawFiles, ENTRIES, HEADER, LOG, NewFolder, OPENINGS, RESULT, unreadable,
};
pub(super) use super::publish::{abandoned, published_in_time, published_late, unpublished};
pub(super) use super::storage_time::storage_time;
pub(super) use super::{chain, freeze_lock};
pub(super) use crate::prelude::*;
