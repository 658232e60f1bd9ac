//! What servers say about replication, and what follows from it: who is whose replica, and how far.
//!
//! Everything rests on `INFO replication`: a history of writes has an id, a place in it is an offset, and a replica that is
//! promoted says which history it left, and where. [`Board`] is for the check `lag`, [`Guard`] makes reads wait after a switch.
//! Nothing here decides who is active.

mod board;
mod guard;
mod info;

pub(crate) use board::Board;
pub(crate) use guard::Guard;
pub(crate) use info::{Noted, Replication, Standing, ask};
