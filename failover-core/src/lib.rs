//! Failover for Rust services.

pub mod config;
#[cfg(feature = "memory")]
pub mod memory;

pub use backend_api as api;
