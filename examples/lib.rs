//! Runnable programs. There is no code here; each program is a folder of its own:
//!
//! - `quickstart`: a group of embedded members that fails over, in two seconds and without a server
//!   (`cargo run --release --example quickstart`, or `cargo quickstart`).
//! - `drill`: real servers, real faults, and how long the traffic stood still (`cargo drill redis kill`).
//!
//! A package with nothing but examples still needs a library target; that is what this file is for.
