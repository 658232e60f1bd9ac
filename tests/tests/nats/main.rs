//! The whole engine over NATS, on real clusters with real faults. One target, so that it links once.
//!
//! Everything waits for a condition with a bound; no test hopes that some time is enough.

#![cfg(feature = "nats")]

mod called_off;
mod discovery;
mod exact;
mod fleet;
mod lame_duck;
mod load;
mod loss;
mod moves;
mod outage;
mod publishing;
mod racing;
mod security;
mod startup;
mod subscriptions;
