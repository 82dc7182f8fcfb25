//! Who may use the console: the browser that exchanged the link's token for a cookie, while the console is in use.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use common::domain::timestamp::Timestamp;
use common::random;
use subtle::ConstantTimeEq;

/// Without use for this long, the console ends: its page may be open on an unattended machine.
pub const IDLE_LIMIT: Duration = Duration::from_secs(15 * 60);

/// 32 random bytes as text. It has no `Debug`, so that it is in no log.
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
    /// `None` once it is exchanged.
    token: Mutex<Option<Secret>>,
    last_use: AtomicI64,
}

impl Access {
    /// The access of one run, with the token for its link.
    pub(crate) fn new(port: u16, now: Timestamp) -> (Self, String) {
        let token = Secret::new();
        let in_link = token.0.clone();
        let access = Self {
            // Browsers share cookies between ports, so another console on this machine would overwrite it.
            cookie_name: format!("ops_console_{port}"),
            cookie: Secret::new(),
            token: Mutex::new(Some(token)),
            last_use: AtomicI64::new(now.as_millis()),
        };
        (access, in_link)
    }

    /// The `Set-Cookie` for the token, which is valid once.
    pub(crate) fn trade(&self, given: &str) -> Option<String> {
        let mut token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        if !token.as_ref()?.is(given) {
            return None;
        }
        *token = None;
        let Self { cookie_name, cookie: Secret(cookie), .. } = self;
        Some(format!("{cookie_name}={cookie}; Path=/; HttpOnly; SameSite=Strict"))
    }

    /// Whether a `Cookie` header has this run's cookie.
    pub(crate) fn admits(&self, cookies: &str) -> bool {
        let mut pairs = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == self.cookie_name && self.cookie.is(value))
    }

    pub(crate) fn used(&self, now: Timestamp) {
        self.last_use.store(now.as_millis(), Ordering::Relaxed);
    }

    pub(crate) fn is_idle(&self, now: Timestamp) -> bool {
        now.since(Timestamp::from_millis(self.last_use.load(Ordering::Relaxed))) >= IDLE_LIMIT
    }
}
