//! The whole engine through its public door: driver, machine and embedded backend together, in virtual time.
//!
//! One binary, so that it is linked once. Nothing here sleeps in real time, and jitter is off (seed zero) except where
//! jitter is the matter. Each test ends with [`bench::Group::end`], which fails if a task or a connection is left.

mod bench;
mod callbacks;
mod close;
mod control;
mod drain;
mod failover;
mod loss;
mod membership;
mod startup;
mod startup_policy;
mod unavailable;
