//! Blocks and unblocks phones, and masks them for display.

use common::domain::phone::Phone;
use common::domain::scope::{CampaignSlug, Environment, Scope};
use common::domain::submission::Submission;
use common::domain::timestamp::Timestamp;

use crate::failure::Failure;
use crate::tables::Tables;

/// Blocks or unblocks a phone in both environments of a campaign; returns whether it was blocked before.
///
/// # Errors
/// When there is no such campaign, or a table does not answer.
pub async fn set_blocked(
    tables: &Tables,
    slug: &CampaignSlug,
    phone: &Phone,
    blocked: bool,
    now: Timestamp,
) -> Result<bool, Failure> {
    let today = now.day_in(tables.campaign(slug).await?.timezone);
    let mut was_blocked = false;
    for environment in Environment::ALL {
        let scope = Scope { campaign: slug.clone(), environment };
        let entrant = tables.entrant_id(&scope, phone).await?;
        was_blocked |= tables.entrants.get(&scope, &entrant, &today).await?.blocked;
        tables.entrants.set_blocked(&scope, &entrant, blocked, now).await?;
    }
    Ok(was_blocked)
}

/// A submission's phone for the screen: masked, which never fails, or the number itself.
///
/// # Errors
/// When the number is asked for, and the operator may not read the deployment's secret, or it is another one.
pub(crate) async fn shown(
    tables: &Tables,
    submission: &Submission,
    in_clear: bool,
) -> Result<String, Failure> {
    Ok(match tables.secrets().phone_of(submission).await {
        Ok(Some(phone)) if in_clear => phone.expose_e164().to_owned(),
        Ok(Some(phone)) => masked(&phone),
        Ok(None) => "erased".to_owned(),
        Err(error) if in_clear => return Err(error.into()),
        Err(_) => "not readable".to_owned(),
    })
}

/// A phone that an operator can recognise and nobody can call: `+2557•••••678`.
pub fn masked(phone: &Phone) -> String {
    /// Country code and first digit.
    const SHOWN_FIRST: usize = 5;
    /// The digits that a consumer reads out to prove that the phone is theirs.
    const SHOWN_LAST: usize = 3;
    let number = phone.expose_e164();
    let hidden = number.len().saturating_sub(SHOWN_FIRST + SHOWN_LAST);
    let first = number.chars().take(SHOWN_FIRST);
    let last = number.chars().skip(SHOWN_FIRST + hidden);
    first.chain(std::iter::repeat_n('•', hidden)).chain(last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_masked_phone_shows_its_ends() {
        let phone: Phone = "0712345678".parse().expect("a phone");
        assert_eq!(masked(&phone), "+2557•••••678");
    }
}
