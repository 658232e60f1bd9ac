//! Failover for Rust services.

mod builder;
pub mod config;
mod driver;
pub mod event;
mod group;
mod health;
pub mod machine;
#[cfg(feature = "memory")]
pub mod memory;
pub mod status;

pub use backend_api as api;
#[cfg(feature = "redis")]
pub use backend_redis as redis;
pub use builder::Builder;
pub use driver::Moved;
pub use group::Failover;
