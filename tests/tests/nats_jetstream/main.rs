//! JetStream over switches, on real clusters of three with streams of three replicas. One target, so that it links once.
//!
//! An election after a kill takes seconds, so tests wait long for a condition, and one runs at a time: they share two
//! or three busy cores with their servers, and one of them measures this process.

#![cfg(feature = "nats")]

mod consumer;
mod elsewhere;
mod fleet;
mod idle;
mod leaving;
mod publish;
mod watch;
