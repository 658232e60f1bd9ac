//! Members and weights at run time.

use super::story::{READ_ONLY, REFUSED, Reply, Story};
use crate::machine::{
    Action, Answer, Input, LinkView, MemberId, Reason, Refusal, Request, RequestId,
};

const DONE: Option<Answer> = Some(Answer::Done);

fn refused(refusal: Refusal) -> Option<Answer> {
    Some(Answer::Refused(refusal))
}

#[test]
fn an_added_member_is_checked_and_can_be_switched_to() {
    // P111
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    let added = story.call(Request::Add(story.newcomer(2, 0.2)));
    assert_eq!(story.answer(added), DONE);
    assert_eq!(story.link(2), LinkView::Standby);
    assert_eq!(story.member(2).healthy, Some(true));
    story.switch_to(2);
    assert_eq!(story.active(), Some(2));
}

#[test]
fn a_known_member_is_not_added_again_and_an_unknown_one_not_touched() {
    // P112, P114, P116
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    let before = story.machine.view();
    let added = story.call(Request::Add(story.newcomer(1, 0.2)));
    assert_eq!(story.answer(added), refused(Refusal::Duplicate));
    for request in [
        Request::Remove(MemberId(7)),
        Request::Disable(MemberId(7)),
        Request::Enable(MemberId(7)),
        Request::Mark(MemberId(7)),
        Request::ClearMark(MemberId(7)),
        Request::SetWeight(MemberId(7), backend_api::Weight::default()),
    ] {
        let answered = story.call(request);
        assert_eq!(story.answer(answered), refused(Refusal::Unknown));
    }
    assert_eq!(story.machine.view(), before);
}

#[test]
fn removal_closes_the_connection_and_stops_the_checks() {
    // P113
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    let removed = story.call(Request::Remove(MemberId(1)));
    assert_eq!(story.answer(removed), DONE);
    assert_eq!(story.machine.view().members.len(), 1);
    assert_eq!(
        story.count(|action| *action == Action::Forget(MemberId(1))),
        1
    );
    story.log.clear();
    story.run(10_000);
    let about = |action: &Action| matches!(action, Action::Check(id, ..) if id.0 == 1);
    assert_eq!(story.count(about), 0);
}

#[test]
fn the_active_moves_away_before_it_is_removed_and_the_last_one_stays() {
    // P115
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(0).drain = Reply::Well(300);
    let removed = story.call(Request::Remove(MemberId(0)));
    assert_eq!(story.moves(), [(0, Some(0), 1, Reason::Removed)]);
    assert_eq!(story.answer(removed), None);
    story.run(300);
    assert_eq!(story.answer(removed), DONE);
    let last = story.call(Request::Remove(MemberId(1)));
    assert_eq!(story.answer(last), refused(Refusal::LastMember));
    let last = story.call(Request::Disable(MemberId(1)));
    assert_eq!(story.answer(last), refused(Refusal::LastMember));
    assert_eq!(story.active(), Some(1));
}

#[test]
fn an_active_that_cannot_move_away_stays_and_the_caller_is_told() {
    // P115
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.kill(1);
    let removed = story.call(Request::Remove(MemberId(0)));
    assert_eq!(story.answer(removed), refused(Refusal::NoStandby));
    // The same if that turns out only on the way.
    story.revive(1);
    story.run(5_000);
    story.manner(1).promote = REFUSED;
    let removed = story.call(Request::Remove(MemberId(0)));
    story.run(1_000);
    assert_eq!(story.answer(removed), refused(Refusal::NoStandby));
    assert_eq!(story.active(), Some(0));
    assert!(story.member(0).enabled);
}

#[test]
fn removal_of_an_active_goes_on_to_the_next_when_the_first_target_fails() {
    let mut story = Story::started(&[1.0, 0.5, 0.2], |_| {});
    story.manner(1).promote = READ_ONLY;
    let removed = story.call(Request::Disable(MemberId(0)));
    story.run(200);
    assert_eq!(story.active(), Some(2));
    assert_eq!(story.answer(removed), DONE);
    assert!(!story.member(0).enabled);
    assert_eq!(story.link(0), LinkView::Cold);
}

#[test]
fn a_disabled_member_is_left_alone_until_enabled() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.call(Request::Disable(MemberId(1)));
    story.log.clear();
    story.run(60_000);
    assert_eq!(story.dials(1), 0);
    let switch = story.switch_to(1);
    assert_eq!(
        story.answer(switch),
        refused(Refusal::NotEligible(MemberId(1)))
    );
    story.call(Request::Enable(MemberId(1)));
    assert_eq!(story.link(1), LinkView::Standby);
}

#[test]
fn enabling_takes_back_a_disabling_that_is_under_way() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(0).drain = Reply::Well(300);
    let disabled = story.call(Request::Disable(MemberId(0)));
    let enabled = story.call(Request::Enable(MemberId(0)));
    assert_eq!(
        story.answer(disabled),
        refused(Refusal::Aborted(MemberId(0)))
    );
    assert_eq!(story.answer(enabled), DONE);
    story.run(1_000);
    assert_eq!(story.link(0), LinkView::Standby);
}

#[test]
fn calls_at_the_same_time_are_each_answered() {
    // P117
    let story = Story::started(&[1.0, 0.5, 0.2], |_| {});
    let at = story.machine.clone();
    let newcomer = story.newcomer(3, 0.1);
    let calls = [
        Request::Add(newcomer),
        Request::Remove(MemberId(1)),
        Request::Remove(MemberId(1)),
        Request::Remove(MemberId(0)),
        Request::Remove(MemberId(2)),
        Request::Remove(MemberId(3)),
    ];
    let mut machine = at;
    let inputs = calls
        .into_iter()
        .zip(100..)
        .map(|(request, id)| Input::Request(RequestId(id), request));
    let now = crate::machine::Time(0);
    let actions = machine.handle(now, inputs);
    let answers = |actions: &[Action]| {
        actions
            .iter()
            .filter(|action| matches!(action, Action::Answer(..)))
            .count()
    };
    // The addition, the doubled removal and the last member's are answered at once; the others when they are done.
    assert!((3..6).contains(&answers(&actions)), "{actions:?}");
    assert!(machine.members.iter().any(|member| member.takes_part()));
}

#[test]
fn removing_the_target_of_a_switch_ends_the_switch() {
    let mut story = Story::started(&[1.0, 0.5, 0.2], |_| {});
    story.manner(1).promote = Reply::Well(100);
    let switch = story.switch_to(1);
    let removed = story.call(Request::Remove(MemberId(1)));
    assert_eq!(story.answer(switch), refused(Refusal::Aborted(MemberId(1))));
    assert_eq!(story.answer(removed), DONE);
    assert_eq!(story.active(), Some(0));
}

#[test]
fn a_departing_standby_makes_room_for_the_next_at_once() {
    let mut story = Story::with(&[1.0, 0.5, 0.2], |rules| {
        rules.standby = crate::config::Standby::Count(1);
    });
    story.run(0);
    story.kill(1);
    story.kill(2);
    story.manner(1).dial = Reply::Never;
    story.revive(2);
    story.run(1_000);
    story.manner(2).dial = Reply::Never;
    story.log.clear();
    let removed = story.call(Request::Remove(MemberId(1)));
    assert_eq!(story.answer(removed), DONE);
    assert!(story.link(2) != LinkView::Cold || story.member(2).next_dial.is_some());
}
