//! Whose word about other members counts, and for what.

use backend_api::Generation;

use super::story::{Reply, Story};
use crate::machine::{
    Action, Answer, End, LinkView, MemberId, News, Reason, Refusal, Request, RequestId, Word,
};

fn untold(story: &mut Story, id: u32, by: Generation) -> RequestId {
    story.call(Request::Untold {
        member: MemberId(id),
        by,
    })
}

#[test]
fn the_active_decides_and_every_other_open_connection_keeps() {
    // F28
    let mut story = Story::started(&[1.0, 0.9, 0.8], |_| {});
    let word = |story: &Story, id: u32| story.machine.word(MemberId(id), story.generation(id));
    let old = story.generation(0);
    assert_eq!(word(&story, 0), Some(Word::Decides));
    assert_eq!(word(&story, 1), Some(Word::Keeps));
    story.manner(0).drain = Reply::Never;
    story.drain_to(1, 1_000);
    assert_eq!(word(&story, 1), Some(Word::Decides));
    assert_eq!(story.link(0), LinkView::Draining);
    assert_eq!(word(&story, 0), Some(Word::Keeps));
    // A member that is to go, a connection that is gone, and one that never was.
    story.call(Request::Remove(MemberId(0)));
    assert_eq!(word(&story, 0), None);
    story.run(2_000);
    assert_eq!(story.machine.word(MemberId(0), old), None);
    assert_eq!(story.machine.word(MemberId(1), old), None);
    // Without an active nobody decides.
    story.kill(1);
    story.kill(2);
    story.run(1_000);
    assert_eq!(story.active(), None);
    assert_eq!(word(&story, 2), None);
}

#[test]
fn a_member_goes_on_the_word_of_the_active_alone() {
    // F28
    let mut story = Story::started(&[1.0, 0.9, 0.8], |_| {});
    let (active, standby) = (story.generation(0), story.generation(1));
    let id = untold(&mut story, 2, standby);
    assert_eq!(
        story.answer(id),
        Some(Answer::Refused(Refusal::NotEligible(MemberId(2))))
    );
    let id = untold(&mut story, 2, Generation(u64::MAX));
    assert!(matches!(story.answer(id), Some(Answer::Refused(_))));
    assert_eq!(story.link(2), LinkView::Standby);
    let id = untold(&mut story, 2, active);
    assert_eq!(story.answer(id), Some(Answer::Done));
    assert_eq!(
        story.count(|action| *action == Action::Forget(MemberId(2))),
        1
    );
    let id = untold(&mut story, 2, active);
    assert_eq!(story.answer(id), Some(Answer::Refused(Refusal::Unknown)));
}

#[test]
fn an_active_that_tells_of_itself_no_more_hands_over() {
    // F24
    let mut story = Story::started(&[1.0, 0.9], |_| {});
    let own = story.generation(0);
    untold(&mut story, 0, own);
    assert_eq!(story.moves(), [(0, Some(0), 1, Reason::Removed)]);
    story.run(10_000);
    assert_eq!(
        story.count(|action| *action == Action::Forget(MemberId(0))),
        1
    );
}

#[test]
fn the_last_one_stays_as_a_last_resort() {
    // F24
    let mut story = Story::started(&[1.0], |_| {});
    let own = story.generation(0);
    untold(&mut story, 0, own);
    story.run(60_000);
    assert_eq!(story.active(), Some(0));
    let new = story.newcomer(1, 0.1);
    story.call(Request::Add(new));
    assert_eq!(story.told(News::Added(MemberId(1))), 1);
    story.run(10_000);
    assert_eq!(story.active(), Some(1));
    assert_eq!(
        story.count(|action| *action == Action::Forget(MemberId(0))),
        1
    );
}

#[test]
fn the_word_of_an_active_that_was_replaced_meanwhile_is_void() {
    // F28
    let mut story = Story::started(&[1.0, 0.9, 0.8], |_| {});
    let was = story.generation(0);
    let by = Request::Untold {
        member: MemberId(2),
        by: was,
    };
    story.call(Request::SwitchTo {
        to: MemberId(1),
        end: End::Steal,
        force: false,
    });
    let id = story.call(by);
    assert!(matches!(story.answer(id), Some(Answer::Refused(_))));
    story.run(10_000);
    assert_eq!(story.link(2), LinkView::Standby);
}
