//! Table tests in virtual numbers: what the rules say should happen, one behaviour each, by the ids of the list of
//! behaviours. What must never happen is checked on the way, by the same invariants as in the search.

mod breaker;
mod checks;
mod closing;
mod discovery;
mod failback;
mod failover;
mod grace;
mod identity;
mod jitter;
mod lame_duck;
mod membership;
mod new_rules;
mod outage;
mod property;
mod replace;
mod stall;
mod startup;
mod story;
mod switching;
mod targets;
