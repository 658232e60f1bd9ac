//! Subscriptions that go on over switches.
//!
//! What the application wants is in the [`registry`], and nothing else is the truth: what servers know is derived from it
//! and can be derived again, so no interrupted switch loses an entry. A subscription is an [`entry`] with a feed for every
//! connection that it receives on: one at most times, two while the traffic moves, all armed ones where it is mirrored.
//!
//! - [`delivery`]: what a subscriber may ask for.
//! - [`entry`], [`feed`]: what one subscription is made of, and how messages are taken from its feeds.
//! - [`filter`]: which message was delivered before.
//! - [`registry`]: all entries and the connections they are on.
//! - [`moves`]: what a promotion and a drain do to them.
//! - [`stream`]: what applications hold.

mod delivery;
mod entry;
mod feed;
mod filter;
mod moves;
mod registry;
mod stream;
#[cfg(test)]
mod tests;

pub use delivery::{Dedupe, Delivery};
pub(crate) use entry::Entry;
pub(crate) use feed::no_more;
pub(crate) use moves::leave;
pub(crate) use registry::Registry;
pub use stream::Subscription;
