//! Members that are replaced or phased out: what a new configuration asks for.

use super::story::{READ_ONLY, REFUSED, Reply, Story, UNHEALTHY};
use crate::config::Standby;
use crate::machine::{
    Action, Answer, LinkView, MemberId, News, Reason, Refusal, Request, RequestId,
};

const DONE: Option<Answer> = Some(Answer::Done);

fn phase_out(id: u32) -> Request {
    Request::PhaseOut {
        member: MemberId(id),
        remove: true,
    }
}

impl Story {
    fn replace(&mut self, old: u32, new: u32) -> RequestId {
        let request = Request::Replace {
            old: MemberId(old),
            new: self.newcomer(new, 0.1),
        };
        self.call(request)
    }

    fn ids(&self) -> Vec<u32> {
        let view = self.machine.view();
        view.members.iter().map(|member| member.id.0).collect()
    }

    fn replaced(&self, old: u32, new: u32) -> usize {
        self.count(|action| *action == Action::Replaced(MemberId(old), MemberId(new)))
    }
}

#[test]
fn the_active_is_replaced_when_the_new_connection_is_fit() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(2).dial = Reply::Well(100);
    story.manner(2).check = Reply::Well(100);
    let replaced = story.replace(0, 2);
    assert_eq!(story.answer(replaced), DONE);
    story.run(150);
    assert_eq!((story.active(), story.moves().len()), (Some(0), 0));
    assert_eq!(story.member(2).replaces, Some(MemberId(0)));
    story.run(50);
    assert_eq!(story.moves(), [(200, Some(0), 2, Reason::Reconfigured)]);
    assert_eq!(story.ids(), [1, 2]);
    // It has the weight of the place, and its rank in the declared order.
    assert_eq!(
        (story.member(2).weight.get(), story.member(2).place),
        (1.0, 0)
    );
    assert_eq!(story.told(News::Degraded), 0);
}

#[test]
fn a_replacement_counts_for_nothing_before_it_takes_over() {
    // Neither as the one standby, nor for a failover, nor for its own promotion to standby.
    let mut story = Story::with(&[1.0, 0.5, 0.2], |rules| {
        rules.standby = Standby::Count(1);
    });
    story.run(0);
    story.log.clear();
    story.manner(3).check = UNHEALTHY;
    story.replace(0, 3);
    story.run(1_000);
    assert_eq!(story.link(1), LinkView::Standby);
    assert_eq!(story.link(3), LinkView::Connected);
    story.manner(2).dial = REFUSED;
    story.kill(1);
    story.run(100);
    assert_eq!(story.told(News::Degraded), 1);
    story.revive(2);
    story.run(11_000);
    assert_eq!(story.link(2), LinkView::Standby);
    assert_eq!(story.told(News::Whole), 1);
}

#[test]
fn a_replacement_that_fails_leaves_the_member_and_backs_off() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(2).dial = REFUSED;
    story.replace(0, 2);
    story.run(60_000);
    assert_eq!(story.moves(), []);
    assert!((8..20).contains(&story.dials(2)), "{}", story.dials(2));
    assert_eq!(
        story.told(News::ReplacementFailed(MemberId(2))),
        story.dials(2)
    );
    assert_eq!(story.told(News::DialFailed(MemberId(2))), 0);
    // One that is a replica, or whose promotion fails, is no better.
    story.manner(2).dial = super::story::WELL;
    story.manner(2).prove = READ_ONLY;
    story.run(30_000);
    assert_eq!(story.moves(), []);
    story.manner(2).prove = super::story::WELL;
    story.manner(2).promote = REFUSED;
    story.run(30_000);
    assert_eq!((story.active(), story.moves().len()), (Some(0), 0));
    story.revive(2);
    story.run(30_000);
    assert_eq!(story.active(), Some(2));
}

#[test]
fn without_a_connection_of_use_a_member_is_replaced_at_once() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.kill(1);
    story.replace(1, 2);
    assert_eq!(story.replaced(1, 2), 1);
    assert_eq!(story.ids(), [0, 2]);
    assert_eq!(story.link(2), LinkView::Standby);
    // And one that is cold because nobody needs it is not dialled for that.
    let mut story = Story::with(&[1.0, 0.5, 0.2], |rules| {
        rules.standby = Standby::Count(1);
    });
    story.run(0);
    story.replace(2, 3);
    assert_eq!(story.ids(), [0, 1, 3]);
    assert_eq!(story.dials(3), 0);
}

#[test]
fn another_replacement_takes_the_place_of_a_pending_one() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(2).promote = Reply::Never;
    story.replace(0, 2);
    story.run(10);
    assert_eq!(story.machine.view().switching_to, Some(MemberId(2)));
    story.replace(0, 3);
    story.run(10);
    assert_eq!(story.active(), Some(3));
    assert_eq!(story.ids(), [1, 3]);
    assert_eq!(story.replaced(0, 2), 0);
    story.manner(4).dial = Reply::Never;
    story.replace(3, 4);
    let kept = story.call(Request::KeepAsIs(MemberId(3)));
    assert_eq!(story.answer(kept), DONE);
    assert_eq!(story.ids(), [1, 3]);
}

