//! How the observer keeps its books: inputs as they are heard, in their order, and actions as they are seen.

use std::time::Duration;

use backend_api::Generation;

use super::book::{Book, Known, Marked};
use super::{Job, Observer, Seen, Step, Suspended, Work};
use crate::machine::member::{Health, Stage};
use crate::machine::{
    Action, Answer, Failure, Input, MemberId, Phase, Request, RequestId, Time, Verdict,
};

/// How long an announcement counts at most.
pub(super) const ANNOUNCEMENT: Duration = Duration::from_secs(120);

/// How long answers that piled up during a stall may still come in.
const CATCH_UP: Duration = Duration::from_millis(50);

impl Observer {
    pub(super) fn hear(&mut self, step: &Step<'_>) {
        self.spared.clear();
        self.passed.clear();
        self.gone.clear();
        self.announced.clear();
        self.cancelled.clear();
        self.opened = None;
        for book in self.books.values_mut() {
            book.health_before = book.health;
        }
        self.suspended_before = self.suspended;
        for input in step.inputs {
            self.hear_one(step, input);
        }
    }

    fn hear_one(&mut self, step: &Step<'_>, input: &Input) {
        let now = step.after.now;
        match *input {
            Input::Connected(member, generation, op, server) => {
                let kept = self.jobs.remove(&op).is_some();
                if kept {
                    self.servers.insert(member, server);
                    if let Some(book) = self.books.get_mut(&member) {
                        book.health = Known::Unknown;
                        book.excused.dial = false;
                        book.refused = 0;
                    }
                }
                self.seen.insert(generation, Seen::new(member, kept));
            }
            Input::ConnectFailed(id, op) => {
                if let Some(job) = self.jobs.remove(&op)
                    && job.discounted
                {
                    self.spare(id, Work::Connect);
                }
            }
            Input::Done(_, op) => {
                if let Some(job) = self.jobs.remove(&op) {
                    self.done(step, job);
                }
            }
            Input::Failed(_, op, failure) => {
                if let Some(job) = self.jobs.get(&op).copied() {
                    self.failed(step, job, failure);
                }
            }
            Input::Checked(_, op, verdict) => {
                if let Some(job) = self.jobs.get(&op).copied() {
                    self.checked(now, job, verdict);
                }
            }
            Input::Retired(_, generation) => {
                self.seen.remove(&generation);
            }
            Input::Lost(id, generation) => {
                if self.is_live(id, generation) {
                    self.gone.push(generation);
                }
            }
            Input::Condemned(id, generation, failure) => self.condemned(id, generation, failure),
            Input::LameDuck(id, generation) => {
                if self.is_live(id, generation)
                    && let Some(book) = self.books.get_mut(&id)
                    && book.mark != Some(Marked::Operator)
                {
                    self.announced.push(id);
                    let until = now + ANNOUNCEMENT;
                    let on = generation;
                    // In a batch it may have come too late to renew one that was there.
                    if book.mark.is_none() || step.inputs.len() == 1 {
                        book.mark = Some(Marked::Announced { on, until });
                    }
                }
            }
            Input::Outcomes {
                member,
                generation,
                success,
                failure,
            } => {
                if self.is_live(member, generation)
                    && let Some(book) = self.books.get_mut(&member)
                {
                    let over = book.sample(now, generation, success, failure);
                    if over && book.broken.is_none() {
                        self.opened = Some(member);
                    }
                }
            }
            Input::Stalled => self.stalled(step),
            Input::Request(id, ref request) => {
                self.asked.insert(id, request.clone());
                self.request(step, id, request);
            }
            Input::Tick | Input::Suspect(..) => {}
        }
    }

    fn done(&mut self, step: &Step<'_>, job: Job) {
        let now = step.after.now;
        let Some(seen) = self.seen.get_mut(&job.generation) else {
            return;
        };
        // A promotion that may come ahead of its decision is a proof as well.
        let ahead = job.work == Work::Promote && step.after.capabilities.promotes_ahead();
        if job.work == Work::Prove || ahead {
            seen.proven = Some(now);
        }
        seen.promoted |= job.work == Work::Promote;
        if job.work == Work::Drain {
            self.drains.remove(&job.generation);
        }
        let Some(book) = self.books.get_mut(&job.member) else {
            return;
        };
        if job.work == Work::Prove || ahead {
            book.excused.proof = false;
        }
        if job.work == Work::Prove {
            book.failed = false;
            if !book.is_checked() {
                book.pass(now);
                self.passed.push(job.member);
            }
        }
    }

