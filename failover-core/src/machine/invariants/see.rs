//! How the observer keeps its books of what the machine does: actions, as they are seen one by one.

use std::time::Duration;

use backend_api::Generation;

use super::book::{Book, Known, Marked};
use super::{Job, Observer, Step, Suspended, Work};
use crate::config::LameDuckAction;
use crate::machine::member::Link;
use crate::machine::{Action, Answer, End, MemberId, News, Phase, Reason, Request, Time};

/// Doublings of a grace at most.
const DOUBLINGS: u32 = 4;

impl Observer {
    pub(super) fn see(&mut self, step: &Step<'_>, action: &Action) {
        let now = step.after.now;
        let mut job = |op, work, member, generation, until| {
            let job = Job {
                work,
                member,
                generation,
                discounted: false,
                until,
            };
            self.jobs.insert(op, job);
        };
        match *action {
            Action::Connect(id, generation, op, _) => job(op, Work::Connect, id, generation, now),
            Action::Prove(id, generation, op) => job(op, Work::Prove, id, generation, now),
            Action::Arm(id, generation, op) => job(op, Work::Arm, id, generation, now),
            Action::Check(id, generation, op) => {
                let bound = self.books.get(&id).map(|book| book.rules.health.bound());
                let bound = bound.unwrap_or_default();
                job(op, Work::Check, id, generation, now + bound + bound / 10);
            }
            Action::Promote(id, generation, op, _) => {
                job(op, Work::Promote, id, generation, now);
                if let Some(seen) = self.seen.get_mut(&generation) {
                    seen.laden = true;
                }
            }
            Action::Drain(id, generation, op) => {
                job(op, Work::Drain, id, generation, now);
                if let Some(seen) = self.seen.get_mut(&generation) {
                    seen.laden = false;
                }
                self.drains.insert(generation, now + self.window(step, id));
            }
            Action::Cancel(op) => {
                if let Some(job) = self.jobs.remove(&op) {
                    if job.work == Work::Drain {
                        self.drains.remove(&job.generation);
                    }
                    // Given up while a stall may explain why it took so long: if that was why, it is not excused again.
                    if job.discounted
                        && let Some(book) = self.books.get_mut(&job.member)
                    {
                        book.excused.dial |= job.work == Work::Connect;
                        book.excused.proof |= matches!(job.work, Work::Prove | Work::Promote);
                    }
                    self.cancelled.push(job);
                }
            }
            Action::Activate(id, generation) => {
                self.active = Some((id, generation));
                self.forced = None;
                (self.rounds, self.rest) = (0, None);
                if let Some(seen) = self.seen.get_mut(&generation) {
                    seen.promoted = false;
                }
            }
            Action::Deactivate => self.active = None,
            Action::Retire(id, generation) => self.retired(id, generation),
            Action::Answer(id, answer) => {
                if let Some(Request::SwitchTo {
                    to, force: true, ..
                }) = self.asked.remove(&id)
                    && matches!(answer, Answer::Switched { to: there, .. } if there == to)
                {
                    self.forced = Some(to);
                }
            }
            Action::Started => self.started = true,
            Action::StartFailed => self.failed = true,
            Action::Closed => self.closed = true,
            Action::Forget(id) => {
                self.servers.remove(&id);
                self.books.remove(&id);
            }
            Action::Replaced(old, new) => self.replaced(old, new),
            Action::Tell(news) => self.told(step, news),
        }
    }

    fn retired(&mut self, id: MemberId, generation: Generation) {
        self.drains.remove(&generation);
        if let Some(seen) = self.seen.get_mut(&generation) {
            seen.retired = true;
            if seen.kept
                && let Some(book) = self.books.get_mut(&id)
            {
                book.health = Known::Unknown;
            }
        }
    }

    fn replaced(&mut self, old: MemberId, new: MemberId) {
        let Some(Book { weight, mark, .. }) = self.books.get(&old).cloned() else {
            return;
        };
        if let Some(book) = self.books.get_mut(&new) {
            book.weight = weight;
            if mark == Some(Marked::Operator) {
                book.mark = mark;
            }
        }
        if self.forced == Some(old) {
            self.forced = Some(new);
        }
    }

