//! The primitives by which threads meet in this crate, by the names under which normal builds know them.
//!
//! A normal build gets the real ones, re-exported and nothing else, so that the hot path is the same machine code as
//! without this module. Under `--cfg loom` it gets stand-ins with the same methods, whose every step is one at which
//! another thread may come in between; `tests/loom` explores all of them.
//!
//! Only what is shared between threads belongs here, and only what this crate uses of it. Never a decision: code that
//! behaves differently under the models is code that the models say nothing about.

#[cfg(loom)]
mod modelled;
#[cfg(not(loom))]
mod real;

#[cfg(loom)]
pub(crate) use modelled::*;
#[cfg(not(loom))]
pub(crate) use real::*;
