//! From records to the figures that are printed: what each of them means stands here and nowhere else.

use crate::brokers::{Micros, SECOND};
use crate::record::PerSecond;

/// How long until so many of the clients were back, in seconds since the brokers' return.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Back {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

impl Back {
    pub(crate) fn of(mut times: Vec<Micros>) -> Self {
        times.sort_unstable();
        Self {
            p50: seconds(percentile(&times, 50)),
            p99: seconds(percentile(&times, 99)),
            max: seconds(percentile(&times, 100)),
        }
    }
}

/// One fleet in the whole outage.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figures {
    /// Dials at all brokers in each second since the outage began.
    pub(crate) dials: PerSecond,
    pub(crate) back: Back,
}

/// Nearest rank: the smallest time by which so many per cent are done.
fn percentile(sorted: &[Micros], percent: usize) -> Micros {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted
        .get(rank.saturating_sub(1))
        .copied()
        .unwrap_or_default()
}

pub(crate) fn seconds(micros: Micros) -> f64 {
    micros as f64 / SECOND as f64
}

/// An admission queue at the brokers in which all stand from the first moment, and that never idles.
pub(crate) fn ideal(clients: u32, accept_rate: u32) -> Back {
    let after = |percent: u64| {
        let served = (u64::from(clients) * percent).div_ceil(100);
        served as f64 / f64::from(accept_rate)
    };
    Back {
        p50: after(50),
        p99: after(99),
        max: after(100),
    }
}
