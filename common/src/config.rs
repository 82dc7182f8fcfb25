use std::collections::HashMap;
use std::sync::Arc;

use crate::domain::RetrySpeedup;

#[derive(Clone, Default)]
pub struct Env(Arc<HashMap<String, String>>);

/// Errors name the variable.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("the environment variable {0} is not set")]
    Missing(&'static str),
    #[error("the environment variable {variable} must be {expected}")]
    Malformed {
        variable: &'static str,
        expected: &'static str,
    },
}

impl Env {
    pub fn from_process() -> Self {
        std::env::vars().collect()
    }

    /// `other` takes precedence.
    #[must_use]
    pub fn overridden_by(mut self, other: Self) -> Self {
        let others = other
            .0
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()));
        Arc::make_mut(&mut self.0).extend(others);
        self
    }

    /// Empty counts as not set.
    pub fn optional(&self, name: &str) -> Option<String> {
        self.0.get(name).filter(|value| !value.is_empty()).cloned()
    }

    pub fn required(&self, name: &'static str) -> Result<String, ConfigError> {
        self.optional(name).ok_or(ConfigError::Missing(name))
    }
}

impl FromIterator<(String, String)> for Env {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        Self(Arc::new(pairs.into_iter().collect()))
    }
}

pub fn retry_speedup(env: &Env) -> Result<RetrySpeedup, ConfigError> {
    let malformed = ConfigError::Malformed {
        variable: RETRY_SPEEDUP,
        expected: "a whole number from 1 to 1000000",
    };
    match env.optional(RETRY_SPEEDUP).map(|times| times.parse()) {
        None => Ok(RetrySpeedup::default()),
        Some(Ok(times @ 1..=1_000_000)) => Ok(RetrySpeedup::new(times)),
        Some(_) => Err(malformed),
    }
}

pub const RETRY_SPEEDUP: &str = "RETRY_SPEEDUP";

text_enum! {
    pub enum Stage {
        /// Takes live and test keys.
        Production = "production",
        /// Takes test keys only.
        Staging = "staging",
    }
}

impl Stage {
    pub fn from_env(env: &Env) -> Result<Self, ConfigError> {
        let stage = env.required("STAGE")?;
        stage.parse().map_err(|_| ConfigError::Malformed {
            variable: "STAGE",
            expected: "`production` or `staging`",
        })
    }
}
