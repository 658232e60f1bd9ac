//! The rule that the fleet is compared with: every client has two loops, one for its active and one for its passive
//! connection, that know nothing of each other. Each dials, and after a failure dials again 0-21 ms later, for ever.
//!
//! In its favour: a client counts as back as soon as the first of its two loops is connected, whichever it is.
//!
//! It makes about two million dials a second, so its queue is a wheel of milliseconds: pushing and popping cost an
//! index each. The order within a millisecond is that of queueing.

use crate::args::Settings;
use crate::brokers::{BROKERS, Brokers, Micros, ROUND_TRIP, SECOND};
use crate::dice::Dice;
use crate::figures::{Back, Figures};
use crate::record::PerSecond;

/// The longest pause after a failure.
const PAUSE: Micros = 21_000;

/// As patient as the other fleet.
const CONNECT_TIMEOUT: Micros = 2 * SECOND;

const TICK: Micros = 1_000;

/// More than the longest delay, in ticks.
const TICKS: usize = 4_096;

/// A loop that dials at this time.
#[derive(Clone, Copy)]
struct Try {
    at: Micros,
    which: u32,
}

struct Wheel {
    ticks: Vec<Vec<Try>>,
}

impl Wheel {
    fn push(&mut self, next: Try) {
        self.ticks[(next.at / TICK) as usize % TICKS].push(next);
    }
}

/// A whole outage, from its beginning until the last loop is connected.
pub(crate) fn outage(settings: &Settings) -> Figures {
    let up_at = u64::from(settings.outage_s) * SECOND;
    let mut dice = Dice::new(settings.seed);
    let mut brokers = Brokers::new(settings.accept_rate);
    brokers.limit();
    (0..BROKERS).for_each(|broker| brokers.down(broker));
    let mut dials = PerSecond::default();
    let mut back = vec![None; settings.clients as usize];
    let mut wheel = Wheel {
        ticks: vec![Vec::new(); TICKS],
    };
    let mut left = 2 * settings.clients;
    for which in 0..left {
        let at = dice.below(PAUSE);
        wheel.push(Try { at, which });
    }
    let mut is_up = false;
    let mut tick: Micros = 0;
    while left > 0 {
        let slot = tick as usize % TICKS;
        if !is_up && tick * TICK >= up_at {
            is_up = true;
            (0..BROKERS).for_each(|broker| brokers.up(broker));
        }
        let mut due = std::mem::take(&mut wheel.ticks[slot]);
        // A pause of less than a tick comes back into the same slot.
        while !due.is_empty() {
            for Try { at, which } in due.drain(..) {
                dials.count(at);
                let broker = dice.below(BROKERS as u64) as usize;
                let failed_at = match brokers.dial(broker, at) {
                    Some(accepted) if accepted - at <= CONNECT_TIMEOUT => {
                        left -= 1;
                        let client = &mut back[which as usize / 2];
                        let after = accepted - up_at;
                        *client = Some(client.map_or(after, |first: Micros| first.min(after)));
                        continue;
                    }
                    Some(_) => at + CONNECT_TIMEOUT,
                    None => at + ROUND_TRIP,
                };
                let at = failed_at + dice.below(PAUSE);
                wheel.push(Try { at, which });
            }
            std::mem::swap(&mut due, &mut wheel.ticks[slot]);
        }
        wheel.ticks[slot] = due;
        tick += 1;
    }
    Figures {
        dials,
        back: Back::of(back.into_iter().flatten().collect()),
    }
}
