//! A room for each rule beyond connecting and choosing. A rule keeps its own state here, is asked in one place
//! ([`super::settle`], [`super::choose`] or [`super::switch`]), and is not spread over the rest.

pub(super) mod breaker;
pub(super) mod discovery;
pub(super) mod failback;
mod force;
mod grace;
mod identity;
mod lame_duck;
mod membership;
mod outgoing;
mod replace;
mod retune;
mod stall;
