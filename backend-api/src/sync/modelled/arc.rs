//! `Arc` with `Weak`. The standard one counts; a [`Step`] with the orderings of the standard one lets other threads in
//! before each count, and carries what a drop releases to whoever drops the last.

use std::ops::Deref;
use std::sync;

use loom::sync::atomic::Ordering;

use super::Step;

#[derive(Debug)]
pub(crate) struct Arc<T> {
    /// `None` only while it is being dropped.
    value: Option<sync::Arc<T>>,
    step: sync::Arc<Step>,
}

impl<T> Arc<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            value: Some(sync::Arc::new(value)),
            step: sync::Arc::default(),
        }
    }

    pub(crate) fn downgrade(this: &Self) -> Weak<T> {
        Weak {
            value: this
                .value
                .as_ref()
                .map_or_else(sync::Weak::new, sync::Arc::downgrade),
            step: this.step.clone(),
        }
    }

    /// A clone without a step of its own, as a part of somebody else's step.
    pub(super) fn clone_within_a_step(&self) -> Self {
        Self {
            value: self.value.clone(),
            step: self.step.clone(),
        }
    }
}

impl<T> Clone for Arc<T> {
    fn clone(&self) -> Self {
        self.step.take(Ordering::Relaxed);
        self.clone_within_a_step()
    }
}

impl<T: Default> Default for Arc<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.value {
            Some(value) => value,
            None => unreachable!("used while it is dropped"),
        }
    }
}

impl<T> Drop for Arc<T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // As with every step: see `Step`. What the value itself would do when it goes is no better then.
            std::mem::forget(self.value.take());
            return;
        }
        self.step.take(Ordering::Release);
        if let Some(last) = self.value.take().and_then(sync::Arc::into_inner) {
            self.step.take(Ordering::Acquire);
            drop(last);
        }
    }
}

#[derive(Debug)]
pub(crate) struct Weak<T> {
    value: sync::Weak<T>,
    step: sync::Arc<Step>,
}

impl<T> Weak<T> {
    pub(crate) fn upgrade(&self) -> Option<Arc<T>> {
        // A failed one orders nothing, which is why it must not acquire here either. That a successful one acquires
        // matters to nobody: what it gives was there when the weak reference was made.
        self.step.take(Ordering::Relaxed);
        self.value.upgrade().map(|value| Arc {
            value: Some(value),
            step: self.step.clone(),
        })
    }

    pub(crate) fn strong_count(&self) -> usize {
        self.step.take(Ordering::Relaxed);
        self.value.strong_count()
    }
}
