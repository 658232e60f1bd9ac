//! Which faults happen when: a pure function of the seed, the kinds, the target and the length.
//!
//! Each member has a lane of its own, and so have the group and this process together. Within a lane one fault follows
//! another, so several go on at a time, on different members. A lane draws its kinds from a bag, which holds each kind
//! once and is filled again when it is empty: so all kinds come about equally often.
//!
//! What must never come in: a clock, and chance that does not come from the seed.

#[cfg(test)]
mod tests;

use crate::dice::Dice;
use crate::kinds::FaultKind;
use crate::record::{Member, Micros, Target};

/// Milliseconds in the record's unit.
const MILLI: Micros = 1000;
/// Nothing happens for so long at the beginning and at the end, unless the run is short.
const QUIET: Micros = 5000 * MILLI;
/// The part of a short run that is quiet at either end.
const QUIET_PART: Micros = 5;
/// No more than this with a fault on every member at the same time, the time to come back aside.
const ALL_HURT: Micros = 1500 * MILLI;
/// Between two faults of one member, in milliseconds.
const PAUSE: (u32, u32) = (300, 3500);
/// Between two faults of the group or this process.
const PAUSE_OF_GROUP: (u32, u32) = (1000, 5000);

/// How often each kind comes, if there is time for it: one more than a run needs, since one that is late is left out.
const ENOUGH: usize = 6;
/// Percent of the usual times, of which the first is taken that is enough.
const SCALES: [u32; 5] = [100, 75, 55, 40, 30];

/// One fault, as planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) kind: FaultKind,
    /// None where it is done to the group or to this process.
    pub(crate) member: Option<Member>,
    pub(crate) begin: Micros,
    pub(crate) end: Micros,
    /// Decides what the kind leaves open: a direction, a rate, whom to move to.
    pub(crate) twist: u64,
}

/// How long nothing happens at either end.
pub(crate) fn quiet(length: Micros) -> Micros {
    QUIET.min(length / QUIET_PART)
}

/// All faults of a run, in the order of their beginnings: at full length if each kind comes often enough then, shorter and
/// closer together in a run that has little time.
pub(crate) fn plan(seed: u64, kinds: &[FaultKind], target: Target, length: Micros) -> Vec<Planned> {
    let plans = SCALES.map(|scale| at_scale(seed, kinds, target, length, scale));
    let enough = |plan: &&Vec<Planned>| {
        let count = |kind| plan.iter().filter(|fault| fault.kind == kind).count();
        kinds.iter().all(|kind| count(*kind) >= ENOUGH)
    };
    let found = plans.iter().find(enough).or(plans.last());
    found.cloned().unwrap_or_default()
}

fn at_scale(
    seed: u64,
    kinds: &[FaultKind],
    target: Target,
    length: Micros,
    scale: u32,
) -> Vec<Planned> {
    let mut dice = Dice::new(seed);
    let of = |hits: bool| -> Vec<FaultKind> {
        let kinds = kinds.iter().copied();
        kinds.filter(|kind| kind.hits_a_member() == hits).collect()
    };
    let lane = |member, hits| Lane::new(member, of(hits), scale);
    let members = (0..target.members()).map(|member| lane(Some(member), true));
    let group = lane(None, false);
    let mut lanes: Vec<_> = members.chain([group]).filter(Lane::is_used).collect();
    for lane in &mut lanes {
        lane.at = quiet(length) + lane.pause(&mut dice);
    }
    let end = length - quiet(length);
    let mut planned: Vec<Planned> = Vec::new();
    // Always the lane that is behind, so that each knows what the others are doing at that time.
    while let Some(lane) = lanes.iter_mut().min_by_key(|lane| lane.at) {
        if lane.at >= end {
            break;
        }
        planned.extend(lane.next(&planned, target, end, &mut dice));
    }
    planned.sort_by_key(|fault| (fault.begin, fault.member));
    planned
}

struct Lane {
    member: Option<Member>,
    kinds: Vec<FaultKind>,
    bag: Vec<FaultKind>,
    /// Percent of the usual times.
    scale: u32,
    /// When the next fault begins.
    at: Micros,
}

impl Lane {
    fn new(member: Option<Member>, kinds: Vec<FaultKind>, scale: u32) -> Self {
        Self {
            scale,
            member,
            kinds,
            bag: Vec::new(),
            at: 0,
        }
    }

    fn is_used(&self) -> bool {
        !self.kinds.is_empty()
    }

    fn pause(&self, dice: &mut Dice) -> Micros {
        let pause = match self.member {
            Some(_) => PAUSE,
            None => PAUSE_OF_GROUP,
        };
        between(dice, pause) / 100 * self.scale
    }

    fn next(
        &mut self,
        before: &[Planned],
        target: Target,
        last: Micros,
        dice: &mut Dice,
    ) -> Option<Planned> {
        if self.bag.is_empty() {
            self.bag.clone_from(&self.kinds);
        }
        let place = dice.below(self.bag.len() as u64) as usize;
        let kind = self.bag.swap_remove(place);
        let begin = self.at;
        // Whoever was hurt is back when the quiet spell begins.
        let last = last - kind.recovers(target) * MILLI;
        let lasts = between(dice, kind.lasts()) / 100 * self.scale;
        let mut end = (begin + lasts.max(MILLI)).min(last);
        if self.member.is_some() {
            end = end.min(self.limit(before, target, begin));
        }
        self.at = end.max(begin) + kind.recovers(target) * MILLI + self.pause(dice);
        let twist = dice.next();
        (begin < last).then_some(Planned {
            kind,
            member: self.member,
            begin,
            end,
            twist,
        })
    }

    /// Until when a fault may last that begins now. While all other members are hurt or on their way back, not for long.
    fn limit(&self, before: &[Planned], target: Target, begin: Micros) -> Micros {
        let mut others = (0..target.members()).filter(|other| Some(*other) != self.member);
        let hurt = |other: Member| {
            let of_other = before.iter().filter(|fault| fault.member == Some(other));
            let back = of_other.map(|fault| fault.end + fault.kind.recovers(target) * MILLI);
            back.max().is_some_and(|back| back > begin)
        };
        if others.all(hurt) {
            begin + ALL_HURT
        } else {
            Micros::MAX
        }
    }
}

/// A time within these milliseconds.
fn between(dice: &mut Dice, (least, most): (u32, u32)) -> Micros {
    let span = u64::from(most - least) * u64::from(MILLI);
    least * MILLI + dice.below(span.max(1)) as Micros
}
