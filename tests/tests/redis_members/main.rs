//! Redis members that are more than one server: a master behind sentinels. What happens inside a member is its own
//! business until it cannot help itself; then the group moves.
//!
//! Real servers, real faults, and conditions with a bound.

#![cfg(feature = "redis-sentinel")]

mod group;
mod sentinel;
