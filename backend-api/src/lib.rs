#![doc = include_str!("../README.md")]

mod backend;
mod capabilities;
pub mod duration;
pub mod engine;
mod error;
mod health;
mod member;
mod outcome;
mod pool;
mod signals;
mod slot;
mod sync;

pub use async_trait::async_trait;
pub use backend::{Backend, Dial, FromOptions};
pub use capabilities::Capabilities;
pub use error::{Error, ErrorKind, Fate, Result};
pub use health::{Health, HealthCheck, Ping, Probe};
pub use member::{Epoch, Generation, Member, MemberName, Weight};
pub use outcome::Outcome;
pub use pool::{Candidate, Pool, Role, Rotating, Weighted};
pub use signals::{Notice, Signal, Signals};
pub use slot::{Lease, Leases, Slot};
