//! What a configuration may name beyond what engine and backend bring: checks and pools that the user wrote.
//!
//! Names and pools only. How a check runs, and what it runs on, is not a matter of configuration.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use backend_api::{Backend, Pool, Rotating, Weighted};

use super::suggest::hint;

/// The checks and pools that the user registered in code, beside the backend's own checks and the built-in pools
/// `weighted` and `rotating`.
#[derive(Clone)]
pub struct Known {
    checks: Vec<String>,
    pools: BTreeMap<String, Arc<dyn Pool>>,
}

impl Default for Known {
    fn default() -> Self {
        let known = Self {
            checks: Vec::new(),
            pools: BTreeMap::new(),
        };
        known.pool(Arc::new(Weighted)).pool(Arc::new(Rotating))
    }
}

impl Known {
    /// Nothing of the user's own.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes `check = [".."]` accept this name as well.
    #[must_use]
    pub fn check(mut self, name: impl Into<String>) -> Self {
        self.checks.push(name.into());
        self
    }

    /// Makes `pool = ".."` accept this pool under its own name. A pool of the same name is replaced.
    #[must_use]
    pub fn pool(mut self, pool: Arc<dyn Pool>) -> Self {
        self.pools.insert(pool.name().to_owned(), pool);
        self
    }

    /// All checks that can be named where this backend serves.
    pub(super) fn checks_of<B: Backend>(&self, backend: &B) -> Vec<String> {
        let own = backend.checks();
        let own = own.iter().map(|check| check.name().to_owned());
        own.chain(self.checks.iter().cloned()).collect()
    }

    pub(super) fn find_pool(&self, name: &str) -> Result<Arc<dyn Pool>, String> {
        self.pools.get(name).cloned().ok_or_else(|| {
            let known = self.pools.keys().map(String::as_str);
            format!("unknown pool `{name}`{}", hint(name, "pools", known))
        })
    }
}

/// What is wrong with `check = [".."]`, one text for each name.
pub(super) fn wrong_checks<'a>(
    names: &'a [String],
    known: &'a [String],
) -> impl Iterator<Item = (usize, String)> + 'a {
    names.iter().enumerate().filter_map(|(place, name)| {
        if !known.contains(name) {
            let hint = hint(name, "checks", known.iter().map(String::as_str));
            Some((place, format!("unknown check `{name}`{hint}")))
        } else if names[..place].contains(name) {
            Some((place, format!("the check `{name}` is named twice")))
        } else {
            None
        }
    })
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Known")
            .field("checks", &self.checks)
            .field("pools", &self.pools.keys())
            .finish()
    }
}
