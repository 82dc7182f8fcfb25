//! `ops phone`.

use common::store::entrants::BlockedPhone;

use super::phone_or_typed;
use crate::cli::{PhoneChangeArgs, PhoneCommand};
use crate::phones::{Changed, ERASED, PHONES, record_and_set_blocked, set_all_blocked};
use crate::prelude::*;

pub(crate) async fn run(
    command: PhoneCommand,
    env: &Env,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    match command {
        PhoneCommand::Block(args) => change(args, true, env, clock, terminal).await,
        PhoneCommand::Unblock(args) => change(args, false, env, clock, terminal).await,
        PhoneCommand::List { scope } => {
            let scope = Scope::from(scope);
            let tables = connection::tables(env).await?;
            let zone = tables.zone(&scope).await?;
            Ok(report_list(
                &scope,
                &tables.entrants.blocklist(&scope).await?,
                zone,
            ))
        }
    }
}

async fn change(
    args: PhoneChangeArgs,
    blocked: bool,
    env: &Env,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let PhoneChangeArgs {
        campaign,
        phones,
        file,
        column,
        why,
    } = args;
    let why = validate_reason(&why, "--why")?;
    let phones = match &phones[..] {
        [one] if one == "-" => vec![phone_or_typed(one, terminal)?],
        phones => parse(phones)?,
    };
    let column = file.as_deref().map(|path| Column {
        path,
        heading: column.as_deref(),
        values: PHONES,
    });
    let count = match &column {
        Some(column) => column.check_all(1_000, async |_, _| Ok(())).await?.count,
        None => 0,
    };
    let tables = connection::tables(env).await?;
    tables.campaign(&campaign).await?;
    let (doing, already) = if blocked {
        ("blocked", "was blocked already")
    } else {
        ("unblocked", "was not blocked")
    };
    if column.is_some() {
        let verb = if blocked { "Block" } else { "Unblock" };
        let question = format!(
            "{verb} the {} phones of the file in {campaign}, test and live?",
            grouped(count)
        );
        terminal.confirm(&question)?;
    }
    let decision = phones::decision(&tables, why.clone(), clock.now()).await?;
    let (mut done, mut text) = (Changed::default(), String::new());
    for phone in &phones {
        let changed = record_and_set_blocked(&tables, &campaign, phone, blocked, &decision).await?;
        done.count(changed);
        let word = if changed { doing } else { already };
        let phone = phone.masked();
        text += &format!("{phone} {word} in {campaign}, test and live\n");
    }
    if let Some(column) = &column {
        let action = phones::change(blocked).in_campaign(&campaign).because(&why);
        let action = action.with(json!({ "count": count }));
        tables.audit.append(action, clock.now()).await?;
        let mut progress = Progress::new(clock, doing, count);
        let show = |done| progress.show(terminal, done);
        let changed = set_all_blocked(&tables, &campaign, column, blocked, &decision, show).await;
        progress.end(terminal);
        done = changed?;
        text = format!(
            "{} phones {doing} in {campaign}, test and live; {} unchanged",
            grouped(done.changed),
            grouped(done.unchanged)
        );
    }
    let Changed { changed, unchanged } = done;
    let phones: Vec<_> = phones.iter().map(Phone::masked).collect();
    let json = json!({
        "campaign": campaign, "phones": phones, "blocked": blocked, "changed": changed, "unchanged": unchanged,
    });
    Ok(Report::new(json, text))
}

fn report_list(scope: &Scope, list: &[BlockedPhone], zone: Tz) -> Report {
    let phone = |BlockedPhone { masked, blocked }: &BlockedPhone| {
        let phone = masked.as_deref().unwrap_or(ERASED);
        extended(of_record(blocked), [("phone", phone.into())])
    };
    let phones: Vec<_> = list.iter().map(phone).collect();
    let since = format!("BLOCKED ({})", zone.name());
    let columns = [
        ("PHONE", "/phone"),
        (&since, "/at"),
        ("BY", "/by"),
        ("WHY", "/why"),
    ];
    let text = match phones.is_empty() {
        true => format!("No phone is blocked in {}.", scope_in_words(scope)),
        false => table(&columns, &phones, zone),
    };
    let json = json!({ "scope": scope, "phones": phones });
    Report::new(json, text)
}

/// One typed with spaces takes several arguments.
fn parse(arguments: &[String]) -> Result<Vec<Phone>> {
    let mut phones = Vec::new();
    let mut typed = String::new();
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
    bail!(
        "phone_invalid",
        "nothing was changed: PHONE {begin}, alone or with what follows it, is not a Tanzanian mobile number; write it \
         such as 0712345678 or +255712345678"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(typed: &str) -> Option<Vec<String>> {
        let arguments: Vec<_> = typed.split(' ').map(str::to_owned).collect();
        let phones = parse(&arguments).ok()?;
        Some(
            phones
                .iter()
                .map(|phone| phone.expose_e164().to_owned())
                .collect(),
        )
    }

    #[test]
    fn each_argument_is_a_phone_or_a_part_of_one() {
        let one = vec!["+255712000001".to_owned()];
        let two = vec!["+255712000001".to_owned(), "+255712000002".to_owned()];
        for typed in ["0712000001", "0712 000 001", "+255 712 000001"] {
            assert_eq!(parsed(typed).as_ref(), Some(&one), "{typed}");
        }
        for typed in [
            "0712000001 0712000002",
            "0712 000 001 +255712000002",
            "+255712000001 0712 000002",
        ] {
            assert_eq!(parsed(typed).as_ref(), Some(&two), "{typed}");
        }
        for typed in ["0712", "0712000001 0712", "+254712000001 0712000001"] {
            assert_eq!(parsed(typed), None, "{typed}");
        }
    }
}
