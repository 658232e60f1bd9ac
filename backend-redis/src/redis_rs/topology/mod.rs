//! Members that are several servers, and what watches them.
//!
//! A connection to such a member has a task, its *steward*, which replaces the socket or waits until the servers serve
//! again. The engine sees one connection all the while.

#[cfg(feature = "cluster")]
pub(crate) mod cluster;
#[cfg(any(feature = "sentinel", feature = "cluster"))]
mod last_word;
#[cfg(feature = "sentinel")]
pub(crate) mod sentinel;
pub(super) mod several;
