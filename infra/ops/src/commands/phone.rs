//! `ops phone`.

use common::config::Env;
use common::domain::moment::Moment;
use common::domain::phone::Phone;
use serde_json::json;

use crate::cli::{PhoneArgs, PhoneCommand};
use crate::connection;
use crate::console::Report;
use crate::failure::Failure;
use crate::phones::{masked, set_blocked};

pub(crate) async fn run(command: PhoneCommand, env: &Env, now: Moment) -> Result<Report, Failure> {
    let (PhoneArgs { campaign, phones }, blocked) = match command {
        PhoneCommand::Block(args) => (args, true),
        PhoneCommand::Unblock(args) => (args, false),
    };
    let phones = parse(&phones)?;
    let tables = connection::tables(env).await?;
    for phone in &phones {
        set_blocked(&tables, &campaign, phone, blocked, now).await?;
    }
    let word = if blocked { "blocked" } else { "unblocked" };
    let phones: Vec<_> = phones.iter().map(masked).collect();
    let lines = phones.iter().map(|phone| format!("{phone} {word} in {campaign}, test and live\n"));
    let json = json!({ "campaign": campaign, "phones": phones, "blocked": blocked });
    Ok(Report::new(json, lines.collect::<String>()))
}

/// The phones in the arguments: each is one, or several are one that was typed with spaces.
fn parse(arguments: &[String]) -> Result<Vec<Phone>, Failure> {
    let mut phones = Vec::new();
    let mut typed = String::new();
    for argument in arguments {
        typed.push_str(argument);
        if let Ok(phone) = typed.parse() {
            phones.push(phone);
            typed.clear();
        }
    }
    if typed.is_empty() {
        return Ok(phones);
    }
    let which = match phones.len() {
        0 => "this is",
        _ => "nothing was changed: one of these, after those that are, is",
    };
    let message =
        format!("{which} not a Tanzanian mobile number; write it such as 0712345678 or +255712345678");
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
