use ring::hkdf::{HKDF_SHA256, Prk, Salt};

use crate::domain::Scope;
use crate::domain::digest::Digest;
use crate::domain::key_encryption::{DeploymentSecret, TooShort};

/// A secret of its own: the function that settles receipts has no right to the deployment's.
#[derive(Clone)]
pub struct MomentsSecret(Prk);

/// Revealed after the plan; it tells nothing about another plan's.
#[derive(Clone, PartialEq, Eq)]
pub struct PlanSecret([u8; 32]);

impl MomentsSecret {
    /// Ignores surrounding white space, as in a restored file.
    pub fn new(text: &str) -> Result<Self, TooShort> {
        let text = text.trim();
        if text.chars().count() < DeploymentSecret::MIN_CHARS {
            return Err(TooShort);
        }
        Ok(Self(Salt::new(HKDF_SHA256, &[]).extract(text.as_bytes())))
    }

    /// Never `None`: the length is the hash's own.
    pub fn plan_secret(&self, scope: &Scope, plan_name: &str) -> Option<PlanSecret> {
        let info = format!("instant\n{scope}\n{plan_name}");
        let (info, mut bytes) = ([info.as_bytes()], [0; 32]);
        let derived = self.0.expand(&info, HKDF_SHA256);
        derived
            .and_then(|derived| derived.fill(&mut bytes))
            .ok()
            .map(|()| PlanSecret(bytes))
    }
}

impl PlanSecret {
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    pub fn digest(&self) -> Digest {
        Digest::from_parts(&[&self.0])
    }
}

masked_debug!(MomentsSecret);
masked_debug!(PlanSecret);

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by Python's `hmac`. A change loses published plans.
    #[test]
    fn a_plans_secret_never_changes() {
        let secret = MomentsSecret::new(&"m".repeat(64)).expect("long enough");
        let scope: Scope = "demo#live".parse().expect("a scope");
        let plan = secret.plan_secret(&scope, "first").expect("32 bytes");
        assert_eq!(
            hex::encode(plan.expose()),
            "fb83397fadd6a085606d91e8e23609b5d026493accd9245747da5afb77d89485"
        );
        assert_ne!(Some(&plan), secret.plan_secret(&scope, "second").as_ref());
        let test = "demo#test".parse().expect("a scope");
        assert_ne!(Some(&plan), secret.plan_secret(&test, "first").as_ref());
        assert_eq!(format!("{plan:?} {secret:?}"), "*** ***");
        assert!(MomentsSecret::new(&"m".repeat(31)).is_err());
    }
}
