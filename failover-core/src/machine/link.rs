//! What happens on one connection: the one task under way on it, and its end.

use std::time::Duration;

use backend_api::Generation;

use super::member::{Link, Stage, Task, TaskKind};
use super::timers::Timer;
use super::{Action, Machine, MemberId, Op};

/// The longest that anybody waits for a backend's `retire`. The contract asks for much less; a retirement that takes
/// longer is still awaited, but in the background.
const RETIRE_BOUND: Duration = Duration::from_secs(5);

/// Least time between two proofs of the same suspicion: a storm of failing operations on a live connection must not
/// become a storm of proofs.
const SUSPICION_SPACING: Duration = Duration::from_millis(10);

impl Machine {
    /// Starts a task on an open connection, in place of whatever was under way on it.
    pub(super) fn start_task(&mut self, id: MemberId, kind: TaskKind) {
        self.cancel_task(id);
        let op = self.op();
        let from = self.last_active.map(|(_, generation)| generation);
        let Some(member) = self.member_mut(id) else {
            return;
        };
        let bound = member.rules.timeouts.prove;
        let Some(open) = member.open_mut() else {
            return;
        };
        open.task = Some(Task {
            op,
            kind,
            discounted: false,
        });
        let generation = open.generation;
        // A drain is bounded by its window.
        if kind != TaskKind::Drain {
            self.timers.set(Timer::Task(id), self.now + bound);
        }
        self.act(match kind {
            TaskKind::Prove => Action::Prove(id, generation, op),
            TaskKind::Arm => Action::Arm(id, generation, op),
            TaskKind::Promote => Action::Promote(id, generation, op, from),
            TaskKind::Drain => Action::Drain(id, generation, op),
        });
    }

    pub(super) fn cancel_task(&mut self, id: MemberId) {
        if let Some(task) = self.drop_task(id) {
            self.act(Action::Cancel(task.op));
        }
    }

    pub(super) fn drop_task(&mut self, id: MemberId) -> Option<Task> {
        self.timers.clear(Timer::Task(id));
        self.member_mut(id)?.open_mut()?.task.take()
    }

    /// Takes the task that an answer belongs to; an answer to anything else is dropped.
    pub(super) fn take_task(&mut self, id: MemberId, op: Op) -> Option<TaskKind> {
        let task = self.member(id)?.open()?.task?;
        if task.op != op {
            return None;
        }
        self.drop_task(id);
        Some(task.kind)
    }

    /// Ends the connection of a member, whatever stage it is in.
    pub(super) fn retire(&mut self, id: MemberId) {
        self.cancel_task(id);
        self.stop_checks(id);
        self.timers.clear(Timer::Drain(id));
        self.timers.clear(Timer::Suspicion(id));
        let Some(member) = self.member_mut(id) else {
            return;
        };
        match member.link {
            Link::Open(ref open) => {
                let generation = open.generation;
                member.link = Link::Retiring { generation };
                member.health = super::member::Health::Unknown;
                self.timers.set(Timer::Retire(id), self.now + RETIRE_BOUND);
                self.act(Action::Retire(id, generation));
            }
            Link::Dialling { op, .. } => {
                member.link = Link::Cold;
                self.timers.clear(Timer::Connect(id));
                self.act(Action::Cancel(op));
            }
            Link::Cold | Link::Retiring { .. } => {}
        }
    }

    pub(super) fn retired(&mut self, id: MemberId, generation: Generation) {
        if self.lingering.remove(&generation) {
            return;
        }
        if let Some(member) = self.member_mut(id)
            && member.link == (Link::Retiring { generation })
        {
            member.link = Link::Cold;
            self.timers.clear(Timer::Retire(id));
        }
    }

    pub(super) fn retire_overdue(&mut self, id: MemberId) {
        if let Some(member) = self.member_mut(id)
            && let Link::Retiring { generation } = member.link
        {
            member.link = Link::Cold;
            self.lingering.insert(generation);
        }
    }

    /// An operation failed: prove exactly that connection and check its member now, not at the next interval.
    pub(super) fn suspect(&mut self, id: MemberId) {
        let now = self.now;
        let Some(open) = self.member(id).and_then(|member| member.open()) else {
            return;
        };
        // Nothing heard from a connection that is draining counts, and one that is being proven will tell.
        if open.stage != Stage::Active || open.task.is_some() {
            return;
        }
        let soonest = open.proven.map(|at| at + SUSPICION_SPACING);
        if let Some(at) = soonest.filter(|at| *at > now) {
            self.timers.set(Timer::Suspicion(id), at);
            return;
        }
        self.start_task(id, TaskKind::Prove);
        self.start_check(id);
    }

    /// The connection is armed: from here on it is a standby.
    pub(super) fn armed(&mut self, id: MemberId) {
        if let Some(open) = self.member_mut(id).and_then(|member| member.open_mut())
            && open.stage == Stage::Ready
        {
            open.stage = Stage::Standby;
            let generation = open.generation;
            self.tell(super::News::StandbyArmed(id, generation));
        }
    }
}
