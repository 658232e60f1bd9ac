//! Inputs and timers become state. Nothing is decided here beyond what a single connection needs.

use backend_api::Generation;

use super::choose::Fitness;
use super::member::{Health, Link, Mark, Stage, Task, TaskKind};
use super::timers::Timer;
use super::{Action, Failure, Identity, Input, Machine, MemberId, News, Op};

/// What decisions can depend on of what checks and outcomes change.
#[derive(PartialEq)]
struct Standing(Health, Option<Mark>, bool);

impl Machine {
    /// Applies an input. What comes all the time, a passing check or a sample of outcomes, costs no look at the whole group
    /// unless it changed something.
    pub(super) fn take(&mut self, input: Input) {
        let routine = match &input {
            Input::Checked(id, ..) | Input::Outcomes { member: id, .. } => Some(*id),
            Input::Tick => return,
            _ => None,
        };
        let before = routine.map(|id| (id, self.standing_of(id)));
        self.apply(input);
        self.unsettled |= before.is_none_or(|(id, before)| self.standing_of(id) != before);
    }

    fn standing_of(&self, id: MemberId) -> Option<Standing> {
        let member = self.member(id)?;
        Some(Standing(member.health, member.mark, member.broken))
    }

    fn apply(&mut self, input: Input) {
        match input {
            Input::Tick => {}
            Input::Connected(id, generation, op, server) => {
                self.connected(id, generation, op, server);
            }
            Input::ConnectFailed(id, op) => self.connect_failed(id, op),
            Input::Done(id, op) => self.task_done(id, op),
            Input::Failed(id, op, failure) => self.task_failed(id, op, failure),
            Input::Checked(id, op, verdict) => self.checked(id, op, verdict),
            Input::Retired(id, generation) => self.retired(id, generation),
            Input::Lost(id, generation) => {
                if self.member(id).is_some_and(|member| member.is(generation)) {
                    self.lost(id);
                }
            }
            Input::Suspect(id, generation) => {
                if self.member(id).is_some_and(|member| member.is(generation)) {
                    self.suspect(id);
                }
            }
            Input::Condemned(id, generation, failure) => {
                if self.member(id).is_some_and(|member| member.is(generation)) {
                    self.condemned(id, failure);
                }
            }
            Input::LameDuck(id, generation) => self.announced(id, generation),
            Input::Outcomes {
                member,
                generation,
                success,
                failure,
            } => self.outcomes(member, generation, success, failure),
            Input::Stalled => self.stalled(),
            Input::Request(id, request) => self.request(id, request),
        }
    }

    pub(super) fn expire(&mut self, timer: Timer) {
        match timer {
            Timer::Startup => self.startup_overdue(),
            Timer::Close => self.close_overdue(),
            Timer::Redial => self.redial = None,
            // These only wake the machine: settling finds them unset.
            Timer::Round | Timer::Rearm | Timer::Dial(_) | Timer::Ask(_) | Timer::Failback => {}
            Timer::Grace(id) => self.grace_over(id),
            Timer::Target => self.target_overdue(),
            Timer::Connect(id) => self.connect_overdue(id),
            Timer::Task(id) => self.task_overdue(id),
            Timer::Check(id) => self.start_check(id),
            Timer::CheckBound(id) => self.check_overdue(id),
            Timer::Drain(id) => self.drain_over(id),
            Timer::Retire(id) => self.retire_overdue(id),
            Timer::Mark(id) => self.clear_mark(id, false),
            Timer::Breaker(id) => self.try_breaker(id),
            Timer::Suspicion(id) => self.suspect(id),
        }
    }

