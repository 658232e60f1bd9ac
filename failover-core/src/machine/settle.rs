//! The order in which the machine decides, after everything that happened is recorded.

use super::member::Leaving;
use super::{End, Machine, Phase, Reason};

impl Machine {
    pub(super) fn settle(&mut self) {
        if matches!(self.phase, Phase::Starting { .. }) {
            // A dial draws a new ticket, and the walk goes by it.
            self.settle_links();
            self.settle_startup();
        }
        if self.phase == Phase::Closing {
            self.settle_close();
        }
        loop {
            let running = self.phase == Phase::Running;
            if running {
                self.settle_places();
                self.reconsider_redial();
                self.reconsider_switch();
                // Before the calls that wait for the end of this move.
                self.settle_promoted();
                self.settle_requests();
                self.settle_active();
            }
            // Whoever leaves makes room for a standby, and for whoever takes its place.
            let gone = self.settle_departures();
            if running && !gone {
                self.settle_links();
            }
            // A move that was given up, or a connection that was ended, sets somebody free to go.
            let changed = running && self.settle_places();
            if !gone && !changed {
                break;
            }
        }
        self.settle_condition();
    }

    /// Lets those go that are to go, and those take their places that are to take them. Whether that changed anything.
    fn settle_places(&mut self) -> bool {
        if !self.shifting {
            return false;
        }
        let going = self.settle_outgoing();
        let replaced = self.settle_successors();
        self.shifting = self
            .members
            .iter()
            .any(|member| member.outgoing.is_some() || member.replaces.is_some());
        going || replaced
    }

    /// Gives the group an active, or a better one.
    fn settle_active(&mut self) {
        if let Some(redialled) = self.answered_redial() {
            self.return_to_redialled(redialled);
        }
        if self.switch.is_some() {
            self.advance_switch();
            return;
        }
        let Some(active) = self.active else {
            if let Some(to) = self.last_resort() {
                let reason = self.reason_without_active();
                self.begin_switch(to, reason, End::Steal, None);
            }
            return;
        };
        self.settle_force();
        if let Some(to) = self.ready_successor(active) {
            self.begin_switch(to, Reason::Reconfigured, self.usual_drain(), None);
            return;
        }
        if let Some((reason, end)) = self.must_move(active) {
            if let Some(to) = self.refuge(reason) {
                self.begin_switch(to, reason, end, None);
            }
            return;
        }
        self.settle_failback();
    }

    /// Why the traffic should leave the active as soon as there is somewhere to go.
    pub(super) fn must_move(&self, active: super::MemberId) -> Option<(Reason, End)> {
        let member = self.member(active)?;
        if let Some((leaving, _)) = member.leaving {
            return Some(match leaving {
                Leaving::Disable | Leaving::Remove => (Reason::Removed, self.usual_drain()),
            });
        }
        if member.outgoing.is_some() {
            return Some((Reason::Removed, self.usual_drain()));
        }
        if self.is_held_by_force(active) {
            return None;
        }
        if let Some(end) = self.lame_duck_moves(member) {
            return Some((Reason::LameDuck, end));
        }
        if matches!(member.health, super::member::Health::Unhealthy { .. }) {
            return Some((Reason::Health, End::Steal));
        }
        member.broken.then_some((Reason::Breaker, End::Steal))
    }

    /// Failback, removal and disabling let the old connection finish for the usual window.
    pub(super) fn usual_drain(&self) -> End {
        End::Drain(self.rules.lame_duck.drain_window)
    }
}
