use common::domain::unicode;

use crate::column::{AFTER_DAMAGE, ColumnType, spreadsheet_damage};
use crate::prelude::*;

/// Lines processed together.
const PART: usize = 1_000;

/// Shown in place of an erased phone.
pub const ERASED: &str = "erased";

pub const PHONES: ColumnType<Phone> = ColumnType {
    invalid: "phone_file_invalid",
    names: ["phone number", "phone numbers"],
    is_heading,
    parse: parse_cell,
};

/// Such as `Phone`, `mobile_number` and `MSISDN`.
fn is_heading(cell: &str) -> bool {
    let lower = cell.to_ascii_lowercase();
    ["phone", "phones", "number", "numbers", "mobile", "msisdn"]
        .iter()
        .any(|word| lower.ends_with(word))
}

fn parse_cell(cell: &str) -> Result<Phone, String> {
    cell.parse().map_err(|_| match spreadsheet_damage(cell) {
        Some(damage) => format!("this is {damage}; {AFTER_DAMAGE}"),
        None if format!("0{cell}").parse::<Phone>().is_ok() => {
            format!("this is a number without its first 0, which spreadsheets drop; {AFTER_DAMAGE}")
        }
        None => {
            "this is not a Tanzanian mobile number; write it such as 0712345678 or +255712345678"
                .to_owned()
        }
    })
}

pub(crate) fn change(blocked: bool) -> Action {
    Action::new(if blocked {
        "phone.block"
    } else {
        "phone.unblock"
    })
}

/// Ids in the test and live environments.
pub(crate) async fn entrant_ids(
    tables: &Tables,
    slug: &CampaignSlug,
    phone: &Phone,
) -> Result<[EntrantId; 2]> {
    let [test, live] = slug.scopes();
    Ok([
        tables.entrant_id(&test, phone).await?,
        tables.entrant_id(&live, phone).await?,
    ])
}

/// Its record has no AWS identity of its own.
pub async fn decision(tables: &Tables, why: String, now: Timestamp) -> Result<OperatorDecision> {
    Ok(OperatorDecision {
        by: tables.audit.operator_in_full().await?,
        identity: None,
        ..tables.audit.decision(why, now).await?
    })
}

/// Returns false if nothing changed.
pub async fn record_and_set_blocked(
    tables: &Tables,
    slug: &CampaignSlug,
    phone: &Phone,
    blocked: bool,
    decision: &OperatorDecision,
) -> Result<bool> {
    let [test, live] = entrant_ids(tables, slug, phone).await?;
    let action = change(blocked).in_campaign(slug).on(live.as_str());
    let action = action.because(decision.why.as_deref().unwrap_or_default());
    let action = action.with(json!({ "entrant_in_test": test.as_str() }));
    tables.audit.append(action, decision.at).await?;
    set_blocked(tables, slug, phone, blocked, decision).await
}

/// Returns false if nothing changed.
pub async fn set_blocked(
    tables: &Tables,
    slug: &CampaignSlug,
    phone: &Phone,
    blocked: bool,
    decision: &OperatorDecision,
) -> Result<bool> {
    let mut changed = false;
    for scope in slug.scopes() {
        let entrant = tables.entrant_id(&scope, phone).await?;
        changed |= if blocked {
            tables
                .entrants
                .block(&scope, &entrant, &phone.masked(), decision)
                .await?
        } else {
            tables.entrants.unblock(&scope, &entrant, decision).await?
        };
    }
    Ok(changed)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    pub changed: u64,
    pub unchanged: u64,
}

impl Changed {
    pub(crate) fn count(&mut self, is_changed: bool) {
        self.changed += u64::from(is_changed);
        self.unchanged += u64::from(!is_changed);
    }
}

