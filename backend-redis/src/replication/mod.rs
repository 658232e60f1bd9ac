//! What servers say about replication, and what follows from it: who is whose replica, and how far.
//!
//! Everything rests on `INFO replication`: a history of writes has an id, a place in it is an offset, and a replica that is
//! promoted says which history it left, and where. [`Board`] is for the check `lag`, [`Guard`] makes reads wait after a switch, through redis-rs.
//! Nothing here decides who is active.

mod board;
#[cfg(feature = "redis-rs")]
mod guard;
mod info;
#[cfg(feature = "redis-rs")]
mod standing;

pub(crate) use board::Board;
#[cfg(feature = "redis-rs")]
pub(crate) use guard::{Guard, New, Old};
pub(crate) use info::{Replication, ask};
#[cfg(feature = "redis-rs")]
pub(crate) use standing::{Noted, Standing};
