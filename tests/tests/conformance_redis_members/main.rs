//! The Redis backend keeps the contract where a member is several servers. Such members take seconds to start, so this takes
//! minutes, nearly all of which is waiting; both kinds run side by side.

#![cfg(feature = "redis")]

#[cfg(feature = "redis-cluster")]
mod cluster;
#[cfg(feature = "redis-sentinel")]
mod sentinel;
