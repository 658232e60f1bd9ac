//! The chance of a play: numbers from a seed, the same each time.

/// A generator of numbers. Zero is a seed like any other.
#[derive(Clone, Debug)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        // splitmix64, as in the machine's own generator.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `most`, which is not zero.
    pub(super) fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    /// True so many times of a hundred.
    pub(super) fn percent(&mut self, share: u64) -> bool {
        share > 0 && self.below(100) < share
    }
}
