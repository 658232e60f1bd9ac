//! Checks as they are run: several checks make a probe, several probes make a verdict.
//!
//! When a check runs, and what follows from its verdict, is the machine's; what one check looks at is the backend's or
//! the user's.

mod plan;
mod policy;
#[cfg(all(test, feature = "memory"))]
mod tests;

pub(crate) use plan::CheckPlan;