#[test]
fn what_operators_decided_goes_with_the_place() {
    let mut story = Story::started(&[1.0, 0.5, 0.2], |_| {});
    story.manner(3).dial = Reply::Well(200);
    story.replace(1, 3);
    // Nobody can call it by a name that it has not got yet.
    let removed = story.call(Request::Remove(MemberId(3)));
    assert_eq!(
        story.answer(removed),
        Some(Answer::Refused(Refusal::Unknown))
    );
    story.call(Request::SetWeight(
        MemberId(1),
        backend_api::Weight::default(),
    ));
    story.manner(2).promote = Reply::Well(500);
    let first = story.switch_to(2);
    let second = story.switch_to(1);
    story.run(300);
    assert_eq!(story.replaced(1, 3), 1);
    story.run(300);
    assert!(matches!(story.answer(first), Some(Answer::Switched { .. })));
    // The move that waited meant the member, whoever that is by now.
    assert_eq!(
        story.answer(second),
        Some(Answer::Switched {
            from: Some(MemberId(2)),
            to: MemberId(3)
        })
    );
}

#[test]
fn a_disabled_or_removed_member_takes_its_replacement_with_it() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(2).dial = Reply::Well(100);
    story.replace(1, 2);
    story.call(Request::Disable(MemberId(1)));
    assert_eq!(story.ids(), [0, 2]);
    story.run(1_000);
    assert!(!story.member(2).enabled);
    assert_eq!(story.link(2), LinkView::Cold);
    story.call(Request::Enable(MemberId(2)));
    story.run(200);
    assert_eq!(story.link(2), LinkView::Standby);
    story.manner(3).dial = REFUSED;
    story.replace(2, 3);
    story.call(Request::Remove(MemberId(2)));
    assert_eq!(story.ids(), [0]);
    assert_eq!(
        story.count(|action| *action == Action::Forget(MemberId(3))),
        1
    );
}

#[test]
fn a_lost_active_gives_its_place_to_its_replacement() {
    // One that is ready carries on where the old one was; no grace holds it back.
    let mut story = Story::started(&[1.0], |_| {});
    story.manner(1).promote = Reply::Well(100);
    story.replace(0, 1);
    story.kill(0);
    story.run(100);
    assert_eq!(story.active(), Some(1));
    assert_eq!(story.member(1).grace, None);
    assert_eq!(story.ids(), [1]);
}

#[test]
fn a_member_that_is_disabled_while_its_replacement_takes_over_is_disabled_after_it() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(2).promote = Reply::Well(100);
    story.replace(0, 2);
    story.run(50);
    story.call(Request::PhaseOut {
        member: MemberId(0),
        remove: false,
    });
    story.kill(0);
    story.run(50);
    assert_eq!(story.moves()[0], (100, Some(0), 2, Reason::Lost));
    story.run(1_000);
    assert_eq!((story.active(), story.ids()), (Some(1), vec![1, 2]));
    assert!(!story.member(2).enabled);
}

#[test]
fn whoever_is_phased_out_serves_until_another_can() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(2).dial = REFUSED;
    story.call(Request::Add(story.newcomer(2, 0.2)));
    story.call_together([phase_out(0), phase_out(1)]);
    let answered = |action: &Action| matches!(action, Action::Answer(_, Answer::Done));
    assert_eq!(story.count(answered), 3);
    story.run(10_000);
    assert_eq!(story.ids(), [0, 1, 2]);
    assert_eq!((story.active(), story.moves().len()), (Some(0), 0));
    assert!(story.member(0).leaving);
    // It is still the last resort.
    story.kill(0);
    story.run(100);
    assert_eq!(story.active(), Some(1));
    assert_eq!(story.ids(), [1, 2]);
    story.revive(2);
    story.run(20_000);
    assert_eq!(story.active(), Some(2));
    assert_eq!(story.ids(), [2]);
}

#[test]
fn a_phase_out_gets_a_standby_even_where_none_is_kept() {
    for count in [0, 1] {
        let mut story = Story::with(&[1.0, 0.5], |rules| {
            rules.standby = Standby::Count(count);
        });
        story.run(0);
        story.call(Request::Add(story.newcomer(2, 0.2)));
        story.call_together([phase_out(0), phase_out(1)]);
        story.run(10_000);
        assert_eq!((story.active(), story.ids()), (Some(2), vec![2]), "{count}");
    }
}

#[test]
fn a_phase_out_can_be_taken_back() {
    let mut story = Story::started(&[1.0], |_| {});
    story.manner(1).dial = REFUSED;
    story.call(Request::Add(story.newcomer(1, 0.5)));
    story.call(phase_out(0));
    story.run(100);
    story.call(Request::Enable(MemberId(0)));
    story.revive(1);
    story.run(60_000);
    assert_eq!(story.active(), Some(0));
    assert_eq!(story.ids(), [0, 1]);
}

#[test]
fn an_operators_mark_goes_with_the_place() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.call(Request::Mark(MemberId(1)));
    story.replace(1, 2);
    assert_eq!(story.ids(), [0, 2]);
    assert!(story.member(2).lame_duck);
    story.run(300_000);
    assert!(story.member(2).lame_duck);
    assert_eq!(story.dials(2), 0);
    story.call(Request::ClearMark(MemberId(2)));
    assert_eq!(story.link(2), LinkView::Standby);
}

#[test]
fn a_removal_that_has_nowhere_to_go_leaves_the_replacement_alone() {
    // P115: it is refused, and nothing is changed.
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.kill(1);
    story.manner(2).promote = Reply::Well(100);
    story.replace(0, 2);
    story.run(50);
    assert_eq!(story.machine.view().switching_to, Some(MemberId(2)));
    let removed = story.call(Request::Remove(MemberId(0)));
    assert_eq!(
        story.answer(removed),
        Some(Answer::Refused(Refusal::NoStandby))
    );
    story.run(50);
    assert_eq!(story.moves(), [(100, Some(0), 2, Reason::Reconfigured)]);
}
