//! Configuration from environment variables. Every error names its variable.

use std::collections::HashMap;
use std::sync::Arc;

use crate::domain::retry::RetrySpeedup;

/// The variables a process was started with, or those of a local stack.
#[derive(Clone, Default)]
pub struct Env(Arc<HashMap<String, String>>);

/// A variable is missing or cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// It is not set.
    #[error("the environment variable {0} is not set")]
    Missing(&'static str),
    /// Its value is not one of those it can have.
    #[error("the environment variable {variable} must be {expected}")]
    Malformed {
        /// Which one.
        variable: &'static str,
        /// What it can be.
        expected: &'static str,
    },
}

impl Env {
    /// The variables of this process.
    pub fn from_process() -> Self {
        std::env::vars().collect()
    }

    /// These variables, with those of `other` in place of their own where it has them.
    #[must_use]
    pub fn overridden_by(mut self, other: Self) -> Self {
        let others = other.0.iter().map(|(name, value)| (name.clone(), value.clone()));
        Arc::make_mut(&mut self.0).extend(others);
        self
    }

    /// A variable's value; empty is the same as not set.
    pub fn optional(&self, name: &str) -> Option<String> {
        self.0.get(name).filter(|value| !value.is_empty()).cloned()
    }

    /// A variable that has to be set.
    ///
    /// # Errors
    /// [`ConfigError::Missing`].
    pub fn required(&self, name: &'static str) -> Result<String, ConfigError> {
        self.optional(name).ok_or(ConfigError::Missing(name))
    }
}

impl FromIterator<(String, String)> for Env {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        Self(Arc::new(pairs.into_iter().collect()))
    }
}

/// What every planned wait between settling steps is divided by: `HASTEN`, a whole number from 1 on; 1
/// when it is not set.
///
/// # Errors
/// Names the variable.
pub fn hasten(env: &Env) -> Result<RetrySpeedup, ConfigError> {
    let malformed = ConfigError::Malformed { variable: HASTEN, expected: "a whole number from 1 to 1000000" };
    match env.optional(HASTEN) {
        None => Ok(RetrySpeedup::default()),
        Some(times) => match times.parse() {
            Ok(times @ 1..=1_000_000) => Ok(RetrySpeedup::by(times)),
            Ok(_) | Err(_) => Err(malformed),
        },
    }
}

/// The variable of [`hasten`].
pub const HASTEN: &str = "HASTEN";

/// What kind of deployment this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Takes live and test keys.
    Production,
    /// Takes test keys alone.
    Staging,
}

impl Stage {
    /// From `STAGE`: `production` or `staging`.
    ///
    /// # Errors
    /// Names the variable.
    pub fn from_env(env: &Env) -> Result<Self, ConfigError> {
        match env.required("STAGE")?.as_str() {
            "production" => Ok(Self::Production),
            "staging" => Ok(Self::Staging),
            _ => Err(ConfigError::Malformed { variable: "STAGE", expected: "`production` or `staging`" }),
        }
    }
}
