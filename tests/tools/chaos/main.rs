//! `cargo chaos`: real servers, a workload, many faults at once, and a checker that reads what happened.

mod record;

fn main() {}
