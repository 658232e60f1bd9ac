//! Runnable programs. There is no code here; each program is a folder of its own:
//!
//! - `quickstart`: a group of embedded members that fails over, in two seconds and without a server
//!   (`cargo run --release --example quickstart`, or `cargo quickstart`).
//! - `nats_active_passive`: a group over the nodes of a real NATS cluster, through a switch, a drain, a shutdown and a kill
//!   (`cargo run --release --example nats_active_passive --features nats`).
//! - `redis_multi_db`: two real Redis databases with weights, through a kill, a failback and a drain, with commands and
//!   messages all the time (`cargo redis-multi-db`).
//! - `custom_backend`: a backend of one's own in 120 lines, and the conformance suite over it.
//!
//! Programs that measure the engine or try to break it are tools, below `tests/tools`.
//!
//! A package with nothing but examples still needs a library target; that is what this file is for. It also has the
//! examples of the README compiled, where everything that they use is at hand.

#[cfg(all(doctest, feature = "redis", feature = "nats"))]
#[doc = include_str!("../README.md")]
struct Readme;
