//! What must hold whatever happens: the invariants of the machine, checked over each step of a table test, a random
//! history or the search.
//!
//! An [`Observer`] keeps what it saw go in and come out, independently of the machine's own books, so that the machine
//! cannot vouch for itself. It knows the rules as the group's owner set them, which a broken machine may not follow. It
//! decides nothing and never feeds anything back.
//!
//! | where | what |
//! |---|---|
//! | `book`, `hear`, `see` | what the outside knows of each member, and how it comes to know it |
//! | `number` | all of that as a part of the number of a state |
//! | `traffic`, `links`, `membership`, `promises` | what holds for every group |
//! | `health`, `breaker`, `grace`, `failback`, `lame_duck`, `operators`, `outage`, `redial`, `startup`, `stall`, `drain` | one rule each |

mod book;
mod breaker;
mod drain;
mod failback;
mod grace;
mod health;
mod hear;
mod lame_duck;
mod links;
mod membership;
mod number;
mod operators;
mod outage;
mod promises;
mod redial;
mod see;
mod stall;
mod startup;
mod traffic;

use std::collections::BTreeMap;
use std::sync::Arc;

use backend_api::Generation;

use super::member::Member;
use super::switch::Switch;
use super::{
    Action, End, Identity, Machine, MemberId, NewMember, Op, Reason, Request, RequestId, Time,
};
use crate::config::{MemberRules, Rules};
use book::{Book, Known};

/// A broken invariant, in words.
pub(super) type Violation = String;

/// One call of the machine.
pub(super) struct Step<'a> {
    pub(super) before: &'a Machine,
    pub(super) inputs: &'a [super::Input],
    pub(super) actions: &'a [Action],
    pub(super) after: &'a Machine,
}

impl Step<'_> {
    /// A move that has begun in this step, not one that goes on for another reason.
    fn begun(&self) -> Option<&Switch> {
        let new = self.after.switch.as_ref()?;
        let goes_on = self.before.switch.as_ref().is_some_and(|old| {
            (old.to, old.since, old.caller) == (new.to, new.since, new.caller)
                && (old.reason == new.reason || new.reason == Reason::Lost)
        });
        (!goes_on).then_some(new)
    }
}

/// A connection as the outside knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) member: MemberId,
    /// Its dial was still wanted when it came.
    kept: bool,
    /// When it last passed a proof.
    pub(super) proven: Option<Time>,
    promoted: bool,
    /// Something of what lives on an active may be on it.
    laden: bool,
    /// Its end was asked for.
    retired: bool,
}

impl Seen {
    fn new(member: MemberId, kept: bool) -> Self {
        Self {
            member,
            kept,
            proven: None,
            promoted: false,
            laden: false,
            retired: false,
        }
    }
}

/// What an operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Work {
    Connect,
    Prove,
    Arm,
    Promote,
    Drain,
    Check,
}

/// An operation that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Job {
    work: Work,
    member: MemberId,
    generation: Generation,
    /// The process was stalled meanwhile, and nothing was excused just before.
    discounted: bool,
    /// When a check must have ended; of nothing else it matters.
    until: Time,
}

/// Who decided that traffic stays where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Suspended {
    Moved,
    Pinned,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Observer {
    /// The rules of the group, as its owner knows them.
    rules: Arc<Rules>,
    seen: BTreeMap<Generation, Seen>,
    jobs: BTreeMap<Op, Job>,
    active: Option<(MemberId, Generation)>,
    asked: BTreeMap<RequestId, Request>,
    /// Where the last connection of each member ended.
    servers: BTreeMap<MemberId, Option<Identity>>,
    books: BTreeMap<MemberId, Book>,
    suspended: Option<Suspended>,
    /// Where an operator forced the traffic to, while it is unfit.
    forced: Option<MemberId>,
    /// How the move under way is to end the old connection.
    end: Option<End>,
    /// Until when connections may drain.
    drains: BTreeMap<Generation, Time>,
    /// How often all members were tried in vain since there was an active.
    rounds: u32,
    /// The loop of an outage rests until then.
    rest: Option<Time>,
    /// When a start waits for nobody any more.
    startup: Time,
    started: bool,
    failed: bool,
    closed: bool,
    // What follows is of the present step alone.
    suspended_before: Option<Suspended>,
    /// Failures that a stall explains.
    spared: Vec<(MemberId, Work)>,
    /// Whose check passed.
    passed: Vec<MemberId>,
    /// Who announced its shutdown.
    announced: Vec<MemberId>,
    /// Connections that ended.
    gone: Vec<Generation>,
    /// Whose breaker has to open.
    opened: Option<MemberId>,
    /// What was given up, the deadlines that came among it.
    cancelled: Vec<Job>,
}

impl Observer {
    /// Watches a group of these rules and members from its beginning.
    pub(super) fn new(rules: Arc<Rules>, members: &[NewMember]) -> Self {
        let longest = members.iter().map(|member| startup::longest(&member.rules));
        Self {
            rules,
            seen: BTreeMap::new(),
            jobs: BTreeMap::new(),
            active: None,
            asked: BTreeMap::new(),
            servers: BTreeMap::new(),
            books: members.iter().map(|new| (new.id, Book::new(new))).collect(),
            suspended: None,
            forced: None,
            end: None,
            drains: BTreeMap::new(),
            rounds: 0,
            rest: None,
            startup: Time::default() + longest.max().unwrap_or_default(),
            started: false,
            failed: false,
            closed: false,
            suspended_before: None,
            spared: Vec::new(),
            passed: Vec::new(),
            announced: Vec::new(),
            gone: Vec::new(),
            opened: None,
            cancelled: Vec::new(),
        }
    }

