//! The whole engine through its public door: driver, machine and embedded backend together, in virtual time.
//!
//! One binary, so that it is linked once. Nothing here sleeps in real time, and jitter is off (seed zero) except where
//! jitter is the matter. Each test ends with [`bench::Group::end`], which fails if a task or a connection is left.

mod bench;
mod breaker;
mod broken;
mod callbacks;
mod checks;
mod close;
mod control;
mod discovery;
mod drain;
mod early;
mod failback;
mod failover;
mod identity;
mod lame_duck;
mod loss;
mod many;
mod membership;
mod outage;
mod reload;
mod reload_rules;
mod replace;
mod robust;
mod stall;
mod startup;
mod startup_policy;
mod stories;
mod unavailable;
mod watch;
