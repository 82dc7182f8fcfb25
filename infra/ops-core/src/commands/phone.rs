mod find;

use chrono_tz::Tz;
use common::clock::Clock;
use common::config::Env;
use common::domain::phone::Phone;
use common::domain::scope::{CampaignSlug, Scope};
use common::domain::submission::OperatorDecision;
use common::store::entrants::BlockedPhone;
use serde_json::json;

use super::phone_or_typed;
use super::submission::words;
use crate::cli::{PhoneChangeArgs, PhoneCommand};
use crate::column::Column;
use crate::confirm::Answer;
use crate::failure::Failure;
use crate::format::{grouped, scope_in_words};
use crate::phones::{Changed, ERASED, PHONES, set_all_blocked, set_blocked};
use crate::tables::Tables;
use crate::terminal::{Progress, Report, Terminal};
use crate::view::{self, extended, of_record};
use crate::{connection, phones};

pub(crate) async fn run(
    command: PhoneCommand,
    env: &Env,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    match command {
        PhoneCommand::Block(args) => change(args, true, env, clock, terminal).await,
        PhoneCommand::Unblock(args) => change(args, false, env, clock, terminal).await,
        PhoneCommand::List { scope } => {
            let scope = Scope::from(scope);
            let tables = connection::tables(env).await?;
            let zone = tables.campaign(&scope.campaign).await?.timezone;
            Ok(report_list(
                &scope,
                &tables.entrants.blocklist(&scope).await?,
                zone,
            ))
        }
        PhoneCommand::Find { phone, campaign } => {
            let phone = phone_or_typed(&phone.join(" "), terminal)?;
            let tables = connection::tables(env).await?;
            let found = phones::find(&tables, &phone, campaign.as_ref(), clock.now()).await?;
            Ok(find::report(&phone, &found, clock.now()))
        }
    }
}

async fn change(
    args: PhoneChangeArgs,
    blocked: bool,
    env: &Env,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    let PhoneChangeArgs {
        campaign,
        phones,
        file,
        column,
        why,
        confirm,
    } = args;
    let why = words(&why, "--why")?;
    let decide = async |tables: &Tables| -> Result<OperatorDecision, Failure> {
        Ok(OperatorDecision {
            by: tables.audit.operator_in_full().await?,
            identity: None,
            ..tables.audit.decision(why, clock.now()).await?
        })
    };
    let Some(file) = file else {
        let phones = match &phones[..] {
            [one] if one == "-" => vec![phone_or_typed(one, terminal)?],
            phones => parse(phones)?,
        };
        let tables = connection::tables(env).await?;
        tables.campaign(&campaign).await?;
        return change_each(
            &tables,
            &campaign,
            &phones,
            blocked,
            &decide(&tables).await?,
        )
        .await;
    };
    let column = Column {
        path: &file,
        heading: column.as_deref(),
        values: PHONES,
    };
    let count = column.check_all(1_000, async |_, _| Ok(())).await?.count;
    let tables = connection::tables(env).await?;
    tables.campaign(&campaign).await?;
    let verb = if blocked { "Block" } else { "Unblock" };
    let question = format!(
        "{verb} the {} phones of the file in {campaign}, test and live?",
        grouped(count)
    );
    terminal.confirm(&question, Answer::Yes, confirm)?;
    let decision = decide(&tables).await?;
    let doing = if blocked { "blocked" } else { "unblocked" };
    let why = decision.why.as_deref().unwrap_or_default();
    let action = phones::change(blocked)
        .in_campaign(&campaign)
        .because(why)
        .with(json!({ "count": count }));
    tables.audit.append(action, clock.now()).await?;
    let mut progress = Progress::new(clock, doing, count);
    let show = |done| progress.show(terminal, done);
    let changed = set_all_blocked(&tables, &campaign, &column, blocked, &decision, show).await;
    progress.end(terminal);
    let Changed { changed, unchanged } = changed?;
    let already = if blocked {
        "were blocked already"
    } else {
        "were not blocked"
    };
    let text = format!(
        "{} phones {doing} in {campaign}, test and live; {} {already}",
        grouped(changed),
        grouped(unchanged)
    );
    let json = json!({ "campaign": campaign, "blocked": blocked, "changed": changed, "unchanged": unchanged });
    Ok(Report::new(json, text))
}

async fn change_each(
    tables: &Tables,
    campaign: &CampaignSlug,
    phones: &[Phone],
    blocked: bool,
    decision: &OperatorDecision,
) -> Result<Report, Failure> {
    let mut text = String::new();
    let mut done = Changed::default();
    for phone in phones {
        let [test, live] = phones::entrant_ids(tables, campaign, phone).await?;
        let why = decision.why.as_deref().unwrap_or_default();
        let action = phones::change(blocked)
            .in_campaign(campaign)
            .on(live.as_str())
            .because(why);
        tables
            .audit
            .append(
                action.with(json!({ "entrant_in_test": test.as_str() })),
                decision.at,
            )
            .await?;
        let changed = set_blocked(tables, campaign, phone, blocked, decision).await?;
        done.changed += u64::from(changed);
        done.unchanged += u64::from(!changed);
        let word = match (changed, blocked) {
            (true, true) => "blocked",
            (false, true) => "was blocked already",
            (true, false) => "unblocked",
            (false, false) => "was not blocked",
        };
        text.push_str(&format!(
            "{} {word} in {campaign}, test and live\n",
            phone.masked()
        ));
    }
    let phones: Vec<_> = phones.iter().map(Phone::masked).collect();
    let Changed { changed, unchanged } = done;
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
        false => view::table(&columns, &phones, zone),
    };
    let json =
        json!({ "campaign": scope.campaign, "environment": scope.environment, "phones": phones });
    Report::new(json, text)
}

/// One typed with spaces takes several arguments.
fn parse(arguments: &[String]) -> Result<Vec<Phone>, Failure> {
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
