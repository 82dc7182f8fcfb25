//! Roles of operators, each with the rights of those before it.

use crate::prelude::*;

common::text_enum! {
    pub enum Role {
        Viewer = "viewer",
        Reviewer = "reviewer",
        Operator = "operator",
        Admin = "admin",
    }
}

/// The operator's roles. Probes each with a read that it allows and earlier ones do not.
pub async fn roles(tables: &Tables) -> Result<Vec<Role>> {
    let log = tables.audit.log();
    let probed = [
        (Role::Viewer, allowed(tables.campaigns.list().await)?),
        (Role::Reviewer, allowed(log.head().await)?),
        (
            Role::Operator,
            allowed(tables.code_books.secrets().current().await)?,
        ),
        (Role::Admin, allowed(log.scan_one().await)?),
    ];
    let held = probed.into_iter().filter(|(_, is_allowed)| *is_allowed);
    Ok(held.map(|(role, _)| role).collect())
}

fn allowed<T>(read: Result<T, StoreError>) -> Result<bool> {
    match read {
        Ok(_) => Ok(true),
        Err(error) if error.denied().is_some() => Ok(false),
        Err(error) => Err(error.into()),
    }
}