/// `phones` was checked; `progress` gets the number done.
pub async fn set_all_blocked(
    tables: &Tables,
    slug: &CampaignSlug,
    phones: &Column<'_, Phone>,
    blocked: bool,
    decision: &OperatorDecision,
    mut progress: impl FnMut(u64),
) -> Result<Changed> {
    let mut done = Changed::default();
    let mut lines = phones.open()?;
    loop {
        let part = lines.next_values(PART)?;
        if part.is_empty() {
            return Ok(done);
        }
        let changes = part
            .iter()
            .map(|phone| set_blocked(tables, slug, phone, blocked, decision));
        for changed in concurrently(changes).await? {
            done.count(changed);
        }
        progress(done.changed + done.unchanged);
    }
}

/// A submission's phone: masked, which never fails, or in full, which needs the deployment's
/// secret.
pub async fn shown(tables: &Tables, submission: &Submission, in_clear: bool) -> Result<String> {
    Ok(match tables.secrets().phone_of(submission).await {
        Ok(Some(phone)) if in_clear => phone.expose_e164().to_owned(),
        Ok(Some(phone)) => phone.masked(),
        Ok(None) => ERASED.to_owned(),
        Err(error) if in_clear => return Err(error.into()),
        Err(_) => "not readable".to_owned(),
    })
}

/// True if digits of any script, separated by anything but letters, make a phone with or without a
/// leading 0 or 255.
pub(crate) fn has_phone(text: &str) -> bool {
    let folded: String = unicode::compatible(text)
        .chars()
        .filter(|c| !unicode::is_format(*c))
        .map(ascii_digit)
        .collect();
    folded.split(char::is_alphabetic).any(|run| {
        let groups: Vec<&str> = run
            .split(|c: char| !c.is_ascii_digit())
            .filter(|group| !group.is_empty())
            .collect();
        (0..groups.len()).any(|begin| {
            let mut digits = String::new();
            groups.iter().skip(begin).any(|group| {
                digits.push_str(group);
                let national = digits.strip_prefix("00").unwrap_or(&digits);
                [national.to_owned(), format!("0{national}")]
                    .iter()
                    .any(|typed| typed.parse::<Phone>().is_ok())
            })
        })
    })
}

fn ascii_digit(c: char) -> char {
    unicode::digit(c)
        .and_then(|value| char::from_digit(value, 10))
        .unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phone_in_a_text_is_found_however_it_is_written() {
        for text in [
            "0712345678",
            "call from 0712 345 678, twice",
            "phone:+255712345678.",
            "+255 (0)712 345 678 or 0712-345-678",
            "2026-03-01 07:00 0712345678",
            "3 times 0712.345.678",
            "+255 (712) 345-678",
            "07 12 34 56 78",
            "00255712345678",
            "712345678",
            "0712/345/678",
            "0712_345_678",
            "o712345678",
            "\u{660}\u{667}\u{661}\u{662}\u{663}\u{664}\u{665}\u{666}\u{667}\u{668}",
            "\u{ff10}\u{ff17}\u{ff11}\u{ff12}\u{ff13}\u{ff14}\u{ff15}\u{ff16}\u{ff17}\u{ff18}",
            "0712\u{2060}345\u{2060}678",
        ] {
            assert!(has_phone(text), "{text}");
        }
        for text in [
            "",
            "Receipt seen",
            "letter of 3 March 2026",
            "letter of 2026-07-12, 14:30",
            "the same as 0198c1d2-7a3b-7f10-9e55-6c0a1b2c3d4e",
            "ref 0712345",
            "07123456789",
            "+2557•••••678",
        ] {
            assert!(!has_phone(text), "{text}");
        }
    }

    #[test]
    fn what_is_no_phone_says_what_became_of_it() {
        assert_eq!(
            parse_cell("0712 345 678").expect("a phone").expose_e164(),
            "+255712345678"
        );
        for (cell, why) in [
            ("712345678", "without its first 0"),
            ("2.55712E+11", "a spreadsheet shortened"),
            ("#REF!", "an error of a spreadsheet"),
            ("+254712345678", "not a Tanzanian mobile number"),
        ] {
            let said = parse_cell(cell).expect_err(cell);
            assert!(
                said.starts_with("this ") && said.contains(why) && !said.contains(cell),
                "{said}"
            );
        }
    }
}
