use crate::draws::openings;
use crate::prelude::*;

/// Deletes kind by kind; `done` gets its name and number. Can stop and run again at any point:
/// submissions come last, so nothing refers to missing records that it still needs. Draws stay,
/// since a name keeps its commitment, but no longer identify a person.
pub async fn clear(
    tables: &Tables,
    photos: &Photos,
    slug: &CampaignSlug,
    now: Timestamp,
    mut done: impl FnMut(&'static str, u64),
) -> Result<()> {
    // Never the live environment.
    let scope = Scope {
        campaign: slug.clone(),
        environment: Environment::Test,
    };
    tables.campaign(slug).await?;
    let store = &tables.store;
    done(
        "openings of draws",
        openings::erase_everyone(tables, &scope, now).await?,
    );
    done(
        "idempotency keys",
        store.idempotency_keys().clear(&scope).await?,
    );
    done("used codes", store.codes().clear(&scope).await?);
    done("entrants", store.entrants().clear(&scope).await?);
    done("receipts", store.receipts().clear(&scope, photos).await?);
    done("instant prizes", store.wins().clear(&scope).await?);
    store.plans().clear_given(&scope).await?;
    done("submissions", store.submissions().clear(&scope).await?);
    Ok(())
}
