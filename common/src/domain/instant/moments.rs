use ring::hmac;

use super::plan::{Day, Plan, sum};
use super::secret::PlanSecret;
use crate::domain::Timestamp;
use crate::domain::digest::Digest;

const SEED_LABEL: &[u8] = b"svc-instant-seed-v1\n";
const MOMENT_LABEL: &[u8] = b"svc-instant-moment-v1\n";

/// A plan whose round is there.
#[derive(Clone)]
pub struct Schedule {
    plan: Plan,
    seed: [u8; 32],
}

/// Moments of a day; of days before it, the number is enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayMoments {
    day: usize,
    /// By prize.
    earlier: Vec<u32>,
    /// By prize, sorted.
    today: Vec<Vec<Timestamp>>,
}

impl Schedule {
    /// `None` if the plan was made with another secret.
    pub fn new(plan: Plan, secret: &PlanSecret, randomness: Digest) -> Option<Self> {
        (secret.digest() == plan.header().secret)
            .then(|| Self::from_parts(plan, secret, randomness))
    }

    fn from_parts(plan: Plan, secret: &PlanSecret, randomness: Digest) -> Self {
        let commitment = plan.commitment();
        let parts = [SEED_LABEL, commitment.as_bytes(), randomness.as_bytes()];
        let seed = hmac_sha256(secret.expose(), &parts);
        Self { plan, seed }
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    #[cfg(test)]
    pub(super) fn seed(&self) -> Digest {
        self.seed.into()
    }

    /// The last day has no end: what is left over can still be won. `None` before the first.
    pub fn day_at(&self, at: Timestamp) -> Option<usize> {
        let days = &self.plan.header().days;
        days.partition_point(|day| day.start() <= at).checked_sub(1)
    }

    pub fn moments_at(&self, at: Timestamp) -> Option<DayMoments> {
        let index = self.day_at(at)?;
        let (earlier, rest) = self.plan.header().days.split_at_checked(index)?;
        let day = rest.first()?;
        let count = |prize| earlier.iter().map(|day| count_of(day, prize)).sum();
        let prizes = 0..self.plan.header().prizes.len();
        Some(DayMoments {
            day: index,
            earlier: prizes.clone().map(count).collect(),
            today: prizes
                .map(|prize| self.day_moments(index, day, prize))
                .collect(),
        })
    }

    pub fn all_moments(&self) -> Vec<Vec<Timestamp>> {
        let days = || self.plan.header().days.iter().enumerate();
        (0..self.plan.header().prizes.len())
            .map(|prize| {
                days()
                    .flat_map(|(index, day)| self.day_moments(index, day, prize))
                    .collect()
            })
            .collect()
    }

    /// Prizes with more moments due than given, the one with the oldest such moment first.
    pub fn open_prizes(&self, moments: &DayMoments, at: Timestamp, given: &[u32]) -> Vec<usize> {
        let given = |prize| given.get(prize).copied().unwrap_or_default();
        let prizes = 0..moments.today.len();
        let mut open: Vec<_> = prizes
            .filter(|prize| moments.due(*prize, at) > given(*prize))
            .collect();
        open.sort_by_cached_key(|prize| self.moment_at(moments, *prize, given(*prize)));
        open
    }

    /// The prize's moment after so many others of it.
    fn moment_at(&self, moments: &DayMoments, prize: usize, others: u32) -> Option<Timestamp> {
        let earlier = moments.earlier.get(prize)?;
        if let Some(others) = others.checked_sub(*earlier) {
            let today = moments.today.get(prize)?;
            return today.get(usize::try_from(others).ok()?).copied();
        }
        let mut left = others;
        for (index, day) in self.plan.header().days.iter().enumerate() {
            let count = count_of(day, prize);
            if left < count {
                let of_day = self.day_moments(index, day, prize);
                return of_day.get(usize::try_from(left).ok()?).copied();
            }
            left -= count;
        }
        None
    }

    fn day_moments(&self, index: usize, day: &Day, prize: usize) -> Vec<Timestamp> {
        let moment = |i| self.moment(index, day, prize, i);
        let mut moments: Vec<_> = (0..count_of(day, prize)).filter_map(moment).collect();
        moments.sort_unstable();
        moments
    }

    /// Never `None` in a plan without problems.
    fn moment(&self, index: usize, day: &Day, prize: usize, i: u32) -> Option<Timestamp> {
        let weights = self.plan.header().curves.get(&day.curve)?;
        let part = day.part(weights.len())?;
        let [index, prize] = [index, prize].map(u32::try_from);
        let value = hmac_sha256(
            &self.seed,
            &[
                MOMENT_LABEL,
                &index.ok()?.to_be_bytes(),
                &prize.ok()?.to_be_bytes(),
                &i.to_be_bytes(),
            ],
        );
        let value = u64::from_be_bytes(*value.first_chunk()?);
        let range = sum(weights).checked_mul(part)?;
        let mut left = u64::try_from((u128::from(value) * u128::from(range)) >> 64).ok()?;
        let mut start = 0;
        for weight in weights.iter().copied().map(u64::from) {
            if left < part * weight {
                let millis = i64::try_from(start + left / weight).ok()?;
                return Some(day.start().shifted(millis));
            }
            left -= part * weight;
            start += part;
        }
        None
    }
}

impl DayMoments {
    pub fn day(&self) -> usize {
        self.day
    }

    /// Moments at or before a time of this day.
    pub fn due(&self, prize: usize, at: Timestamp) -> u32 {
        let earlier = self.earlier.get(prize).copied().unwrap_or_default();
        let today = self
            .today
            .get(prize)
            .map_or(0, |moments| moments.partition_point(|moment| *moment <= at));
        earlier.saturating_add(u32::try_from(today).unwrap_or(u32::MAX))
    }
}

masked_debug!(Schedule);

fn count_of(day: &Day, prize: usize) -> u32 {
    day.prizes.get(prize).copied().unwrap_or_default()
}

pub(super) fn hmac_sha256(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
    parts.iter().for_each(|part| context.update(part));
    let mut bytes = [0; 32];
    for (byte, signed) in bytes.iter_mut().zip(context.sign().as_ref()) {
        *byte = *signed;
    }
    bytes
}
