//! Failover for Rust services.

pub mod config;
pub mod machine;
#[cfg(feature = "memory")]
pub mod memory;

pub use backend_api as api;
