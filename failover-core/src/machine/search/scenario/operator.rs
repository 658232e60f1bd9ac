//! What operators, configurations and the members themselves call for.

use std::time::Duration;

use super::{Scenario, counted, counted_unchecked, unchecked};
use crate::machine::search::event::{Call, Odd, Trouble};

pub(super) fn operators(two: &Scenario, three: &Scenario) -> Vec<Scenario> {
    use Trouble::{Dead, Failing, LameDuck, ReadOnly, Unhealthy};
    let plain = two.clone().ruled(unchecked);
    let once = Scenario {
        again: false,
        ..plain.clone()
    };
    vec![
        plain
            .named("two: moved by hand")
            .callable([
                Call::Switch(1),
                Call::Drain(0),
                Call::Drain(1),
                Call::Passive,
                Call::PassiveSteal,
            ])
            .answers(&[Dead])
            .budget(1, 2),
        plain
            .named("two: moved by hand, then lost")
            .callable([Call::Switch(1), Call::Switch(0), Call::Drain(1)])
            .active(&[Dead])
            .budget(1, 2),
        once.named("two, once only: moved by hand")
            .callable([Call::Switch(1), Call::Drain(1)])
            .active(&[Dead])
            .draining(&[Dead])
            .budget(1, 2),
        two.named("two: moved back in a drain")
            .callable([Call::Switch(1), Call::Drain(0), Call::Drain(1)])
            .active(&[Unhealthy])
            .budget(1, 1),
        two.named("two: moved to the unfit")
            .callable([Call::Switch(1), Call::Drain(1)])
            .answers(&[Unhealthy])
            .budget(1, 1),
        plain
            .named("two: moved to the marked")
            .callable([
                Call::Switch(1),
                Call::Drain(1),
                Call::Mark(1),
                Call::Passive,
            ])
            .others(&[Failing, LameDuck])
            .budget(1, 2),
        two.named("two: forced")
            .callable([Call::Force(1), Call::ForceDrain(1), Call::Release])
            .answers(&[Unhealthy, ReadOnly])
            .budget(1, 1),
        plain
            .named("two: forced to the broken")
            .callable([Call::Force(1), Call::ForceDrain(1), Call::Release])
            .others(&[Failing, LameDuck])
            .active(&[Failing])
            .budget(1, 2),
        plain
            .named("two: pinned")
            .callable([Call::Pin, Call::Release])
            .active(&[Dead])
            .budget(2, 2),
        plain
            .named("two: no failback")
            .ruled(|rules| {
                rules.failback.enabled = false;
                rules.loss_redial = Duration::ZERO;
            })
            .active(&[Dead])
            .budget(3, 0),
        plain
            .named("two: marked")
            .callable([Call::Mark(0), Call::Clear(0), Call::Mark(1), Call::Clear(1)])
            .active(&[LameDuck])
            .others(&[LameDuck])
            .budget(1, 2),
        plain
            .named("two: weighed")
            .callable([
                Call::Prefer(0),
                Call::Prefer(1),
                Call::Demote(0),
                Call::Demote(1),
            ])
            .active(&[Dead])
            .budget(1, 2),
        plain
            .named("two: added and removed")
            .callable([Call::Add, Call::AddDisabled])
            .each(3, Call::Remove)
            .each(3, Call::Enable)
            .answers(&[Dead])
            .budget(1, 2),
        plain
            .named("two: disabled")
            .each(2, Call::Disable)
            .each(2, Call::Enable)
            .active(&[Dead])
            .budget(1, 2),
        plain
            .named("two: closed")
            .callable([
                Call::Close,
                Call::Switch(1),
                Call::Drain(1),
                Call::Remove(0),
            ])
            .odd(&[Odd::Rest, Odd::Silence])
            .budget(1, 2),
        three
            .named("three: rehomed")
            .ruled(unchecked)
            .callable([Call::Rehome])
            .active(&[Dead])
            .others(&[Dead])
            .budget(2, 1),
        three
            .named("three, one standby: rehomed")
            .ruled(counted_unchecked)
            .callable([Call::Rehome, Call::Switch(2), Call::Prefer(2)])
            .active(&[Dead])
            .budget(1, 1),
        Scenario {
            ahead: true,
            ..plain.named("two, ahead: moved by hand")
        }
        .callable([Call::Switch(1), Call::Drain(1)])
        .active(&[Dead])
        .budget(2, 1),
    ]
}

pub(super) fn configurations(one: &Scenario, two: &Scenario, three: &Scenario) -> Vec<Scenario> {
    use Trouble::{Dead, Unhealthy};
    let plain = two.clone().ruled(unchecked);
    vec![
        plain
            .named("two: replaced")
            .each(2, Call::Replace)
            .each(2, Call::KeepAsIs)
            .answers(&[Dead])
            .budget(1, 2),
        two.named("two: replaced, checked")
            .each(2, Call::Replace)
            .answers(&[Unhealthy])
            .budget(1, 1),
        Scenario {
            ahead: true,
            ..plain.named("two, ahead: replaced")
        }
        .each(2, Call::Replace)
        .active(&[Dead])
        .budget(1, 1),
        one.named("one: replaced")
            .ruled(unchecked)
            .each(1, Call::Replace)
            .active(&[Dead])
            .answers(&[Dead])
            .budget(2, 2),
        plain
            .named("two: phased out")
            .each(2, Call::PhaseOut)
            .each(2, Call::PhaseDown)
            .each(2, Call::Enable)
            .active(&[Dead])
            .budget(1, 2),
        plain
            .named("two, one standby: told of each other")
            .ruled(counted)
            .callable([
                Call::Untold(0, 0),
                Call::Untold(0, 1),
                Call::Untold(1, 0),
                Call::Untold(1, 1),
            ])
            .active(&[Dead])
            .budget(2, 2),
        plain
            .named("two: other rules")
            .callable([Call::Recount, Call::Stay, Call::Reshape])
            .active(&[Dead])
            .budget(2, 2),
        plain
            .named("two: other rules for a member")
            .callable([Call::Calm(0), Call::Calm(1), Call::Retune(1)])
            .active(&[Dead, Trouble::Wavering])
            .answers(&[Dead])
            .budget(2, 1),
        plain
            .named("two: replaced while moves wait")
            .callable([Call::Replace(0), Call::Switch(0), Call::Switch(1)])
            .budget(0, 3),
        plain
            .named("two: replaced while traffic is to return")
            .ruled(|rules| rules.loss_redial = Duration::ZERO)
            .callable([
                Call::Replace(0),
                Call::Remove(0),
                Call::Disable(0),
                Call::Mark(0),
            ])
            .active(&[Dead])
            .budget(1, 2),
        plain
            .named("two: rules that cannot be changed so")
            .callable([Call::Uncheck(0), Call::Uncheck(1), Call::Retune(0)])
            .budget(0, 2),
        two.named("two: other checks")
            .each(2, Call::Retune)
            .answers(&[Unhealthy])
            .budget(1, 1),
        three
            .named("three, one standby: other rules")
            .ruled(counted_unchecked)
            .callable([Call::Recount, Call::PhaseOut(0), Call::PhaseOut(1)])
            .active(&[Dead])
            .budget(1, 2),
    ]
}
