//! The whole engine over Redis, on real servers with real faults: what `backend-redis` pins against the contract is seen
//! here to come together. One target, so that it links once.
//!
//! Everything waits for a condition with a bound; no test hopes that some time is enough.

#![cfg(feature = "redis")]

mod checks;
mod fleet;
mod leaks;
mod loss;
mod moves;
mod pubsub;
mod replication;
mod roles;