    /// Checks one step and remembers it.
    pub(super) fn check(&mut self, step: &Step<'_>) -> Result<(), Violation> {
        let checked = self.check_all(step);
        self.forget(step);
        checked
    }

    fn check_all(&mut self, step: &Step<'_>) -> Result<(), Violation> {
        self.hear(step);
        traffic::old_connections_move_nothing(self, step)?;
        for action in step.actions {
            traffic::only_proven_and_promoted_become_active(self, step, action)?;
            traffic::an_open_active_stays(self, step, action)?;
            traffic::no_replica_carries_traffic(self, step, action)?;
            redial::a_redial_is_heard_out(step, action)?;
            links::one_dial_per_member(self, action)?;
            links::one_loop_in_an_outage(self, step, action)?;
            links::nobody_is_dialled_to_share(self, step, action)?;
            links::retired_once(self, action)?;
            outage::refused_members_are_left_alone(self, step, action)?;
            outage::the_one_loop_rests(self, step, action)?;
            outage::rounds_are_counted_from_the_last_active(self, action)?;
            promises::answered_once(self, action)?;
            promises::told_once(self, action)?;
            membership::proven_before_it_replaces(self, step, action)?;
            breaker::an_open_breaker_is_held(self, step, action)?;
            lame_duck::marks_are_kept(self, step, action)?;
            drain::windows_are_as_asked(self, step, action)?;
            failback::nothing_returns_against_an_operator(self, action)?;
            operators::grace_is_no_reason_to_refuse(self, step, action)?;
            self.see(step, action);
        }
        self.settle_overdue(step.after.now);
        self.adopt_order(step);
        self.check_after(step)
    }

    /// What must hold between two steps, and of every move that has just begun.
    fn check_after(&mut self, step: &Step<'_>) -> Result<(), Violation> {
        self.settle_force(step);
        traffic::at_most_one_active(self, step)?;
        links::nothing_is_forgotten(self, step)?;
        traffic::nobody_stands_by_laden(self, step)?;
        health::verdicts_are_what_was_said(self, step)?;
        breaker::it_opens_when_it_must(self, step)?;
        stall::what_a_stall_explains_counts_for_nothing(self, step)?;
        grace::lasts_as_long_as_it_should(self, step)?;
        lame_duck::an_operators_mark_stays(self, step)?;
        failback::is_suspended_as_operators_said(self, step)?;
        if step.begun().is_some() {
            traffic::the_fit_come_first(self, step)?;
            traffic::other_servers_come_first(self, step)?;
            failback::goes_up_when_it_may(self, step)?;
            lame_duck::moves_only_where_the_rules_say(self, step)?;
            health::only_the_unfit_are_left(self, step)?;
            startup::the_heaviest_are_waited_for(self, step)?;
            operators::nobody_is_moved_to_the_unfit_unforced(self, step)?;
            operators::force_is_kept(self, step)?;
            self.note_end(step);
        }
        health::an_unfit_active_is_left(self, step)?;
        redial::a_refusal_decides_at_once(self, step)?;
        drain::ends_in_its_window(self, step)?;
        membership::somebody_takes_part(step)?;
        membership::successors_stand_aside(step)?;
        membership::only_the_active_is_believed(step)?;
        membership::every_word_counts_for_what_it_may(step)?;
        promises::everything_has_a_deadline(step)?;
        promises::nothing_is_left_undone(step)?;
        promises::the_view_agrees(step)
    }

    /// How many callers still wait.
    pub(super) fn waiting(&self) -> usize {
        self.asked.len()
    }

    /// The rules as the owner of the group knows them.
    pub(super) fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    /// The same for one member.
    pub(super) fn member_rules(&self, id: MemberId) -> Option<&Arc<MemberRules>> {
        self.books.get(&id).map(|book| &book.rules)
    }

    /// What a member weighs, as its owner knows it.
    pub(super) fn weight(&self, id: MemberId) -> Option<backend_api::Weight> {
        self.books.get(&id).map(|book| book.weight)
    }

    /// Failback may go on, as far as operators said.
    pub(super) fn returns(&self) -> bool {
        self.rules.failback.enabled && self.suspended.is_none()
    }

    /// The last connection of a member ended where the active's did.
    pub(super) fn is_twin(&self, machine: &Machine, id: MemberId) -> bool {
        let server = |id| self.servers.get(&id).copied().flatten();
        machine.active.is_some_and(|active| {
            active != id && server(id).is_some() && server(active) == server(id)
        })
    }

    /// Connections that were opened and whose end nobody asked for.
    pub(super) fn open(&self) -> impl Iterator<Item = (MemberId, Generation)> + '_ {
        self.seen
            .iter()
            .filter(|(_, seen)| !seen.retired)
            .map(|(generation, seen)| (seen.member, *generation))
    }

    fn health(&self, id: MemberId) -> Known {
        self.books
            .get(&id)
            .map_or(Known::Unknown, |book| book.health)
    }

    /// Nothing at all speaks against it but where its connection is.
    fn is_fit(&self, now: Time, member: &Member) -> bool {
        member.outgoing.is_none()
            && self
                .books
                .get(&member.id)
                .is_some_and(|book| book.health.is_healthy() && !book.is_held_back(now))
    }
}