    fn failed(&mut self, step: &Step<'_>, job: Job, failure: Failure) {
        let active = self.active == Some((job.member, job.generation));
        let ahead = job.work == Work::Promote
            && step.after.capabilities.promotes_ahead()
            && step.before.phase == Phase::Running
            && step.before.active.is_none();
        let Some(book) = self.books.get_mut(&job.member) else {
            return;
        };
        let read_only = failure == Failure::ReadOnly;
        match (job.work, failure) {
            (Work::Prove, Failure::Unhealthy | Failure::ReadOnly) => {
                book.health = Known::Unhealthy { read_only };
                book.failed = true;
                if !active && !book.is_checked() {
                    self.gone.push(job.generation);
                }
            }
            (Work::Prove | Work::Promote, Failure::Dead)
                if job.discounted && (job.work == Work::Prove || ahead) =>
            {
                self.spare(job.member, Work::Prove);
            }
            (Work::Drain, _) => {
                self.drains.remove(&job.generation);
            }
            (Work::Prove | Work::Arm | Work::Promote, _) => {
                if read_only {
                    book.health = Known::Unhealthy { read_only };
                }
                self.gone.push(job.generation);
            }
            (Work::Connect | Work::Check, _) => {}
        }
    }

    /// What a check says, if the process was not itself to blame.
    pub(super) fn checked(&mut self, now: Time, job: Job, verdict: Verdict) {
        let Some(book) = self.books.get_mut(&job.member) else {
            return;
        };
        if job.work != Work::Check {
            return;
        }
        let blamed = job.discounted && verdict == (Verdict::Unhealthy { read_only: false });
        let verdict = if blamed {
            Verdict::Inconclusive
        } else {
            verdict
        };
        let excused = job.discounted && verdict == Verdict::Inconclusive;
        book.excused.check = (book.excused.check || excused) && verdict != Verdict::Healthy;
        match verdict {
            Verdict::Healthy => {
                book.pass(now);
                self.passed.push(job.member);
            }
            Verdict::Unhealthy { read_only } => {
                book.health = Known::Unhealthy { read_only };
                book.failed = true;
            }
            Verdict::Inconclusive => {}
        }
    }

    fn condemned(&mut self, id: MemberId, generation: Generation, failure: Failure) {
        if self.drains(generation) || !self.is_live(id, generation) {
            return;
        }
        let active = self.active == Some((id, generation));
        if let Some(book) = self.books.get_mut(&id) {
            book.health = Known::Unhealthy {
                read_only: failure == Failure::ReadOnly,
            };
            if !active && !book.is_checked() {
                self.gone.push(generation);
            }
        }
    }

    fn stalled(&mut self, step: &Step<'_>) {
        if matches!(step.before.phase, Phase::Closing | Phase::Closed) {
            return;
        }
        let until = step.after.now + CATCH_UP;
        for book in self.books.values_mut() {
            book.window.clear();
        }
        for job in self.jobs.values_mut() {
            let Some(book) = self.books.get(&job.member) else {
                continue;
            };
            let excused = match job.work {
                Work::Connect => book.excused.dial,
                Work::Check => book.excused.check,
                Work::Prove | Work::Arm | Work::Promote | Work::Drain => book.excused.proof,
            };
            job.discounted |= !excused;
            job.until = job.until.max(until);
        }
    }

    /// A failure that a stall explains counts for nothing.
    fn spare(&mut self, id: MemberId, work: Work) {
        if let Some(book) = self.books.get_mut(&id) {
            match work {
                Work::Connect => book.excused.dial = true,
                _ => book.excused.proof = true,
            }
        }
        self.spared.push((id, work));
    }

