//! Limits a campaign's requests in flight to its partner. Numbered leases spread over items, so
//! that none is written too often. A dead environment's lease expires. A fast clock allows one
//! request too many.

use std::time::Duration;

use super::write::Sent;
use super::{Item, StoreResult, read_number};
use crate::domain::{Scope, Timestamp};

/// An item takes a thousand writes a second, and a request makes two.
const MAX_LEASES_IN_ITEM: u32 = 16;
/// The limit counts as reached after so many writes.
const MAX_ATTEMPTS: u32 = 4;
const RETENTION: Duration = Duration::from_hours(1);

const FREE_OR_EXPIRED: &str = "attribute_not_exists(#lease) OR #lease <= :now";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartnerLease {
    key: String,
    name: String,
    until: Timestamp,
}

store! {
    PartnerLeases, coordination
}

enum Tried {
    Taken(PartnerLease),
    Held(Item),
}

impl PartnerLeases {
    /// `None` if all that were tried are taken. `chance` gives random numbers from 0 to 1, which
    /// spread environments. Costs one write while most leases are free.
    pub async fn take(
        &self,
        scope: &Scope,
        max: u32,
        until: Timestamp,
        now: Timestamp,
        chance: impl Fn() -> f64,
    ) -> StoreResult<Option<PartnerLease>> {
        let items = max.div_ceil(MAX_LEASES_IN_ITEM).max(1);
        let mut item = pick(items, chance());
        let mut untried_items = items;
        let mut lease = pick(leases_in(item, items, max), chance());
        for _ in 0..MAX_ATTEMPTS {
            let held = match self.try_lease(scope, item, lease, until, now).await? {
                Tried::Taken(lease) => return Ok(Some(lease)),
                Tried::Held(held) => held,
            };
            let free: Vec<u32> = (0..leases_in(item, items, max))
                .filter(|lease| is_free(&held, *lease, now))
                .collect();
            let picked = pick(u32::try_from(free.len()).unwrap_or(0), chance());
            match free.get(usize::try_from(picked).unwrap_or(0)) {
                Some(free) => lease = *free,
                None => {
                    untried_items = untried_items.saturating_sub(1);
                    if untried_items == 0 {
                        return Ok(None);
                    }
                    item = (item + 1) % items;
                    lease = pick(leases_in(item, items, max), chance());
                }
            }
        }
        Ok(None)
    }

    async fn try_lease(
        &self,
        scope: &Scope,
        item: u32,
        lease: u32,
        until: Timestamp,
        now: Timestamp,
    ) -> StoreResult<Tried> {
        let (key, name) = (format!("partner_leases#{scope}#{item}"), lease_name(lease));
        let sent = self
            .table
            .update(&key)
            .set(&name, until)
            .expires(now.after(RETENTION))
            .rename("#lease", name.clone())
            .when(FREE_OR_EXPIRED)
            .bind(":now", now)
            .send_and_read("leasing a request to a partner")
            .await?;
        Ok(match sent {
            Sent::Written(_) => Tried::Taken(PartnerLease { key, name, until }),
            Sent::Refused(held) => Tried::Held(held.unwrap_or_default()),
        })
    }

    pub async fn release(&self, lease: &PartnerLease) -> StoreResult<()> {
        let update = self.table.update(&lease.key);
        let update = update.remove([lease.name.as_str()]);
        let released = update
            .when_equal(&lease.name, lease.until)
            .send("releasing a partner's lease");
        released.await.map(drop)
    }
}

fn leases_in(item: u32, items: u32, max: u32) -> u32 {
    max / items + u32::from(item < max % items)
}

fn pick(count: u32, chance: f64) -> u32 {
    (0..count)
        .rev()
        .find(|number| f64::from(*number) <= chance * f64::from(count))
        .unwrap_or(0)
}

fn lease_name(lease: u32) -> String {
    format!("lease_{lease}")
}

fn is_free(item: &Item, lease: u32, now: Timestamp) -> bool {
    read_number::<i64>(item, &lease_name(lease)).is_none_or(|until| until <= now.as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lease_is_in_one_item_and_no_item_has_too_many() {
        for max in 1..=1_000_u32 {
            let items = max.div_ceil(MAX_LEASES_IN_ITEM);
            let counts: Vec<u32> = (0..items).map(|item| leases_in(item, items, max)).collect();
            assert_eq!(counts.iter().sum::<u32>(), max);
            assert!(
                counts
                    .iter()
                    .all(|count| (1..=MAX_LEASES_IN_ITEM).contains(count)),
                "{max}: {counts:?}"
            );
        }
    }

    #[test]
    fn chance_picks_each_alike() {
        assert_eq!(
            [0.0, 0.24, 0.25, 0.5, 0.99, 1.0].map(|chance| pick(4, chance)),
            [0, 0, 1, 2, 3, 3]
        );
        assert_eq!(pick(0, 0.5), 0);
    }
}
