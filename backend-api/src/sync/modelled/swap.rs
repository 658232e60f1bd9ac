//! The pointer that is read on the hot path. As with the real one, what was loaded stays alive while its guard is held,
//! and whoever stores drops what was there before.

use std::ops::Deref;

use super::{Arc, Stepped};

pub(crate) struct ArcSwapOption<T> {
    now: Stepped<Option<Arc<T>>>,
}

impl<T> ArcSwapOption<T> {
    pub(crate) fn empty() -> Self {
        Self {
            now: Stepped::new(None),
        }
    }

    pub(crate) fn load(&self) -> Guard<T> {
        Guard(self.now.step().as_ref().map(Arc::clone_within_a_step))
    }

    pub(crate) fn store(&self, value: Option<Arc<T>>) {
        let before = std::mem::replace(&mut *self.now.step(), value);
        // Not before the lock is gone: dropping takes steps.
        drop(before);
    }
}

pub(crate) struct Guard<T>(Option<Arc<T>>);

impl<T> Deref for Guard<T> {
    type Target = Option<Arc<T>>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
