//! Everything that the machine waits for, as one table; the next deadline is its minimum.

use std::collections::{BTreeMap, BTreeSet};

use super::MemberId;
use super::time::Time;

/// What is due when a time comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Timer {
    /// The longest that a start can take.
    Startup,
    /// The longest that a close can take.
    Close,
    /// A lost active had its chance to answer the redial.
    Redial,
    /// The one dialling loop of a whole outage goes round.
    Round,
    /// A missing standby may be armed.
    Rearm,
    /// The adopted candidate may be failed back to.
    Failback,
    /// The longest that a planned switch may wait for its target's connection.
    Target,
    /// A connection attempt must have ended.
    Connect(MemberId),
    /// A proof, an arming or a promotion must have ended.
    Task(MemberId),
    /// The next check.
    Check(MemberId),
    /// A running check must have ended.
    CheckBound(MemberId),
    /// The next dial.
    Dial(MemberId),
    /// The drain window ends.
    Drain(MemberId),
    /// A retirement must have ended.
    Retire(MemberId),
    /// The grace ends.
    Grace(MemberId),
    /// The lame-duck mark expires.
    Mark(MemberId),
    /// A lame duck may be asked whether it is back.
    Ask(MemberId),
    /// An open breaker may be tried again.
    Breaker(MemberId),
    /// A suspicion that came too soon after the last is looked into.
    Suspicion(MemberId),
}

impl Timer {
    fn member(self) -> Option<MemberId> {
        match self {
            Timer::Connect(id)
            | Timer::Task(id)
            | Timer::Check(id)
            | Timer::CheckBound(id)
            | Timer::Dial(id)
            | Timer::Drain(id)
            | Timer::Retire(id)
            | Timer::Grace(id)
            | Timer::Mark(id)
            | Timer::Ask(id)
            | Timer::Breaker(id)
            | Timer::Suspicion(id) => Some(id),
            Timer::Startup
            | Timer::Close
            | Timer::Redial
            | Timer::Round
            | Timer::Rearm
            | Timer::Failback
            | Timer::Target => None,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Timers {
    times: BTreeMap<Timer, Time>,
    queue: BTreeSet<(Time, Timer)>,
}

impl Timers {
    pub(super) fn set(&mut self, timer: Timer, at: Time) {
        self.clear(timer);
        self.times.insert(timer, at);
        self.queue.insert((at, timer));
    }

    pub(super) fn clear(&mut self, timer: Timer) {
        if let Some(at) = self.times.remove(&timer) {
            self.queue.remove(&(at, timer));
        }
    }

    pub(super) fn at(&self, timer: Timer) -> Option<Time> {
        self.times.get(&timer).copied()
    }

    pub(super) fn is_set(&self, timer: Timer) -> bool {
        self.times.contains_key(&timer)
    }

    pub(super) fn next(&self) -> Option<Time> {
        self.queue.first().map(|(at, _)| *at)
    }

    pub(super) fn pop_due(&mut self, now: Time) -> Option<Timer> {
        let (at, timer) = *self.queue.first()?;
        if at > now {
            return None;
        }
        self.clear(timer);
        Some(timer)
    }

    /// Forgets all that concerns a member: it is gone.
    pub(super) fn forget(&mut self, member: MemberId) {
        let gone: Vec<Timer> = self
            .times
            .keys()
            .copied()
            .filter(|timer| timer.member() == Some(member))
            .collect();
        for timer in gone {
            self.clear(timer);
        }
    }

    /// Puts off every deadline for which `select` holds: the process itself was stalled.
    pub(super) fn put_off(&mut self, until: Time, select: impl Fn(Timer) -> bool) {
        let late: Vec<Timer> = self
            .times
            .iter()
            .filter(|&(&timer, &at)| at < until && select(timer))
            .map(|(&timer, _)| timer)
            .collect();
        for timer in late {
            self.set(timer, until);
        }
    }

    /// For those who look at the whole state.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (Timer, Time)> + '_ {
        self.times.iter().map(|(timer, at)| (*timer, *at))
    }
}
