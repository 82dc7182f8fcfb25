//! Plans in the partition `…#plan`, by commitment, and `…#state`.

use super::batch::{BatchGet, BatchItems, Found, Place};
use super::instant::SORT;
use super::write::Write;
use super::{Item, StoreResult, from_record, number, text, transaction};
use crate::domain::Scope;
use crate::domain::digest::Digest;
use crate::domain::instant::{Claim, MAX_PRIZES, PlanState, StoredPlan};
use crate::domain::win::WonMoment;

const READING: &str = "reading the plan of instant prizes";
const WRITING: &str = "writing the plan of instant prizes";
const STATE: &str = "state";
const REVISION: &str = "revision";

store! {
    Plans, instant
}

impl Plans {
    pub async fn get(&self, scope: &Scope, commitment: Digest) -> StoreResult<Option<StoredPlan>> {
        let found = self.item(plan_key(scope), commitment.to_string()).await?;
        found.map(|item| from_record(item, READING)).transpose()
    }

    pub async fn state(&self, scope: &Scope) -> StoreResult<Option<PlanState>> {
        let found = self.item(state_key(scope), STATE.to_owned()).await?;
        found.map(read_state).transpose()
    }

    /// Writes plan, state and the campaign's `mark`, by which entries look for it. False if the
    /// state changed since `before`.
    pub async fn create(
        &self,
        scope: &Scope,
        plan: &StoredPlan,
        before: Option<&PlanState>,
        mark: Write,
    ) -> StoreResult<bool> {
        let put = self.table.put(plan_key(scope), plan);
        let put = put.sort(SORT, plan.commitment.to_string());
        let after = PlanState::closed(plan.commitment, before);
        let state = self.table.put(state_key(scope), &after).sort(SORT, STATE);
        let state = when_seen(state, before);
        transaction::write_all(vec![put.when_absent(SORT), state, mark], WRITING).await
    }

    /// False if an operator changed it since `before`.
    pub async fn change(
        &self,
        scope: &Scope,
        before: &PlanState,
        after: &PlanState,
    ) -> StoreResult<bool> {
        let update = self.table.update(state_key(scope)).sort(SORT, STATE);
        let update = update.change(Some(before), after);
        when_seen(update, Some(before)).send(WRITING).await
    }

    /// Forgets the prizes given, with a scope's other test data. False if it has no plan.
    pub async fn clear_given(&self, scope: &Scope) -> StoreResult<bool> {
        let update = self.table.update(state_key(scope)).sort(SORT, STATE);
        let given: Vec<_> = (0..MAX_PRIZES).map(given_attribute).collect();
        let update = update.remove(given.iter().map(String::as_str));
        update.when_present(SORT).send(WRITING).await
    }

    pub(crate) fn add_to(&self, batch: &mut BatchGet, scope: &Scope) {
        batch.add(&self.state_place(scope));
    }

    /// `None` if it was not asked for.
    pub(crate) fn find_in(
        &self,
        items: &BatchItems,
        scope: &Scope,
    ) -> StoreResult<Option<Option<PlanState>>> {
        match items.find(&self.state_place(scope)) {
            Found::NotAsked => Ok(None),
            found => found.item().cloned().map(read_state).transpose().map(Some),
        }
    }

    fn state_place(&self, scope: &Scope) -> Place {
        Place {
            sort: Some((SORT, STATE)),
            ..self.table.place(state_key(scope))
        }
    }

    /// Transaction item of an entry that wins.
    ///
    /// A timeline of two entries and one moment due: both read that none is given; the first counts
    /// one; the second's condition fails and returns the new counts. With two moments due, both win.
    pub(crate) fn claim(&self, scope: &Scope, claim: &Claim) -> Write {
        self.count_given(scope, claim.plan, claim.prize, 1)
            .when("#open = :open AND (attribute_not_exists(#given) OR #given < :due)")
            .bind(":open", true)
            .bind(":due", claim.due)
    }

    /// Transaction item of a revocation: the next entry gets it. `None` if another plan counts now.
    pub async fn give_back(&self, scope: &Scope, moment: WonMoment) -> StoreResult<Option<Write>> {
        let state = self.state(scope).await?;
        let is_current = state.is_some_and(|state| state.plan == moment.plan);
        Ok(is_current.then(|| {
            self.count_given(scope, moment.plan, moment.prize, -1)
                .when("#given > :none")
                .bind(":none", 0)
        }))
    }

    fn count_given(&self, scope: &Scope, plan: Digest, prize: usize, change: i32) -> Write {
        let given = given_attribute(prize);
        self.table
            .update(state_key(scope))
            .sort(SORT, STATE)
            .add(&given, number(change))
            .when_equal("plan", plan)
            .rename("#given", given)
    }

    async fn item(&self, part: String, record: String) -> StoreResult<Option<Item>> {
        let mut key = self.table.key(part);
        key.insert(SORT.to_owned(), text(record));
        self.table.get_item(key, READING).await
    }
}

fn when_seen(write: Write, before: Option<&PlanState>) -> Write {
    match before {
        Some(before) => write.when_equal(REVISION, before.revision),
        None => write.when_absent(SORT),
    }
}

/// An attribute for each: claims of different prizes do not depend on each other.
fn given_attribute(prize: usize) -> String {
    format!("given_{prize}")
}

pub(super) fn read_state(item: Item) -> StoreResult<PlanState> {
    let given = |prize: usize| {
        let value = item.get(&given_attribute(prize))?.as_n().ok()?;
        value.parse::<u32>().ok()
    };
    let given = (0..MAX_PRIZES).map(|prize| given(prize).unwrap_or_default());
    let given = given.collect();
    let state = from_record(item, READING)?;
    Ok(PlanState { given, ..state })
}

fn plan_key(scope: &Scope) -> String {
    scope.key("plan")
}

fn state_key(scope: &Scope) -> String {
    scope.key(STATE)
}
