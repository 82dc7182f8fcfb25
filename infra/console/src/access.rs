//! Access to the console: only the browser that exchanged the link's token for a cookie, while the
//! console is in use.

use std::sync::atomic::{AtomicI64, Ordering};

use common::lock::Mutex;
use subtle::ConstantTimeEq;
use tempfile::TempDir;
use tokio::sync::Notify;

use crate::prelude::*;

/// Idle time before the end: the page may be open on an unattended machine.
pub const IDLE_LIMIT: Duration = Duration::from_secs(15 * 60);

/// 32 random bytes as text; no `Debug`, so that no log has it.
struct Secret(String);

impl Secret {
    fn new() -> Self {
        Self(hex::encode(random::bytes::<32>()))
    }

    /// Compares in constant time.
    fn is(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

pub(crate) struct Access {
    cookie_name: String,
    cookie: Secret,
    token: Secret,
    link: Mutex<Link>,
    presented_again: Notify,
    last_use: AtomicI64,
}

enum Link {
    /// Has the redirecting page's folder, if a browser was opened.
    Unused(Option<TempDir>),
    Used,
}

pub(crate) enum Trade {
    Cookie(String),
    /// Exchanged before, so another person has it, and the console ends.
    PresentedAgain,
    Wrong,
}

impl Access {
    pub(crate) fn new(port: u16, now: Timestamp) -> (Self, String) {
        let token = Secret::new();
        let in_link = token.0.clone();
        let access = Self {
            // Browsers share cookies between ports; another console would overwrite it.
            cookie_name: format!("ops_console_{port}"),
            cookie: Secret::new(),
            token,
            link: Mutex::new(Link::Unused(None)),
            presented_again: Notify::new(),
            last_use: AtomicI64::new(now.as_millis()),
        };
        (access, in_link)
    }

    pub(crate) fn keep(&self, page: TempDir) {
        let mut link = self.link.lock();
        if let Link::Unused(kept) = &mut *link {
            *kept = Some(page);
        }
    }

    pub(crate) fn close_link(&self) {
        *self.link.lock() = Link::Used;
    }

    /// Exchanges the token, which is valid once.
    pub(crate) fn trade(&self, given: &str) -> Trade {
        if !self.token.is(given) {
            return Trade::Wrong;
        }
        match std::mem::replace(&mut *self.link.lock(), Link::Used) {
            Link::Unused(_) => {
                let Self {
                    cookie_name,
                    cookie: Secret(cookie),
                    ..
                } = self;
                Trade::Cookie(format!(
                    "{cookie_name}={cookie}; Path=/; HttpOnly; SameSite=Strict"
                ))
            }
            Link::Used => {
                self.presented_again.notify_one();
                Trade::PresentedAgain
            }
        }
    }

    pub(crate) async fn presented_again(&self) {
        self.presented_again.notified().await;
    }

    pub(crate) fn admits(&self, cookies: &str) -> bool {
        let mut pairs = cookies
            .split(';')
            .filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == self.cookie_name && self.cookie.is(value))
    }

    pub(crate) fn used(&self, now: Timestamp) {
        self.last_use.store(now.as_millis(), Ordering::Relaxed);
    }

    pub(crate) fn is_idle(&self, now: Timestamp) -> bool {
        now.since(Timestamp::from_millis(
            self.last_use.load(Ordering::Relaxed),
        )) >= IDLE_LIMIT
    }
}
