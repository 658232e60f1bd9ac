//! The machine's own randomness: seeded from outside and part of its state, so that a history can be repeated.

use std::time::Duration;

/// A seed of zero means no jitter at all: what table tests and the exhaustive search use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> Option<u64> {
        if self.0 == 0 {
            return None;
        }
        // splitmix64: its state is any number, and ours must stay clear of zero.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15).max(1);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some(z ^ (z >> 31))
    }

    /// A ticket for shuffling; the same for everybody without jitter.
    pub(super) fn ticket(&mut self) -> u64 {
        self.next().unwrap_or(0)
    }

    /// A delay between zero and `most`: full jitter. Without jitter `most`.
    pub(super) fn up_to(&mut self, most: Duration) -> Duration {
        match self.next() {
            Some(draw) => fraction(most, draw),
            None => most,
        }
    }

    /// A delay that spreads many groups over `width`. Without jitter zero.
    pub(super) fn spread(&mut self, width: Duration) -> Duration {
        match self.next() {
            Some(draw) if !width.is_zero() => fraction(width, draw),
            _ => Duration::ZERO,
        }
    }

    /// `period`, give or take a tenth.
    pub(super) fn around(&mut self, period: Duration) -> Duration {
        match self.next() {
            Some(draw) => period * 9 / 10 + fraction(period / 5, draw),
            None => period,
        }
    }
}

fn fraction(of: Duration, draw: u64) -> Duration {
    let micros = u128::from(draw) * of.as_micros() / u128::from(u64::MAX);
    Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
}
