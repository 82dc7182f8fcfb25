//! A tier's order: winners, then alternates.

use std::num::NonZeroU64;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::digest::Digest;

/// Endless tickets, uniform from 0 to `total - 1`.
fn tickets(seed: Digest, total: NonZeroU64) -> impl Iterator<Item = u64> {
    let limit = max_value(total);
    let kept = values(seed).filter(move |value| *value <= limit);
    kept.map(move |value| value % total)
}

/// 2^64 - (2^64 mod total) - 1: larger values would favour low tickets.
fn max_value(total: NonZeroU64) -> u64 {
    let excess = (u64::MAX % total + 1) % total;
    u64::MAX - excess
}

/// HMAC-SHA256 of 0, 1, 2 and so on, as four numbers each.
fn values(seed: Digest) -> impl Iterator<Item = u64> {
    let mut key = [0; 64];
    // HMAC pads a short key with zeros.
    for (byte, seed) in key.iter_mut().zip(seed.as_bytes()) {
        *byte = *seed;
    }
    let hmac = Hmac::<Sha256>::new(&key.into());
    (0_u64..).flat_map(move |block| {
        let block = hmac.clone().chain_update(block.to_be_bytes());
        let bytes: [u8; 32] = block.finalize().into_bytes().into();
        let (numbers, _) = bytes.as_chunks();
        let mut values = [0; 4];
        for (value, number) in values.iter_mut().zip(numbers) {
            *value = u64::from_be_bytes(*number);
        }
        values
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Counts from 0.
    pub row: u64,
    pub ticket: u64,
}

/// Rows by their first drawn ticket. `starts` are the rows' first tickets, ascending from 0.
pub(crate) fn order(
    starts: &[u64],
    total: NonZeroU64,
    seed: Digest,
) -> impl Iterator<Item = Place> {
    let mut has_place = vec![false; starts.len()];
    let places = tickets(seed, total).filter_map(move |ticket| {
        let row = starts
            .partition_point(|start| *start <= ticket)
            .checked_sub(1)?;
        let is_first = !std::mem::replace(has_place.get_mut(row)?, true);
        let row = u64::try_from(row).ok().filter(|_| is_first)?;
        Some(Place { row, ticket })
    });
    // Afterwards it would look for another row for ever.
    places.take(starts.len())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn starts(counts: &[u64]) -> Vec<u64> {
        let starts = counts.iter().scan(0, |start, count| {
            Some(std::mem::replace(start, *start + count))
        });
        starts.collect()
    }

    fn ordered(counts: &[u64], number: u64) -> Vec<Place> {
        let total = NonZeroU64::new(counts.iter().sum()).expect("entries");
        order(&starts(counts), total, seed(number)).collect()
    }

    fn seed(number: u64) -> Digest {
        Digest::from_parts(&[&number.to_be_bytes()])
    }

    proptest! {
        #[test]
        fn every_row_has_one_place_by_a_ticket_of_its_own(counts in prop::collection::vec(1_u64..50, 1..40), number: u64) {
            let (order, starts) = (ordered(&counts, number), starts(&counts));
            let rows: HashSet<_> = order.iter().map(|place| place.row).collect();
            prop_assert_eq!((order.len(), rows.len()), (counts.len(), counts.len()));
            for Place { row, ticket } in order {
                let row = usize::try_from(row).expect("few");
                prop_assert!((starts[row]..starts[row] + counts[row]).contains(&ticket));
            }
        }

        #[test]
        fn tickets_are_below_the_total(total in 1_u64.., number: u64) {
            let total = NonZeroU64::new(total).expect("not zero");
            prop_assert!(tickets(seed(number), total).take(9).all(|ticket| ticket < total.get()));
        }

        #[test]
        fn each_ticket_has_as_many_values(total in 1_u64..) {
            let total = NonZeroU64::new(total).expect("not zero");
            let values = u128::from(max_value(total)) + 1;
            prop_assert_eq!(values % u128::from(total.get()), 0);
            prop_assert!((1_u128 << 64) - values < u128::from(total.get()), "none is dropped without need");
        }
    }

    #[test]
    fn values_above_the_limit_are_dropped() {
        // Keeps half of all values.
        let total = NonZeroU64::new((1 << 63) + 1).expect("not zero");
        let is_kept = |value: &u64| *value <= max_value(total);
        let kept = values(seed(1)).take(400).filter(is_kept);
        let kept: Vec<_> = kept.map(|value| value % total).collect();
        assert!((160..240).contains(&kept.len()), "{}", kept.len());
        assert!(tickets(seed(1), total).take(kept.len()).eq(kept));
    }

    /// Chi-squared test over many seeds, against the weights.
    #[test]
    fn first_place_has_the_chance_of_its_weight() {
        let counts = [1, 2, 3, 4, 10];
        let mut firsts = [0_u32; 5];
        for number in 0..20_000 {
            let first = ordered(&counts, number)[0];
            firsts[usize::try_from(first.row).expect("few")] += 1;
        }
        let statistic: f64 = (0..5)
            .map(|row| {
                let expected = f64::from(u32::try_from(counts[row]).expect("small")) * 1_000.0;
                (f64::from(firsts[row]) - expected).powi(2) / expected
            })
            .sum();
        // Four degrees of freedom: one series in a thousand exceeds it; this one is fixed.
        assert!(statistic < 18.5, "{firsts:?}: {statistic}");
    }

    /// Drawn without the first row's tickets.
    #[test]
    fn second_place_has_the_chance_of_its_weight_among_the_rest() {
        let (mut after_first, mut second_is_last) = (0.0, 0.0);
        for number in 0..20_000 {
            let order = ordered(&[6, 1, 3], number);
            if order[0].row == 0 {
                after_first += 1.0;
                second_is_last += f64::from(u8::from(order[1].row == 2));
            }
        }
        assert!(
            (second_is_last / after_first - 0.75_f64).abs() < 0.015,
            "{second_is_last} of {after_first}"
        );
    }

    #[test]
    fn row_with_many_entries_keeps_no_other_out() {
        let order = ordered(&[20_000, 1, 1], 5);
        assert_eq!((order[0].row, order.len()), (0, 3));
    }
}
