//! The end: everything is cancelled and retired, everybody is answered, nothing is left.

use std::time::Duration;

use super::member::{Leaving, Link};
use super::timers::{Timer, Timers};
use super::{Action, Answer, Machine, MemberId, Phase, Refusal, RequestId};

/// The longest that a close waits for backends to retire their connections.
const CLOSE_BOUND: Duration = Duration::from_secs(10);

impl Machine {
    pub(super) fn close_requested(&mut self, id: RequestId) {
        if self.phase == Phase::Closed {
            self.answer(id, Answer::Done);
            return;
        }
        self.closing.push(id);
        self.begin_close();
    }

    pub(super) fn begin_close(&mut self) {
        if matches!(self.phase, Phase::Closing | Phase::Closed) {
            return;
        }
        self.phase = Phase::Closing;
        if self.active.take().is_some() {
            self.act(Action::Deactivate);
        }
        if let Some(caller) = self.switch.take().and_then(|switch| switch.caller) {
            self.refuse(caller, Refusal::Closed);
        }
        while let Some((id, _)) = self.queue.pop_front() {
            self.refuse(id, Refusal::Closed);
        }
        let leaving: Vec<RequestId> = self
            .members
            .iter_mut()
            .filter_map(|member| member.leaving.take())
            .filter_map(|(_, request): (Leaving, Option<RequestId>)| request)
            .collect();
        for request in leaving {
            self.refuse(request, Refusal::Closed);
        }
        let all: Vec<MemberId> = self.members.iter().map(|member| member.id).collect();
        for id in all {
            self.retire(id);
        }
        self.redial = None;
        self.returning = None;
        self.timers = Timers::default();
        self.timers.set(Timer::Close, self.now + CLOSE_BOUND);
    }

    pub(super) fn close_overdue(&mut self) {
        for member in &mut self.members {
            member.link = Link::Cold;
        }
        self.lingering.clear();
    }

    pub(super) fn settle_close(&mut self) {
        let left = self.members.iter().any(|member| member.link != Link::Cold);
        if left || !self.lingering.is_empty() {
            return;
        }
        self.phase = Phase::Closed;
        self.timers = Timers::default();
        for id in std::mem::take(&mut self.closing) {
            self.answer(id, Answer::Done);
        }
        self.act(Action::Closed);
    }
}