    fn told(&mut self, step: &Step<'_>, news: News) {
        let now = step.after.now;
        match news {
            News::Switched {
                from, to, reason, ..
            } => self.moved(step, from, to, reason),
            News::Breaker(id, open) => {
                let grace = self.rules.failback.grace.max(Duration::from_millis(1));
                if let Some(book) = self.books.get_mut(&id) {
                    book.broken = open.then_some(now + grace);
                    book.window.clear();
                }
            }
            // In a batch it was not clear whether the connection was still there to say so.
            News::LameDuck(id, true) => {
                let on = self.open().find(|(of, _)| *of == id);
                let on = on.map(|(_, generation)| generation);
                if let (Some(on), Some(book)) = (on, self.books.get_mut(&id)) {
                    let until = now + super::hear::ANNOUNCEMENT;
                    book.mark.get_or_insert(Marked::Announced { on, until });
                }
            }
            News::LameDuck(id, false) => {
                // One that was announced in the same batch came after it.
                if let Some(book) = self.books.get_mut(&id)
                    && book.mark != Some(Marked::Operator)
                    && !self.announced.contains(&id)
                {
                    book.mark = None;
                }
            }
            News::AllDown(_) => self.rounds += 1,
            News::DialFailed(id) | News::ReplacementFailed(id) => {
                // A replacement may also fail later.
                let dialled = step
                    .before
                    .member(id)
                    .is_some_and(|member| matches!(member.link, Link::Dialling { .. }));
                if let Some(book) = self.books.get_mut(&id).filter(|_| dialled) {
                    book.failed = true;
                    book.refused = book.refused.saturating_add(1);
                    book.refused_at = now;
                }
                self.rest_after(step);
            }
            News::Lost(id, _) => {
                if let Some(book) = self.books.get_mut(&id) {
                    book.failed = true;
                }
            }
            _ => {}
        }
    }

    /// Known to be down as a whole, a group with `standby = N` rests between its dials. Without jitter, since with it a
    /// rest may be as short as nothing.
    fn rest_after(&mut self, step: &Step<'_>) {
        let after = step.after;
        let outage = after.phase == Phase::Running && self.active.is_none();
        if outage && self.rounds > 0 {
            let members = after.members.iter().filter(|member| member.takes_part());
            let members = u32::try_from(members.count()).unwrap_or(u32::MAX).max(1);
            let reconnect = self.rules.member.reconnect;
            self.rest = Some(after.now + reconnect.initial.min(reconnect.max / members));
        }
    }

    /// Traffic moved: grace for whom it had to leave, and who decides about failback from here on.
    fn moved(&mut self, step: &Step<'_>, from: Option<MemberId>, to: MemberId, reason: Reason) {
        let now = step.after.now;
        let goes_on = from.is_some_and(|from| step.actions.contains(&Action::Replaced(from, to)));
        let left = from.filter(|from| *from != to && !goes_on);
        let failed = matches!(
            reason,
            Reason::Lost | Reason::Health | Reason::Breaker | Reason::LameDuck
        );
        if let Some(left) = left.filter(|_| failed) {
            self.begin_grace(now, left);
            if self.suspended == Some(Suspended::Moved) {
                self.suspended = None;
            }
        }
        if reason == Reason::Manual {
            self.suspended.get_or_insert(Suspended::Moved);
        }
        if let Some(book) = self.books.get_mut(&to) {
            book.returned = (reason == Reason::Failback).then_some(now);
        }
    }

    fn begin_grace(&mut self, now: Time, left: MemberId) {
        let grace = self.rules.failback.grace;
        let Some(book) = self.books.get_mut(&left) else {
            return;
        };
        let soon = book.returned.is_some_and(|at| now.since(at) < grace);
        book.streak = if soon {
            (book.streak + 1).min(DOUBLINGS)
        } else {
            0
        };
        let until = now + grace.saturating_mul(1 << book.streak);
        // A grace of nothing ends none that goes on.
        if !grace.is_zero() {
            book.grace = Some(until);
        }
        if book.broken.is_some() {
            book.broken = Some(until);
        }
    }

    /// How long the connection of `id`, which begins to drain, may go on.
    pub(super) fn window(&self, step: &Step<'_>, id: MemberId) -> Duration {
        match self.end {
            Some(End::Drain(window)) if step.before.active == Some(id) => window,
            // What was promoted in vain goes as quickly as after a steal.
            _ => self.rules.switch_grace,
        }
    }

    /// How the move that has just begun is to end the old connection.
    pub(super) fn note_end(&mut self, step: &Step<'_>) {
        let Some(switch) = &step.after.switch else {
            return;
        };
        let usual = End::Drain(self.rules.lame_duck.drain_window);
        let drains = self.rules.lame_duck.action == LameDuckAction::DrainToPassive;
        let asked = switch.caller.and_then(|id| self.asked.get(&id));
        self.end = Some(match (switch.reason, asked) {
            (
                Reason::Manual,
                Some(Request::SwitchTo { end, .. } | Request::SwitchToPassive { end }),
            ) => *end,
            (Reason::Failback | Reason::Removed | Reason::Reconfigured, _) => usual,
            (Reason::LameDuck, _) if drains => usual,
            _ => End::Steal,
        });
    }
}
