//! `ops phone`.

use common::config::Env;
use common::domain::phone::Phone;
use common::domain::timestamp::Timestamp;
use serde_json::json;

use crate::cli::{PhoneArgs, PhoneCommand};
use crate::connection;
use crate::console::Report;
use crate::failure::Failure;
use crate::phones::{masked, set_blocked};

pub(crate) async fn run(command: PhoneCommand, env: &Env, now: Timestamp) -> Result<Report, Failure> {
    let (PhoneArgs { campaign, phones }, blocked) = match command {
        PhoneCommand::Block(args) => (args, true),
        PhoneCommand::Unblock(args) => (args, false),
    };
    let phones = parse(&phones)?;
    let tables = connection::tables(env).await?;
    let mut text = String::new();
    for phone in &phones {
        let was_blocked = set_blocked(&tables, &campaign, phone, blocked, now).await?;
        let word = match (was_blocked, blocked) {
            (false, true) => "blocked",
            (true, true) => "was blocked already",
            (true, false) => "unblocked",
            (false, false) => "was not blocked",
        };
        text.push_str(&format!("{} {word} in {campaign}, test and live\n", masked(phone)));
    }
    let phones: Vec<_> = phones.iter().map(masked).collect();
    Ok(Report::new(json!({ "campaign": campaign, "phones": phones, "blocked": blocked }), text))
}

/// Parses phones from arguments: a number typed with spaces takes several.
fn parse(arguments: &[String]) -> Result<Vec<Phone>, Failure> {
    let mut phones = Vec::new();
    let mut typed = String::new();
    // The argument at which the current phone begins.
    let mut begin = 1;
    for (number, argument) in (1..).zip(arguments) {
        typed.push_str(argument);
        if let Ok(phone) = typed.parse() {
            phones.push(phone);
            typed.clear();
            begin = number + 1;
        }
    }
    if typed.is_empty() {
        return Ok(phones);
    }
    let message = format!(
        "nothing was changed: PHONE {begin}, alone or with what follows it, is not a Tanzanian mobile number; write it \
         such as 0712345678 or +255712345678"
    );
    Err(Failure::new("phone_invalid", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(typed: &str) -> Option<Vec<String>> {
        let arguments: Vec<_> = typed.split(' ').map(str::to_owned).collect();
        let phones = parse(&arguments).ok()?;
        Some(phones.iter().map(|phone| phone.expose_e164().to_owned()).collect())
    }

    #[test]
    fn each_argument_is_a_phone_or_a_part_of_one() {
        let one = vec!["+255712000001".to_owned()];
        let two = vec!["+255712000001".to_owned(), "+255712000002".to_owned()];
        for typed in ["0712000001", "0712 000 001", "+255 712 000001"] {
            assert_eq!(parsed(typed).as_ref(), Some(&one), "{typed}");
        }
        for typed in ["0712000001 0712000002", "0712 000 001 +255712000002", "+255712000001 0712 000002"] {
            assert_eq!(parsed(typed).as_ref(), Some(&two), "{typed}");
        }
        for typed in ["0712", "0712000001 0712", "+254712000001 0712000001"] {
            assert_eq!(parsed(typed), None, "{typed}");
        }
    }
}
