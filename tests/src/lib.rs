//! The test kit: real servers with real faults, and what tests of any backend share.
//!
//! A failover framework is worth what it does to a server that was killed, frozen or cut off, so its tests run on real
//! ones. This crate starts them, hurts them, and makes sure that none outlives its test.
//!
//! It is a library and not a folder of helpers because three kinds of programs use it: the tests of this workspace, the
//! tools of `tests/tools`, and the tests of a backend that somebody else writes.
//!
//! What must never come in: a Redis or NATS client as a dependency that is on by default (the harness looks at servers
//! from outside, over plain sockets), and a way to skip a test because something is missing.

pub mod conformance;
pub mod server;
mod wait;

pub use wait::wait_until;
