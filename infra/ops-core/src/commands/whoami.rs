//! `ops whoami`.

use common::store::{
    api_keys, audit, campaigns, code_books, codes, entrants, receipts, submissions,
};

use crate::identity::Identity;
use crate::prelude::*;
use crate::roles::roles;

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
    let rights = roles(&tables).await?;
    let mut pairs = vec![
        ("identity", arn.clone()),
        ("account", account.clone()),
        ("region", region.clone()),
        ("stage", or_dash(env.optional("STAGE"))),
        ("role", or_dash(rights.last().map(|role| role.as_str()))),
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