    /// What a call changes, if it is answered that it is done.
    fn request(&mut self, step: &Step<'_>, id: RequestId, request: &Request) {
        let done = Action::Answer(id, Answer::Done);
        if !step.actions.contains(&done) {
            return;
        }
        match request {
            Request::Add(new) | Request::Replace { new, .. } => {
                self.books.insert(new.id, Book::new(new));
            }
            Request::SetWeight(id, weight) => {
                if let Some(book) = self.books.get_mut(id) {
                    book.weight = *weight;
                }
            }
            Request::Enable(id) => {
                if let Some(book) = self.books.get_mut(id) {
                    book.refused = 0;
                }
            }
            Request::Pin => self.suspended = Some(Suspended::Pinned),
            Request::Release => (self.suspended, self.forced) = (None, None),
            Request::Mark(id) => {
                if let Some(book) = self.books.get_mut(id) {
                    book.mark = Some(Marked::Operator);
                }
            }
            Request::ClearMark(id) => {
                if let Some(book) = self.books.get_mut(id) {
                    book.mark = None;
                }
            }
            Request::SetRules(id, rules) => {
                let successor = step.before.successor(*id);
                for id in std::iter::once(*id).chain(successor) {
                    if let Some(book) = self.books.get_mut(&id) {
                        book.rules = rules.clone();
                        book.refused = 0;
                    }
                }
            }
            Request::SetGroupRules(rules) => {
                let startup = self.rules.startup.clone();
                let mut rules = (**rules).clone();
                rules.startup = startup;
                self.rules = rules.into();
                self.rest = None;
            }
            _ => {}
        }
    }

    /// The connection is this member's, and nothing has ended it, as far as was heard.
    pub(super) fn is_live(&self, id: MemberId, generation: Generation) -> bool {
        !self.gone.contains(&generation)
            && self
                .seen
                .get(&generation)
                .is_some_and(|seen| seen.member == id && seen.kept && !seen.retired)
    }

    /// Checks that had no answer in their time say that the member is unhealthy, unless the connection turns out to have
    /// ended or to drain.
    pub(super) fn settle_overdue(&mut self, now: Time) {
        for job in self.cancelled.clone() {
            let over = job.work == Work::Check && job.until <= now;
            if over && !self.drains(job.generation) && self.is_live(job.member, job.generation) {
                self.checked(now, job, Verdict::Unhealthy { read_only: false });
            }
        }
    }

    /// In a batch, traffic may have moved before the answer to a check of the old active was taken, and a connection may have
    /// ended before its announcement was: nobody looks at either any more. The machine alone knows which came first.
    pub(super) fn adopt_order(&mut self, step: &Step<'_>) {
        if step.inputs.len() < 2 {
            return;
        }
        let moved = |action: &Action| matches!(action, Action::Activate(..));
        let left = step
            .before
            .active
            .filter(|_| step.actions.iter().any(moved));
        for member in &step.after.members {
            let Some(book) = self.books.get_mut(&member.id) else {
                continue;
            };
            if member.mark.is_none() && self.announced.contains(&member.id) {
                book.mark = None;
            }
            // It may have begun before a stall of the same batch, or after it.
            if let Some(check) = member.check
                && let Some(job) = self.jobs.get_mut(&check.op)
            {
                job.discounted = check.discounted;
            }
            // What was left may already be on its way to something else.
            if member.stage() == Some(Stage::Draining) || left == Some(member.id) {
                book.health = match member.health {
                    Health::Unknown => Known::Unknown,
                    Health::Healthy { since } => Known::Healthy { since },
                    Health::Unhealthy { read_only } => Known::Unhealthy { read_only },
                };
            }
        }
    }

    fn drains(&self, generation: Generation) -> bool {
        let mut jobs = self.jobs.values();
        jobs.any(|job| job.work == Work::Drain && job.generation == generation)
    }

    /// Failures explain the step that they are part of, and are forgotten after it.
    pub(super) fn forget(&mut self, step: &Step<'_>) {
        for input in step.inputs {
            if let Input::Failed(_, op, _) | Input::Checked(_, op, _) = input {
                self.jobs.remove(op);
            }
        }
    }
}
