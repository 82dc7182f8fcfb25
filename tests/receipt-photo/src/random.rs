//! Random numbers that depend only on the seed (SplitMix64).

pub(crate) struct Sequence(u64);

impl Sequence {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// 0 to below 1.
    pub(crate) fn fraction(&mut self) -> f32 {
        // 16 bits are plenty, and exact in an `f32`.
        let bits = u16::try_from(self.next() >> 48).unwrap_or_default();
        f32::from(bits) / 65_536.0
    }

    pub(crate) fn between(&mut self, low: f32, high: f32) -> f32 {
        low + self.fraction() * (high - low)
    }

    /// Nearly normal, with mean 0 and deviation 1.
    pub(crate) fn normal(&mut self) -> f32 {
        let sum: f32 = (0..6).map(|_| self.fraction()).sum();
        // Six uniform numbers have mean 3 and variance 1/2.
        (sum - 3.0) * std::f32::consts::SQRT_2
    }
}