    fn connected(
        &mut self,
        id: MemberId,
        generation: Generation,
        op: Op,
        server: Option<Identity>,
    ) {
        let now = self.now;
        let expected = self.member_mut(id).filter(
            |member| matches!(member.link, Link::Dialling { op: awaited, .. } if awaited == op),
        );
        let Some(member) = expected else {
            // A dial that was given up came back after all: nobody wants its connection.
            self.lingering.insert(generation);
            self.act(Action::Retire(id, generation));
            return;
        };
        member.link = Link::Open(super::member::Open {
            generation,
            since: now,
            proven: None,
            stage: Stage::Unproven,
            task: None,
        });
        member.server = server;
        member.checked = None;
        member.excused.dial = false;
        self.timers.clear(Timer::Connect(id));
        self.start_task(id, TaskKind::Prove);
        self.start_check(id);
    }

    fn connect_failed(&mut self, id: MemberId, op: Op) {
        let expected = self.member_mut(id).filter(
            |member| matches!(member.link, Link::Dialling { op: awaited, .. } if awaited == op),
        );
        if expected.is_some() {
            self.dial_ended(id);
        }
    }

    fn connect_overdue(&mut self, id: MemberId) {
        if let Some(member) = self.member(id)
            && let Link::Dialling { op, .. } = member.link
        {
            self.act(Action::Cancel(op));
            self.dial_ended(id);
        }
    }

    /// A dial brought no connection. If the process itself was late, that says nothing: whoever is cold without a delay
    /// is dialled again by whatever wanted it.
    fn dial_ended(&mut self, id: MemberId) {
        self.timers.clear(Timer::Connect(id));
        let Some(member) = self.member_mut(id) else {
            return;
        };
        let excused = matches!(
            member.link,
            Link::Dialling {
                discounted: true,
                ..
            }
        );
        member.link = Link::Cold;
        if excused {
            member.excused.dial = true;
        } else {
            self.dial_failed(id);
        }
    }

    fn task_done(&mut self, id: MemberId, op: Op) {
        let Some(kind) = self.take_task(id, op) else {
            return;
        };
        match kind {
            TaskKind::Prove => self.proven(id),
            TaskKind::Arm => self.armed(id),
            TaskKind::Promote => self.promoted(id),
            TaskKind::Drain => self.drained(id),
        }
    }

    fn task_failed(&mut self, id: MemberId, op: Op, failure: Failure) {
        let task = self.member(id).and_then(|member| member.open()?.task);
        if let Some(task) = task.filter(|task| task.op == op) {
            self.task_ended(id, task, failure);
        }
    }

    fn task_overdue(&mut self, id: MemberId) {
        let Some(task) = self.member(id).and_then(|member| member.open()?.task) else {
            return;
        };
        self.act(Action::Cancel(task.op));
        self.task_ended(id, task, Failure::Dead);
    }

    /// The task under way came to nothing, by our timer or by the backend's own.
    fn task_ended(&mut self, id: MemberId, task: Task, failure: Failure) {
        self.drop_task(id);
        let proof = match task.kind {
            TaskKind::Prove => true,
            TaskKind::Promote => self.promotes_ahead(),
            TaskKind::Arm | TaskKind::Drain => false,
        };
        if task.discounted && proof && failure == Failure::Dead {
            // The process itself was late: ask again with a fresh deadline. A connection that is gone says so.
            if let Some(member) = self.member_mut(id) {
                member.excused.proof = true;
            }
            self.start_task(id, task.kind);
        } else {
            self.task_failed_as(id, task.kind, failure);
        }
    }

    fn task_failed_as(&mut self, id: MemberId, kind: TaskKind, failure: Failure) {
        match (kind, failure) {
            (TaskKind::Drain, _) => self.drained(id),
            (TaskKind::Prove, Failure::Unhealthy | Failure::ReadOnly) => {
                self.proven_unfit(id, failure);
            }
            (TaskKind::Prove, Failure::Dead) => self.lost(id),
            // What could not be armed or promoted is of no use: it is ended and dialled anew.
            (TaskKind::Arm | TaskKind::Promote, _) => {
                if failure == Failure::ReadOnly {
                    self.set_health(id, Health::Unhealthy { read_only: true });
                }
                self.lost(id);
            }
        }
    }

