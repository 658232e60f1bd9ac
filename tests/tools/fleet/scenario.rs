//! The three things that befall the fleet of machines, and what is measured in each.

use crate::args::Settings;
use crate::brokers::{BROKERS, Micros, SECOND};
use crate::client::Layout;
use crate::figures::{Back, Figures, seconds};
use crate::record::PerSecond;
use crate::world::World;

/// The longest that is waited for everybody; a fleet that is not complete by then is reported as it is.
const PATIENCE: Micros = 3_600 * SECOND;

/// All brokers die at once and return at once.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outage {
    pub(crate) figures: Figures,
    /// Most dials that any client had under way at once while it was without an active.
    pub(crate) most_in_flight: usize,
    /// When everybody had a standby again, since the brokers' return.
    pub(crate) standbys_s: Back,
    /// Nobody is left without.
    pub(crate) complete: bool,
}

pub(crate) fn outage(settings: &Settings) -> Outage {
    let mut world = World::at_rest(settings, Layout::Rotating);
    (0..BROKERS).for_each(|broker| world.down(broker));
    world.run_for(u64::from(settings.outage_s) * SECOND);
    let returned = world.record.zero + world.elapsed();
    (0..BROKERS).for_each(|broker| world.up(broker));
    let complete = world.run_while(PATIENCE, |record| record.is_whole());
    let record = &world.record;
    let since = |at: Micros| at.saturating_sub(returned);
    let fates = &record.fates;
    Outage {
        figures: Figures {
            dials: record.dials.clone(),
            back: Back::of(fates.iter().map(|fate| since(fate.back_at)).collect()),
        },
        most_in_flight: fates.iter().map(|fate| fate.most_dials).max().unwrap_or(0),
        standbys_s: Back::of(fates.iter().map(|fate| since(fate.whole_at)).collect()),
        complete,
    }
}

/// How long a broker of the rolling restart says that it will go before it does.
const ANNOUNCED: Micros = 10 * SECOND;
/// How long it is gone.
const RESTART: Micros = 5 * SECOND;
/// How long the next one waits after that.
const BETWEEN: Micros = 45 * SECOND;

/// Each broker in turn announces its shutdown, goes, and returns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rolling {
    pub(crate) dials: PerSecond,
    pub(crate) switches: PerSecond,
    /// Clients that were without an active at all.
    pub(crate) interrupted: usize,
    pub(crate) longest_gap_s: f64,
    /// When everybody was complete again, since the last broker's return.
    pub(crate) whole_s: f64,
    pub(crate) complete: bool,
}

pub(crate) fn rolling_restart(settings: &Settings) -> Rolling {
    let mut world = World::at_rest(settings, Layout::Rotating);
    let mut returned = 0;
    for broker in 0..BROKERS {
        world.announce(broker);
        world.run_for(ANNOUNCED);
        world.down(broker);
        world.run_for(RESTART);
        world.up(broker);
        returned = world.record.zero + world.elapsed();
        if broker + 1 < BROKERS {
            world.run_for(BETWEEN);
        }
    }
    let complete = world.run_while(PATIENCE, |record| record.is_whole());
    let record = &world.record;
    let gaps = record.fates.iter().map(|fate| fate.longest_gap);
    let whole = record.fates.iter().map(|fate| fate.whole_at).max();
    Rolling {
        dials: record.dials.clone(),
        switches: record.switches.clone(),
        interrupted: gaps.clone().filter(|gap| *gap > 0).count(),
        longest_gap_s: seconds(gaps.max().unwrap_or(0)),
        whole_s: seconds(whole.unwrap_or(0).saturating_sub(returned)),
        complete,
    }
}

/// The heaviest member dies, returns, and gets its traffic back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failback {
    pub(crate) dials: PerSecond,
    /// Moves back to it, in each second since it died.
    pub(crate) failbacks: PerSecond,
    /// The longest that any client was without an active, from the loss to the last failback.
    pub(crate) longest_gap_s: f64,
    pub(crate) complete: bool,
}

pub(crate) fn failback(settings: &Settings) -> Failback {
    let mut world = World::at_rest(settings, Layout::Weighted);
    world.down(0);
    world.run_for(u64::from(settings.outage_s) * SECOND);
    world.up(0);
    let all = u64::from(settings.clients);
    let complete = world.run_while(PATIENCE, |record| record.failbacks.total() >= all);
    let record = &world.record;
    let gaps = record.fates.iter().map(|fate| fate.longest_gap);
    Failback {
        dials: record.dials.clone(),
        failbacks: record.failbacks.clone(),
        longest_gap_s: seconds(gaps.max().unwrap_or(0)),
        complete,
    }
}
