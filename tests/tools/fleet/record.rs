//! What happened, as counts: per second for the whole fleet, per client for who is without what. Figures are made of
//! it elsewhere.

use failover_core::machine::{News, Reason};

use crate::brokers::{Micros, SECOND};

/// How often something happened in each second since the record began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PerSecond(pub(crate) Vec<u64>);

impl PerSecond {
    pub(crate) fn count(&mut self, since_zero: Micros) {
        let second = (since_zero / SECOND) as usize;
        if self.0.len() <= second {
            self.0.resize(second + 1, 0);
        }
        self.0[second] += 1;
    }

    pub(crate) fn peak(&self) -> u64 {
        self.0.iter().copied().max().unwrap_or(0)
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    pub(crate) fn at(&self, second: usize) -> u64 {
        self.0.get(second).copied().unwrap_or(0)
    }
}

/// What is known of one client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fate {
    /// Since when it is without an active; from the first moment on.
    pub(crate) without_active: Option<Micros>,
    /// When it had an active again last.
    pub(crate) back_at: Micros,
    /// When it was complete again last: an active and a standby.
    pub(crate) whole_at: Micros,
    pub(crate) degraded: bool,
    /// The longest that it was without an active.
    pub(crate) longest_gap: Micros,
    /// Most dials under way at once while it was without an active.
    pub(crate) most_dials: usize,
}

/// One scenario's record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    /// When it began.
    pub(crate) zero: Micros,
    pub(crate) dials: PerSecond,
    pub(crate) switches: PerSecond,
    pub(crate) failbacks: PerSecond,
    pub(crate) fates: Vec<Fate>,
}

impl Record {
    /// A fleet of which nobody has an active yet.
    pub(crate) fn new(clients: usize) -> Self {
        let fate = Fate {
            without_active: Some(0),
            ..Fate::default()
        };
        Self {
            fates: vec![fate; clients],
            ..Self::default()
        }
    }

    /// What happened so far was the setting-up.
    pub(crate) fn begin(&mut self, now: Micros) {
        self.zero = now;
        self.dials = PerSecond::default();
        self.switches = PerSecond::default();
        self.failbacks = PerSecond::default();
        for fate in &mut self.fates {
            fate.longest_gap = 0;
            fate.most_dials = 0;
            fate.back_at = now;
            fate.whole_at = now;
        }
    }

    /// Everybody has an active and a standby.
    pub(crate) fn is_whole(&self) -> bool {
        self.fates
            .iter()
            .all(|fate| fate.without_active.is_none() && !fate.degraded)
    }

    pub(crate) fn dialled(&mut self, client: usize, now: Micros, under_way: usize) {
        self.dials.count(now - self.zero);
        let fate = &mut self.fates[client];
        if fate.without_active.is_some() {
            fate.most_dials = fate.most_dials.max(under_way);
        }
    }

    pub(crate) fn activated(&mut self, client: usize, now: Micros) {
        let fate = &mut self.fates[client];
        if let Some(since) = fate.without_active.take() {
            fate.longest_gap = fate.longest_gap.max(now - since);
            fate.back_at = now;
        }
    }

    pub(crate) fn deactivated(&mut self, client: usize, now: Micros) {
        self.fates[client].without_active.get_or_insert(now);
    }

    pub(crate) fn told(&mut self, client: usize, now: Micros, news: News) {
        let since_zero = now - self.zero;
        match news {
            News::Switched { reason, .. } => {
                self.switches.count(since_zero);
                if reason == Reason::Failback {
                    self.failbacks.count(since_zero);
                }
            }
            News::Degraded => self.fates[client].degraded = true,
            News::Whole => {
                self.fates[client].degraded = false;
                self.fates[client].whole_at = now;
            }
            _ => {}
        }
    }
}
