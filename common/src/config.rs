//! Configuration from environment variables. Every error names its variable.

use std::collections::HashMap;
use std::sync::Arc;

use crate::domain::retry::RetrySpeedup;

/// The variables of the process, or those of a local stack.
#[derive(Clone, Default)]
pub struct Env(Arc<HashMap<String, String>>);

/// A variable is missing or malformed. The error names it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The variable is not set.
    #[error("the environment variable {0} is not set")]
    Missing(&'static str),
    /// The variable has an invalid value.
    #[error("the environment variable {variable} must be {expected}")]
    Malformed {
        variable: &'static str,
        /// The valid values, in words.
        expected: &'static str,
    },
}

impl Env {
    /// The variables of this process.
    pub fn from_process() -> Self {
        std::env::vars().collect()
    }

    /// These variables, with those of `other` taking precedence.
    #[must_use]
    pub fn overridden_by(mut self, other: Self) -> Self {
        let others = other
            .0
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()));
        Arc::make_mut(&mut self.0).extend(others);
        self
    }

    /// A variable's value; an empty one counts as not set.
    pub fn optional(&self, name: &str) -> Option<String> {
        self.0.get(name).filter(|value| !value.is_empty()).cloned()
    }

    /// A required variable's value.
    pub fn required(&self, name: &'static str) -> Result<String, ConfigError> {
        self.optional(name).ok_or(ConfigError::Missing(name))
    }
}

impl FromIterator<(String, String)> for Env {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        Self(Arc::new(pairs.into_iter().collect()))
    }
}

/// The divisor of all planned waits between settling steps, from `RETRY_SPEEDUP`: a whole number from 1; 1 if not set.
pub fn retry_speedup(env: &Env) -> Result<RetrySpeedup, ConfigError> {
    let malformed = ConfigError::Malformed {
        variable: RETRY_SPEEDUP,
        expected: "a whole number from 1 to 1000000",
    };
    match env.optional(RETRY_SPEEDUP) {
        None => Ok(RetrySpeedup::default()),
        Some(times) => match times.parse() {
            Ok(times @ 1..=1_000_000) => Ok(RetrySpeedup::new(times)),
            Ok(_) | Err(_) => Err(malformed),
        },
    }
}

/// The variable read by [`retry_speedup`].
pub const RETRY_SPEEDUP: &str = "RETRY_SPEEDUP";

/// The kind of deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Takes live and test keys.
    Production,
    /// Takes test keys only.
    Staging,
}

impl Stage {
    /// Reads `STAGE`: `production` or `staging`.
    pub fn from_env(env: &Env) -> Result<Self, ConfigError> {
        match env.required("STAGE")?.as_str() {
            "production" => Ok(Self::Production),
            "staging" => Ok(Self::Staging),
            _ => Err(ConfigError::Malformed {
                variable: "STAGE",
                expected: "`production` or `staging`",
            }),
        }
    }
}
