//! A campaign and one of its environments: the first part of every key, so that a key reaches no
//! other campaign.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

text_enum! {
    pub enum Environment {
        /// Sentinels work; partners and the tax authority are never asked.
        Test = "test",
        Live = "live",
    }
}

impl Environment {
    pub fn is_live(self) -> bool {
        self == Self::Live
    }
}

slug_text! {
    CampaignSlug, "a slug", "chai-bora-2026"
}

impl CampaignSlug {
    pub const MAX_CHARS: usize = 64;

    pub fn scopes(&self) -> [Scope; 2] {
        Environment::ALL.map(|environment| Scope {
            campaign: self.clone(),
            environment,
        })
    }
}

/// 1 to 64 of `a-z`, `0-9` and inner `-`.
pub(super) fn parse_slug(text: &str) -> Option<String> {
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_slug = (1..=CampaignSlug::MAX_CHARS).contains(&text.len())
        && text.chars().all(is_allowed)
        && !text.starts_with('-')
        && !text.ends_with('-');
    is_slug.then(|| text.to_owned())
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Scope {
    pub campaign: CampaignSlug,
    pub environment: Environment,
}

impl Scope {
    /// `campaign#environment#rest`. The first two parts contain no `#`, so scopes never share a
    /// key.
    pub fn key(&self, rest: impl fmt::Display) -> String {
        format!("{self}#{rest}")
    }

    pub fn split_key(key: &str) -> Option<(Self, &str)> {
        let (campaign, rest) = key.split_once('#')?;
        let (environment, rest) = rest.split_once('#')?;
        Some((
            Self {
                campaign: campaign.parse().ok()?,
                environment: environment.parse().ok()?,
            },
            rest,
        ))
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (campaign, environment) = text.split_once('#').ok_or("it is `campaign#environment`")?;
        Ok(Self {
            campaign: campaign.parse()?,
            environment: environment.parse()?,
        })
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.campaign, self.environment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_cannot_smuggle_a_separator_into_a_key() {
        for bad in [
            "",
            "-a",
            "a-",
            "A",
            "a#live",
            "a b",
            "a_b",
            "é",
            &"a".repeat(65),
        ] {
            assert!(bad.parse::<CampaignSlug>().is_err(), "{bad:?} passed");
        }
        let slug: CampaignSlug = "chai-bora-2026".parse().expect("well formed");
        let scope = Scope {
            campaign: slug,
            environment: Environment::Test,
        };
        assert_eq!(scope.key("x"), "chai-bora-2026#test#x");
        assert_eq!(
            Scope::split_key("chai-bora-2026#test#x"),
            Some((scope, "x"))
        );
        assert_eq!(Scope::split_key("chai-bora-2026#staging#x"), None);
    }

    #[test]
    fn a_slug_is_stored_as_it_is_written() {
        let slug: CampaignSlug = "chai-bora-2026".parse().expect("well formed");
        assert_eq!(slug.as_str(), "chai-bora-2026");
        assert_eq!(serde_json::to_value(slug).expect("JSON"), "chai-bora-2026");
    }

    #[test]
    fn only_live_is_live() {
        assert!(Environment::Live.is_live());
        assert!(!Environment::Test.is_live());
    }
}
