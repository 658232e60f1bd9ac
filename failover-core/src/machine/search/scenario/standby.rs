//! Other numbers of standbys, servers and pools, and what a late or a strange driver does.

use std::sync::Arc;

use backend_api::Rotating;

use super::{Scenario, counted_unchecked, unchecked};
use crate::config::Standby;
use crate::machine::search::event::{Call, Odd, Trouble};
use crate::machine::search::flight::Servers;

pub(super) fn standbys(three: &Scenario) -> Vec<Scenario> {
    use Trouble::{Dead, LameDuck, Unhealthy};
    let counted = three.clone().ruled(counted_unchecked);
    let ahead = Scenario {
        ahead: true,
        ..three.clone().ruled(unchecked)
    };
    vec![
        counted
            .named("three, one standby: lost")
            .budget(3, 0)
            .active(&[Dead])
            .answers(&[Dead]),
        counted
            .named("three, one standby: others lost")
            .active(&[Dead])
            .others(&[Dead, LameDuck]),
        counted
            .named("three, one standby: crash")
            .budget(3, 0)
            .odd(&[Odd::Rest, Odd::Crash])
            .answers(&[Dead]),
        counted
            .named("three, no standby: lost")
            .budget(3, 0)
            .ruled(|rules| rules.standby = Standby::Count(0))
            .active(&[Dead, Unhealthy])
            .answers(&[Dead]),
        counted
            .named("three, two standbys: lost")
            .ruled(|rules| rules.standby = Standby::Count(2))
            .active(&[Dead])
            .others(&[Dead]),
        ahead
            .named("three, ahead: lost")
            .budget(3, 0)
            .active(&[Dead])
            .answers(&[Dead]),
        ahead
            .named("three, ahead: unfit")
            .active(&[Dead])
            .answers(&[Unhealthy]),
        ahead
            .named("three, ahead, one standby: lost")
            .budget(3, 0)
            .ruled(counted_unchecked)
            .active(&[Dead])
            .answers(&[Dead]),
        counted
            .named("three on two servers: lost")
            .on(Servers::Fixed(2))
            .active(&[Dead, Unhealthy]),
        counted
            .named("three on two servers: others lost")
            .on(Servers::Fixed(2))
            .others(&[Dead])
            .active(&[Dead]),
        counted
            .named("three on one server: lost")
            .budget(3, 0)
            .on(Servers::Fixed(1))
            .active(&[Dead])
            .others(&[Dead]),
        counted
            .named("three behind a balancer: lost")
            .budget(3, 0)
            .on(Servers::Shifting(2))
            .active(&[Dead])
            .others(&[Dead]),
        three
            .named("three on two servers, all: failing")
            .ruled(unchecked)
            .on(Servers::Fixed(2))
            .active(&[Trouble::Failing]),
        three
            .named("three of one weight: lost")
            .ruled(unchecked)
            .active(&[Dead])
            .budget(3, 0)
            .of(&[1.0, 1.0, 1.0]),
        three
            .named("three, rotating: lost")
            .budget(3, 0)
            .ruled(|rules| {
                unchecked(rules);
                rules.pool = Arc::new(Rotating);
            })
            .active(&[Dead])
            .of(&[1.0, 1.0, 1.0]),
    ]
}

pub(super) fn oddities(two: &Scenario) -> Vec<Scenario> {
    use Trouble::{Dead, Failing, LameDuck, Suspect, Unhealthy};
    let late = Scenario {
        late: true,
        ..two.clone()
    };
    vec![
        two.named("two: silent")
            .budget(3, 0)
            .active(&[Suspect])
            .odd(&[Odd::Rest, Odd::Silence])
            .ruled(unchecked),
        two.named("two: silent, checked")
            .odd(&[Odd::Rest, Odd::Silence]),
        two.named("two: stalled")
            .active(&[Dead])
            .odd(&[Odd::Rest, Odd::Stalled, Odd::Silence])
            .ruled(unchecked)
            .budget(3, 0),
        two.named("two: stalled, refused")
            .active(&[Dead])
            .odd(&[Odd::Rest, Odd::Stalled])
            .answers(&[Dead])
            .ruled(unchecked)
            .budget(3, 0),
        two.named("two: stalled, checked")
            .odd(&[Odd::Rest, Odd::Stalled])
            .answers(&[Unhealthy])
            .budget(2, 0),
        two.named("two: jumps")
            .budget(3, 0)
            .active(&[Dead])
            .odd(&[Odd::Rest, Odd::Jump])
            .ruled(unchecked),
        two.named("two: a late driver")
            .budget(3, 0)
            .active(&[Dead])
            .odd(&[Odd::Rest, Odd::Past, Odd::Midway])
            .ruled(unchecked),
        two.named("two: answered twice")
            .budget(3, 0)
            .active(&[Dead])
            .odd(&[Odd::Rest, Odd::Twice, Odd::Burst])
            .ruled(unchecked),
        two.named("two: mixed batches")
            .active(&[Dead, Unhealthy])
            .odd(&[Odd::Rest, Odd::Mixed, Odd::Burst]),
        two.named("two: an answer and news")
            .active(&[Dead, LameDuck])
            .others(&[Dead])
            .odd(&[Odd::Rest, Odd::Both])
            .ruled(unchecked),
        two.named("two: old connections")
            .active(&[Dead, Unhealthy, LameDuck, Suspect, Failing])
            .odd(&[Odd::Rest, Odd::Old])
            .ruled(unchecked),
        late.named("two: late answers")
            .budget(3, 0)
            .active(&[Dead])
            .odd(&[Odd::Rest, Odd::Silence])
            .ruled(unchecked),
        late.named("two: late answers, moved")
            .active(&[Dead])
            .callable([Call::Drain(1), Call::Remove(1)])
            .ruled(unchecked)
            .budget(1, 2),
    ]
}
