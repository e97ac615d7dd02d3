//! Random numbers that repeat under the same seed.

/// A sequence of numbers that depends on its seed alone.
#[derive(Debug, Clone)]
pub struct SeededRng {
    state: u64,
}

impl SeededRng {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number. The generator is `SplitMix64`: a full period over the seed, and neighbours
    /// share no visible pattern.
    pub fn next_number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 for the bound 0. Small bounds are hit evenly enough for a test.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_number().checked_rem(bound).unwrap_or_default()
    }

    /// True `rate` times in a thousand.
    pub fn happens(&mut self, rate: u16) -> bool {
        self.below(1000) < u64::from(rate)
    }

    /// One of several; `None` if there are none.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let index = self.below(u64::try_from(from.len()).unwrap_or(u64::MAX));
        usize::try_from(index).ok().and_then(|index| from.get(index))
    }
}
