//! NATS for the failover engine, through async-nats.
mod backend;
mod client;
mod config;
mod connect;
mod connection;
mod echo;
mod keeping;
mod outbound;
mod subscription;
mod target;

pub use backend::{Nats, NatsBuilder};
pub use client::{Ask, FailoverClient};
pub use config::{Carry, Options, Settings};
pub use connection::Connection;
pub use subscription::{Dedupe, Delivery, Subscription};
