//! Members and groups that are given other rules while they run.

use std::sync::Arc;
use std::time::Duration;

use super::story::Story;
use crate::config::{MemberRules, Rules, Standby};
use crate::machine::{Action, Answer, LinkView, MemberId, Refusal, Request};

const DONE: Option<Answer> = Some(Answer::Done);

fn health(change: impl FnOnce(&mut MemberRules)) -> Arc<MemberRules> {
    let mut rules = MemberRules::default();
    change(&mut rules);
    Arc::new(rules)
}

#[test]
fn a_members_rules_change_under_its_connection() {
    let mut story = Story::started(&[1.0, 0.5], |rules| {
        rules.member.health.interval = Duration::from_secs(3600);
    });
    story.run(1_000);
    story.log.clear();
    let checks = |action: &Action| matches!(action, Action::Check(MemberId(1), ..));
    story.run(10_000);
    assert_eq!(story.count(checks), 0);
    let rules = health(|rules| rules.health.interval = Duration::from_secs(1));
    let changed = story.call(Request::SetRules(MemberId(1), rules));
    assert_eq!(story.answer(changed), DONE);
    story.run(10_000);
    assert_eq!(story.count(checks), 11);
    // What makes a connection healthy at all is not changed under it.
    let rules = health(|rules| rules.health.checks = Some(Vec::new()));
    let refused = story.call(Request::SetRules(MemberId(1), rules));
    assert_eq!(
        story.answer(refused),
        Some(Answer::Refused(Refusal::NotEligible(MemberId(1))))
    );
}

#[test]
fn nobody_waits_for_a_delay_that_the_new_rules_would_not_set() {
    let mut story = Story::started(&[1.0, 0.5], |rules| {
        rules.member.reconnect.initial = Duration::from_secs(3600);
        rules.member.reconnect.max = Duration::from_secs(3600);
    });
    story.kill(1);
    assert!(story.member(1).next_dial > Some(Duration::from_secs(1000)));
    story.call(Request::SetRules(MemberId(1), health(|_| {})));
    story.revive(1);
    story.run(10_000);
    assert_eq!(story.link(1), LinkView::Standby);
}

#[test]
fn group_rules_change_what_is_decided_next() {
    let mut story = Story::started(&[1.0, 0.5, 0.2], |_| {});
    let rules = Rules {
        standby: Standby::Count(1),
        startup: crate::config::Startup::All,
        ..Rules::default()
    };
    let changed = story.call(Request::SetGroupRules(Arc::new(rules.clone())));
    assert_eq!(story.answer(changed), DONE);
    assert_eq!(story.link(2), LinkView::Cold);
    // A failback that was on its way is looked at again.
    story.kill(0);
    story.run(100);
    story.revive(0);
    story.run(55_000);
    assert_eq!(story.active(), Some(1));
    let mut rules = rules;
    rules.failback.enabled = false;
    story.call(Request::SetGroupRules(Arc::new(rules)));
    story.run(600_000);
    assert_eq!(story.active(), Some(1));
}
