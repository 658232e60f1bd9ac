//! tokio's `watch` as far as it is used here: a value with a version, and receivers that know which they have seen.
//! Reading gives a copy and not a guard, so that no lock outlives its step.

use std::future::poll_fn;
use std::ops::Deref;
use std::sync::Arc;
use std::task::{Poll, Waker};

use super::Stepped;

#[derive(Debug)]
struct Watched<T> {
    value: T,
    version: u64,
    closed: bool,
    waiting: Vec<Waker>,
}

type Shared<T> = Arc<Stepped<Watched<T>>>;

#[derive(Debug)]
pub(crate) struct Sender<T> {
    shared: Shared<T>,
}

#[derive(Clone, Debug)]
pub(crate) struct Receiver<T> {
    shared: Shared<T>,
    seen: u64,
}

#[derive(Debug)]
pub(crate) struct Closed;

pub(crate) struct Ref<T>(T);

impl<T> Deref for Ref<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

pub(crate) fn channel<T: Clone>(value: T) -> (Sender<T>, Receiver<T>) {
    let sender = Sender::new(value);
    let receiver = sender.subscribe();
    (sender, receiver)
}

impl<T: Clone> Sender<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            shared: Arc::new(Stepped::new(Watched {
                value,
                version: 0,
                closed: false,
                waiting: Vec::new(),
            })),
        }
    }

    pub(crate) fn send_replace(&self, value: T) {
        self.send_if_modified(|now| {
            *now = value;
            true
        });
    }

    pub(crate) fn send_if_modified(&self, modify: impl FnOnce(&mut T) -> bool) {
        let mut watched = self.shared.step();
        let mut waiting = Vec::new();
        if modify(&mut watched.value) {
            watched.version += 1;
            waiting = std::mem::take(&mut watched.waiting);
        }
        drop(watched);
        waiting.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn borrow(&self) -> Ref<T> {
        Ref(self.shared.step().value.clone())
    }

    pub(crate) fn subscribe(&self) -> Receiver<T> {
        let seen = self.shared.step().version;
        Receiver {
            shared: self.shared.clone(),
            seen,
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut watched = self.shared.step();
        watched.closed = true;
        let waiting = std::mem::take(&mut watched.waiting);
        drop(watched);
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl<T: Clone> Receiver<T> {
    pub(crate) fn borrow_and_update(&mut self) -> Ref<T> {
        let watched = self.shared.step();
        self.seen = watched.version;
        Ref(watched.value.clone())
    }

    pub(crate) async fn changed(&mut self) -> Result<(), Closed> {
        poll_fn(|context| {
            // Cloned before the step: that is an operation of loom too.
            let waker = context.waker().clone();
            let mut watched = self.shared.step();
            if watched.version != self.seen {
                self.seen = watched.version;
                Poll::Ready(Ok(()))
            } else if watched.closed {
                Poll::Ready(Err(Closed))
            } else {
                watched.waiting.push(waker);
                Poll::Pending
            }
        })
        .await
    }
}
