use common::config::Env;
use common::error::StoreError;
use common::store::{
    api_keys, audit, campaigns, code_books, codes, entrants, receipts, submissions,
};
use serde_json::{Value, json};

use crate::connection;
use crate::failure::Failure;
use crate::format::{lines, or_dash};
use crate::identity::Identity;
use crate::tables::Tables;
use crate::terminal::Report;

/// Enough to recognise the stack.
const TABLES: [&str; 8] = [
    campaigns::VARIABLE,
    api_keys::VARIABLE,
    code_books::VARIABLE,
    codes::VARIABLE,
    submissions::VARIABLE,
    entrants::VARIABLE,
    receipts::VARIABLE,
    audit::VARIABLE,
];

pub(crate) async fn run(env: &Env) -> Result<Report, Failure> {
    let tables = connection::tables(env).await?;
    let Identity {
        arn,
        account,
        region,
    } = Identity::ask(&connection::aws(env).await?).await?;
    let roles = roles(&tables).await?;
    let last = roles
        .iter()
        .rev()
        .find(|(_, has)| *has)
        .map(|(role, _)| *role);
    let names: Vec<_> = TABLES
        .iter()
        .filter_map(|name| Some((*name, env.optional(name)?)))
        .collect();
    let mut pairs = vec![
        ("identity", arn.clone()),
        ("account", account.clone()),
        ("region", region.clone()),
        ("stage", or_dash(env.optional("STAGE"))),
        ("role", or_dash(last)),
    ];
    pairs.extend(names.iter().cloned());
    let tables: serde_json::Map<String, Value> = names
        .into_iter()
        .map(|(name, table)| (name.to_owned(), json!(table)))
        .collect();
    let json = json!({
        "identity": arn,
        "account": account,
        "region": region,
        "stage": env.optional("STAGE"),
        "rights": roles.into_iter().filter(|(_, has)| *has).map(|(role, _)| role).collect::<Vec<_>>(),
        "tables": tables,
    });
    Ok(Report::new(json, lines(&pairs)))
}

/// Probes each role with a read that it allows and earlier ones do not.
async fn roles(tables: &Tables) -> Result<[(&'static str, bool); 4], Failure> {
    let log = tables.audit.log();
    Ok([
        ("viewer", allowed(tables.campaigns.list().await)?),
        ("reviewer", allowed(log.head().await)?),
        (
            "operator",
            allowed(tables.code_books.secrets().current().await)?,
        ),
        ("admin", allowed(log.scan_one().await)?),
    ])
}

fn allowed<T>(read: Result<T, StoreError>) -> Result<bool, Failure> {
    match read {
        Ok(_) => Ok(true),
        Err(error) if error.denied().is_some() => Ok(false),
        Err(error) => Err(error.into()),
    }
}
