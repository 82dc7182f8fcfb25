//! `ops whoami`.

use common::store::{
    api_keys, audit, campaigns, code_books, codes, entrants, receipts, submissions,
};

use crate::identity::Identity;
use crate::prelude::*;

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

pub(crate) async fn run(env: &Env) -> Result<Report> {
    let tables = connection::tables(env).await?;
    let Identity {
        arn,
        account,
        region,
    } = Identity::ask(&connection::aws(env).await?).await?;
    let roles = roles(&tables).await?;
    let rights: Vec<_> = roles
        .iter()
        .filter(|(_, has)| *has)
        .map(|(role, _)| *role)
        .collect();
    let mut pairs = vec![
        ("identity", arn.clone()),
        ("account", account.clone()),
        ("region", region.clone()),
        ("stage", or_dash(env.optional("STAGE"))),
        ("role", or_dash(rights.last())),
    ];
    let names = TABLES.into_iter();
    let named: BTreeMap<_, _> = names
        .filter_map(|name| Some((name, env.optional(name)?)))
        .collect();
    pairs.extend(named.clone());
    let json = json!({
        "identity": arn,
        "account": account,
        "region": region,
        "stage": env.optional("STAGE"),
        "rights": rights,
        "tables": named,
    });
    Ok(Report::new(json, lines(&pairs)))
}

/// Probes each role with a read that it allows and earlier ones do not.
async fn roles(tables: &Tables) -> Result<[(&'static str, bool); 4]> {
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

fn allowed<T>(read: Result<T, StoreError>) -> Result<bool> {
    match read {
        Ok(_) => Ok(true),
        Err(error) if error.denied().is_some() => Ok(false),
        Err(error) => Err(error.into()),
    }
}
