//! The good world: what must come of every state once nothing fails any more, and how a group gets to rest.

use super::event::Event;
use super::world::World;
use crate::config::Standby;
use crate::machine::invariants::Violation;
use crate::machine::member::{Mark, Member, Stage};
use crate::machine::{Input, MemberId, Phase, Time};

impl World {
    /// From here on nothing fails: is there an active, with its standby, and is everybody answered, in bounded time?
    pub(in crate::machine) fn recovers(mut self) -> Result<(), Violation> {
        // Sixteen times the longest grace, an announcement, and room for the jitter.
        const LONGEST: u64 = 1_000_000_000;
        let until = Time(self.machine.now.0 + LONGEST);
        self.faults = u8::MAX;
        self.flight.retain(|flight| !flight.is_late());
        for _ in 0..40_000 {
            if self.is_well() {
                return Ok(());
            }
            let event = if self.flight.is_empty() {
                Event::Wait
            } else {
                Event::Well(0)
            };
            if self.machine.next_deadline().is_none() && self.flight.is_empty() {
                break;
            }
            if self.machine.now > until {
                break;
            }
            if let Err(broken) = self.happen(event) {
                let after = self.portrait();
                return Err(format!("while recovering: {broken}, by {event:?}\n{after}"));
            }
            self.flight.retain(|flight| !flight.is_late());
        }
        Err(format!("never well again: {}", self.portrait()))
    }

    fn is_well(&self) -> bool {
        let machine = &self.machine;
        if self.observer.waiting() > 0 {
            return false;
        }
        match machine.phase {
            Phase::Closed => return self.flight.is_empty(),
            Phase::Running => {}
            Phase::Starting { .. } | Phase::Closing => return false,
        }
        let Some(active) = machine.active else {
            return false;
        };
        let others = machine.members.iter().filter(|member| member.id != active);
        let eligible = others
            .clone()
            .filter(|member| member.takes_part() && member.mark != Some(Mark::Operator))
            .count();
        let armed = others
            .filter(|member| member.stage() == Some(Stage::Standby) && !member.is_unhealthy())
            .count();
        let wanted = match self.observer.rules().standby {
            Standby::All => 1,
            Standby::Count(count) => count as usize,
        };
        // Whoever was to go has gone, if there is somebody to stay, and whoever was to come has come.
        let others = machine
            .members
            .iter()
            .any(|member| member.stays() && member.mark != Some(Mark::Operator));
        let settled = machine.members.iter().all(|member| {
            (member.outgoing.is_none() || !others)
                && (member.replaces.is_none() || member.mark.is_some())
        });
        settled
            && machine.switch.is_none()
            && self.is_home(active)
            && armed >= wanted.min(eligible)
            && self.stands_apart(active, wanted)
    }

    /// Traffic is where it belongs: with nobody heavier to go back to, unless the rules or an operator keep it.
    fn is_home(&self, active: MemberId) -> bool {
        let weight = |id| self.observer.weight(id);
        let heavier = self.machine.members.iter().any(|member| {
            weight(member.id) > weight(active)
                && member.stays()
                && member.mark != Some(Mark::Operator)
        });
        !heavier || !self.observer.returns()
    }

    /// No standby shares the active's server while another eligible member could be one: with all of them connected, at
    /// least one stands by elsewhere.
    fn stands_apart(&self, active: MemberId, wanted: usize) -> bool {
        let machine = &self.machine;
        let twin = |member: &Member| self.observer.is_twin(machine, member.id);
        let others = || {
            let members = machine.members.iter();
            members.filter(|member| member.id != active && member.takes_part())
        };
        let could = others().filter(|member| !twin(member) && member.mark.is_none());
        let armed =
            |member: &&Member| member.stage() == Some(Stage::Standby) && !member.is_unhealthy();
        let apart = others()
            .filter(|member| !twin(member))
            .filter(armed)
            .count();
        let weight = self.observer.weight(active);
        let sharing = others()
            .filter(|member| twin(member))
            .filter(armed)
            // Kept for failback, and no standby's substitute.
            .filter(|member| {
                !self.observer.rules().failback.enabled || self.observer.weight(member.id) <= weight
            })
            .count();
        let shares =
            self.observer.rules().standby != Standby::All && apart >= wanted && sharing > 0;
        apart >= wanted.min(could.count()) && !shares
    }

    /// The state in a few words, for whoever reads a history.
    pub(in crate::machine) fn portrait(&self) -> String {
        use std::fmt::Write as _;
        let machine = &self.machine;
        let mut text = format!("{:?} active {:?}", machine.phase, machine.active);
        if let Some(switch) = &machine.switch {
            let _ = write!(
                text,
                " -> {:?} {:?} {:?}",
                switch.to, switch.reason, switch.step
            );
        }
        for member in &machine.members {
            let link = match member.open() {
                Some(open) => format!("{:?} {:?}", open.stage, open.task.map(|task| task.kind)),
                None => format!("{:?}", member.link),
            };
            let _ = write!(text, " | {} {link} {:?}", member.id.0, member.health);
            for (name, is) in [
                ("broken", member.broken),
                ("marked", member.mark.is_some()),
                ("tried", member.tried),
                ("grace", machine.in_grace(member.id)),
                ("leaving", member.leaving.is_some()),
                ("outgoing", member.outgoing.is_some()),
                ("replacing", member.replaces.is_some()),
                ("disabled", !member.enabled),
            ] {
                if is {
                    let _ = write!(text, " {name}");
                }
            }
        }
        let _ = write!(text, " | flight {:?}", self.flight);
        let due: Vec<_> = machine
            .timers
            .iter()
            .map(|(timer, at)| (timer, at.since(machine.now)))
            .collect();
        let _ = write!(text, " | timers {due:?}");
        text
    }

    /// The first call of the machine.
    pub(in crate::machine) fn begun(mut self) -> Self {
        let begun = self.handle(Time(0), &[Input::Tick]);
        assert!(begun.is_ok(), "{begun:?}");
        self
    }

    /// A group that has started, with nothing in flight.
    pub(super) fn well(self) -> Self {
        let mut world = self.begun();
        while !(world.is_well() && world.flight.is_empty()) {
            let event = if world.flight.is_empty() {
                Event::Wait
            } else {
                Event::Well(0)
            };
            let happened = world.happen(event);
            assert!(happened.is_ok(), "{happened:?}");
        }
        world
    }
}
