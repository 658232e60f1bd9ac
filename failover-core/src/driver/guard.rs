//! Users' code that runs inside the engine's own decisions: a panic in it must not end the group.
//!
//! What the driver awaits is guarded by its own task; here is what is called in place.

use std::cmp::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use backend_api::{Candidate, Error, ErrorKind, Pool, Role, Weighted};

use crate::config::{Rules, Startup, StartupPolicy, StartupTally, StartupVerdict};

/// Guards the user's parts of the rules.
pub(crate) fn guard(rules: &mut Rules) {
    rules.pool = Arc::new(Guarded(rules.pool.clone()));
    if let Startup::Custom(policy) = &rules.startup {
        rules.startup = Startup::Custom(Arc::new(Guarded(policy.clone())));
    }
}

/// Calls what may panic.
pub(crate) fn guarded<T>(what: &str, call: impl FnOnce() -> T) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|_| {
        tracing::error!("{what} panicked, see its message above");
        Error::new(
            ErrorKind::Panicked,
            format!("{what} panicked; see its message above"),
        )
    })
}

struct Guarded<T: ?Sized>(Arc<T>);

impl Pool for Guarded<dyn Pool> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn compare(&self, role: Role, a: &Candidate, b: &Candidate) -> Ordering {
        guarded("the pool", || self.0.compare(role, a, b))
            .unwrap_or_else(|_| Weighted.compare(role, a, b))
    }
}

impl StartupPolicy for Guarded<dyn StartupPolicy> {
    fn decide(&self, tally: StartupTally) -> StartupVerdict {
        guarded("the startup policy", || self.0.decide(tally)).unwrap_or(StartupVerdict::Fail)
    }
}
