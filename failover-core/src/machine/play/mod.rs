//! Timed plays.
mod application;
mod changes;
mod checking;
mod dice;
pub(in crate::machine) mod expected;
mod explore;
mod host;
mod plays;
mod promises;
mod record;
mod script;
mod stage;
#[cfg(test)]
mod tests;
mod ticks;
