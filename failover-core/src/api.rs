//! The contract between the engine and its backends, as `backend-api` has it: for whoever writes a backend, a check or a
//! pool of their own. What only an engine constructs is not here.

pub use backend_api::{
    Backend, Candidate, Capabilities, Dial, Epoch, Error, ErrorKind, Fate, FromOptions, Generation,
    Health, HealthCheck, Lease, Leases, Member, MemberName, Notice, Outcome, Ping, Pool, Probe,
    Result, Role, Rotating, Signal, Signals, Slot, Weight, Weighted, async_trait, duration,
};
