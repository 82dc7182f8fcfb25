//! The order of a tier: winners first, then alternates.

use std::num::NonZeroU64;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::digest::Digest;

const TICKETS_PER_BLOCK: usize = 4;

/// Endless tickets, uniform from 0 to `total - 1`.
pub(crate) struct Tickets {
    hmac: Hmac<Sha256>,
    next_block: u64,
    /// The rest of the last block.
    block: std::array::IntoIter<u64, TICKETS_PER_BLOCK>,
    total: NonZeroU64,
    /// 2^64 - (2^64 mod total) - 1: values above it would favour low tickets.
    max_value: u64,
}

impl Tickets {
    pub(crate) fn new(seed: Digest, total: NonZeroU64) -> Self {
        let mut key = [0; 64];
        // HMAC pads a short key with zeros.
        for (byte, seed) in key.iter_mut().zip(seed.as_bytes()) {
            *byte = *seed;
        }
        let excess = (u64::MAX % total + 1) % total;
        let mut block = [0; TICKETS_PER_BLOCK].into_iter();
        block.by_ref().for_each(drop);
        Self {
            hmac: Hmac::new(&key.into()),
            next_block: 0,
            block,
            total,
            max_value: u64::MAX - excess,
        }
    }

    fn read_block(&mut self) {
        let mut hmac = self.hmac.clone();
        hmac.update(&self.next_block.to_be_bytes());
        self.next_block = self.next_block.wrapping_add(1);
        let bytes: [u8; 32] = hmac.finalize().into_bytes().into();
        let (values, _) = bytes.as_chunks();
        let mut block = [0; TICKETS_PER_BLOCK];
        for (ticket, value) in block.iter_mut().zip(values) {
            *ticket = u64::from_be_bytes(*value);
        }
        self.block = block.into_iter();
    }
}

impl Iterator for Tickets {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            match self.block.next() {
                Some(value) if value <= self.max_value => return Some(value % self.total),
                Some(_) => (),
                None => self.read_block(),
            }
        }
    }
}

/// The tickets of the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TicketRanges {
    /// The first ticket of each row, ascending from 0.
    pub(crate) starts: Vec<u64>,
    pub(crate) total: NonZeroU64,
}

impl TicketRanges {
    fn row_of(&self, ticket: u64) -> Option<usize> {
        self.starts
            .partition_point(|start| *start <= ticket)
            .checked_sub(1)
    }
}

/// A place in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// From 0.
    pub row: u64,
    pub ticket: u64,
}

/// Rows by their first ticket that is drawn.
pub(crate) struct Order<'a> {
    ranges: &'a TicketRanges,
    tickets: Tickets,
    has_place: Vec<bool>,
    left: usize,
}

impl<'a> Order<'a> {
    pub(crate) fn new(ranges: &'a TicketRanges, seed: Digest) -> Self {
        let rows = ranges.starts.len();
        let tickets = Tickets::new(seed, ranges.total);
        Self {
            ranges,
            tickets,
            has_place: vec![false; rows],
            left: rows,
        }
    }
}

impl Iterator for Order<'_> {
    type Item = Place;

    fn next(&mut self) -> Option<Place> {
        self.left = self.left.checked_sub(1)?;
        loop {
            let ticket = self.tickets.next()?;
            let row = self.ranges.row_of(ticket)?;
            if !std::mem::replace(self.has_place.get_mut(row)?, true) {
                return Some(Place {
                    row: u64::try_from(row).ok()?,
                    ticket,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn ranges(counts: &[u64]) -> TicketRanges {
        let starts = counts.iter().scan(0, |start, count| {
            Some(std::mem::replace(start, *start + count))
        });
        let total = NonZeroU64::new(counts.iter().sum()).expect("entries");
        TicketRanges {
            starts: starts.collect(),
            total,
        }
    }

    fn seed(number: u64) -> Digest {
        Digest::from_parts(&[&number.to_be_bytes()])
    }

    proptest! {
        #[test]
        fn every_row_has_one_place_by_a_ticket_of_its_own(counts in prop::collection::vec(1_u64..50, 1..40), number: u64) {
            let ranges = ranges(&counts);
            let order: Vec<_> = Order::new(&ranges, seed(number)).collect();
            let rows: HashSet<_> = order.iter().map(|place| place.row).collect();
            prop_assert_eq!((order.len(), rows.len()), (counts.len(), counts.len()));
            for Place { row, ticket } in order {
                let row = usize::try_from(row).expect("few");
                prop_assert!((ranges.starts[row]..ranges.starts[row] + counts[row]).contains(&ticket));
            }
        }

        #[test]
        fn tickets_are_below_the_total(total in 1_u64.., number: u64) {
            let total = NonZeroU64::new(total).expect("not zero");
            prop_assert!(Tickets::new(seed(number), total).take(9).all(|ticket| ticket < total.get()));
        }

        #[test]
        fn as_many_values_lead_to_each_ticket(total in 1_u64..) {
            let total = NonZeroU64::new(total).expect("not zero");
            let values = u128::from(Tickets::new(seed(0), total).max_value) + 1;
            prop_assert_eq!(values % u128::from(total.get()), 0);
            prop_assert!((1_u128 << 64) - values < u128::from(total.get()), "none is dropped without need");
        }
    }

    #[test]
    fn values_above_the_limit_are_dropped() {
        // Half of all values are kept.
        let total = NonZeroU64::new((1 << 63) + 1).expect("not zero");
        let mut tickets = Tickets::new(seed(1), total);
        tickets.by_ref().take(100).for_each(drop);
        assert!(
            (40..70).contains(&tickets.next_block),
            "{} blocks",
            tickets.next_block
        );
    }

    /// By chi-squared: the first place over many seeds, against the weights.
    #[test]
    fn the_chance_of_the_first_place_is_the_weight() {
        let counts = [1, 2, 3, 4, 10];
        let ranges = ranges(&counts);
        let mut firsts = [0_u32; 5];
        for number in 0..20_000 {
            let first = Order::new(&ranges, seed(number)).next().expect("a row");
            firsts[usize::try_from(first.row).expect("few")] += 1;
        }
        let statistic: f64 = (0..5)
            .map(|row| {
                let expected = f64::from(u32::try_from(counts[row]).expect("small")) * 1_000.0;
                (f64::from(firsts[row]) - expected).powi(2) / expected
            })
            .sum();
        // Four degrees of freedom: one seed in a thousand series is above it. The series is always the same.
        assert!(statistic < 18.5, "{firsts:?}: {statistic}");
    }

    /// The second place is drawn without the first row's tickets.
    #[test]
    fn the_chance_of_the_second_place_is_the_weight_among_the_others() {
        let ranges = ranges(&[6, 1, 3]);
        let (mut after_first, mut second_is_last) = (0.0, 0.0);
        for number in 0..20_000 {
            let order: Vec<_> = Order::new(&ranges, seed(number))
                .map(|place| place.row)
                .collect();
            if order[0] == 0 {
                after_first += 1.0;
                second_is_last += f64::from(u8::from(order[1] == 2));
            }
        }
        assert!(
            (second_is_last / after_first - 0.75_f64).abs() < 0.015,
            "{second_is_last} of {after_first}"
        );
    }

    #[test]
    fn a_row_with_many_entries_does_not_keep_others_out() {
        let order: Vec<_> = Order::new(&ranges(&[20_000, 1, 1]), seed(5))
            .map(|place| place.row)
            .collect();
        assert_eq!(order[0], 0);
        assert_eq!(order.len(), 3);
    }
}
