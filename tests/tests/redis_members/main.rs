//! Redis members that are more than one server: a master behind sentinels, a cluster. What happens inside a member is its own
//! business until it cannot help itself; then the group moves.
//!
//! Real servers, real faults, and conditions with a bound.

#![cfg(all(feature = "redis-cluster", feature = "redis-sentinel"))]

mod cluster;
mod group;
mod sentinel;
