//! Redis through fred: the second driver, with the same settings, options, proofs and checks as the first.
//!
//! What is the same for both stands outside: settings and options, probes and checks, the table of failures, the subscriptions.
//! Here is only what fred makes different. Nothing of redis-rs may be used here.
//!
//! A fred client reconnects by itself or it hangs: without a policy of its own, which is how it is used here, every
//! command after the end of its socket waits for ever. So a dead client is never used again, and whatever waits on one is
//! cut off by its connection ([`state`]).

//!
//! fred's own pub/sub is not used: the subscriptions have a socket of ours, as through redis-rs. In fred 10.1 a subscribe
//! returns when it is written and drops the server's confirmation. A refusal is dropped too, or taken for the answer to
//! whatever is in flight. A message does not say which pattern it came by, and its channel has to be UTF-8. Keyspace events
//! are taken out, and a reader that falls behind loses messages.
//!
//! # What cannot be guarded here
//!
//! fred parses the answers to commands with `redis-protocol`, which calls itself for each level of arrays. An answer that is
//! nested some thousand levels deep overflows the stack and aborts the process. fred opens its sockets itself and lets nobody
//! look at the bytes, so no limit can be put before its parser. Only a server that is not Redis, or somebody between the two,
//! sends such an answer: use TLS where the network is not trusted. The socket of the subscriptions has the limit, and
//! redis-rs stops at a depth of 100.

mod ask;
mod backend;
mod client;
mod connect;
mod connection;
mod dedicated;
mod errors;
mod judge;
mod state;
mod subscriptions;

pub use backend::Fred;
pub use client::FredClient;
pub use connection::FredConnection;
