//! The stall guard: a process that was itself stalled (swapped out, starved, stopped) must not condemn its members. What
//! timed out while its own clock was late says nothing, once: a repetition that fails too does say something.

use std::time::Duration;

use crate::machine::member::Link;
use crate::machine::timers::Timer;
use crate::machine::{Machine, News, Phase};

/// How long after a stall the answers that piled up may still come in.
const CATCH_UP: Duration = Duration::from_millis(50);

impl Machine {
    pub(in crate::machine) fn stalled(&mut self) {
        if matches!(self.phase, Phase::Closing | Phase::Closed) {
            return;
        }
        for member in &mut self.members {
            member.window.clear();
            if let Some(check) = &mut member.check {
                check.discounted |= !member.excused.check;
            }
            match &mut member.link {
                Link::Dialling { discounted, .. } => *discounted |= !member.excused.dial,
                Link::Open(open) => {
                    if let Some(task) = &mut open.task {
                        task.discounted |= !member.excused.proof;
                    }
                }
                Link::Cold | Link::Retiring { .. } => {}
            }
        }
        let until = self.now + CATCH_UP;
        self.timers.put_off(until, |timer| {
            matches!(
                timer,
                Timer::Connect(_)
                    | Timer::Task(_)
                    | Timer::CheckBound(_)
                    | Timer::Redial
                    | Timer::Target
            )
        });
        self.tell(News::Stalled);
    }
}
