//! A new configuration for a group that runs.
//!
//! Here is how it is read again, what of it can be applied at all, and what is told of it. What follows for the members
//! is said by the driver (`driver::reload`) and decided by the machine, like every other control operation: nothing here
//! connects or waits for a member.

mod changes;
mod origin;
mod rules;
#[cfg(feature = "watch")]
mod watch;

pub use changes::Reloaded;
pub(crate) use origin::Origin;
pub(crate) use rules::{differences, fixed};
#[cfg(feature = "watch")]
pub(crate) use watch::watch;
