//! How a limit of requests stands, for callers who want to stay under it.

use std::time::Duration;

/// A limit that a request was counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitStatus {
    /// What it counts: `key`, `address` or `phone`.
    pub name: &'static str,
    /// Requests in one window.
    pub quota: u32,
    /// The window.
    pub window: Duration,
    /// What is left, when it is known.
    pub left: Option<Remaining>,
}

impl RateLimitStatus {
    /// Whether nothing is left; false where that is not known.
    pub fn is_reached(&self) -> bool {
        self.left.is_some_and(|left| left.requests == 0)
    }
}

/// What is left of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remaining {
    /// Requests.
    pub requests: u32,
    /// Until the window ends or, when nothing is left, has room again.
    pub until: Duration,
}