    fn proven(&mut self, id: MemberId) {
        let now = self.now;
        let Some(member) = self.member_mut(id) else {
            return;
        };
        let checked = member.is_checked();
        member.tried = false;
        member.excused.proof = false;
        let Some(open) = member.open_mut() else {
            return;
        };
        let first = open.proven.replace(now).is_none();
        if open.stage == Stage::Unproven {
            open.stage = Stage::Ready;
        }
        let (stage, generation) = (open.stage, open.generation);
        if first {
            self.tell(News::Connected(id, generation));
        }
        if !checked && stage != Stage::Draining {
            self.set_health(id, Health::Healthy { since: now });
            self.passed(id);
        }
        if matches!(stage, Stage::Chosen { .. }) {
            self.target_proven();
        }
    }

    /// The member answered its proof, but with a state in which it serves nobody.
    fn proven_unfit(&mut self, id: MemberId, failure: Failure) {
        self.set_health(
            id,
            Health::Unhealthy {
                read_only: failure == Failure::ReadOnly,
            },
        );
        let Some(member) = self.member_mut(id) else {
            return;
        };
        let checked = member.is_checked();
        let Some(open) = member.open_mut() else {
            return;
        };
        match open.stage {
            // It goes on carrying traffic until there is somewhere to go.
            Stage::Active | Stage::Draining => {}
            // Without checks nothing would ever notice that it recovered, so it is dialled anew.
            _ if !checked => self.lost(id),
            stage => {
                open.stage = Stage::Unproven;
                if self.redial == Some(id) {
                    self.end_redial();
                }
                if matches!(stage, Stage::Chosen { .. }) || self.awaits(id) {
                    self.abort_switch();
                }
                self.count_failure(id, true);
            }
        }
    }

    /// The connection is gone, or of no use any more.
    pub(super) fn lost(&mut self, id: MemberId) {
        let Some(member) = self.member(id) else {
            return;
        };
        let Some(open) = member.open() else {
            return;
        };
        let (stage, generation) = (open.stage, open.generation);
        let held_back = self.fitness(member) >= Fitness::HeldBack;
        self.tell(if self.is_successor(id) {
            News::ReplacementFailed(id)
        } else {
            News::Lost(id, generation)
        });
        // A connection that served was no dial in vain.
        let served = matches!(stage, Stage::Active | Stage::Draining | Stage::Standby);
        self.count_failure(id, !served);
        self.retire(id);
        if self.redial == Some(id) {
            self.end_redial();
        }
        match stage {
            Stage::Active => self.active_lost(id, !held_back),
            Stage::Chosen { .. } => self.abort_switch(),
            Stage::Draining => self.tell(News::DrainEnded(id, false)),
            Stage::Unproven | Stage::Ready | Stage::Standby => {
                if self.awaits(id) {
                    self.abort_switch();
                }
            }
        }
    }

    fn condemned(&mut self, id: MemberId, failure: Failure) {
        let draining = self
            .member(id)
            .is_some_and(|member| member.stage() == Some(Stage::Draining));
        if draining {
            return;
        }
        let unhealthy = Health::Unhealthy {
            read_only: failure == Failure::ReadOnly,
        };
        let known = self
            .member(id)
            .is_some_and(|member| member.health == unhealthy);
        if known {
            return;
        }
        self.set_health(id, unhealthy);
        let (checked, stage) = match self.member(id) {
            Some(member) => (member.is_checked(), member.stage()),
            None => return,
        };
        if !checked && stage != Some(Stage::Active) {
            // Nothing else would ever notice that it recovered.
            self.lost(id);
        }
        // Whatever befell this one may have made another fit: a demotion is half of a promotion.
        let all: Vec<MemberId> = self.members.iter().map(|member| member.id).collect();
        for id in all {
            self.start_check(id);
        }
    }
}
