//! `cargo chaos`: real servers, a workload, many faults at once, and a checker that reads what happened.
#![allow(
    dead_code,
    reason = "nothing writes a record yet: the checker is tried on forged ones"
)]

mod check;
mod record;
mod report;

fn main() {}
