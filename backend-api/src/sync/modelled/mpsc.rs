//! tokio's `mpsc` as far as it is used here: a queue that ends with its last sender. No sender ever waits for room: the
//! bounded channel of this crate carries nothing.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use super::Stepped;

struct Queue<T> {
    items: VecDeque<T>,
    senders: usize,
    receiving: bool,
    waiting: Option<Waker>,
}

type Shared<T> = Arc<Stepped<Queue<T>>>;

pub(crate) type Sender<T> = UnboundedSender<T>;
pub(crate) type Receiver<T> = UnboundedReceiver<T>;

pub(crate) struct UnboundedSender<T>(Shared<T>);

pub struct UnboundedReceiver<T>(Shared<T>);

/// There is nothing to receive.
#[derive(Debug)]
pub struct Empty;

pub(crate) fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let shared = Arc::new(Stepped::new(Queue {
        items: VecDeque::new(),
        senders: 1,
        receiving: true,
        waiting: None,
    }));
    (UnboundedSender(shared.clone()), UnboundedReceiver(shared))
}

pub(crate) fn channel<T>(_room: usize) -> (Sender<T>, Receiver<T>) {
    unbounded_channel()
}

impl<T> UnboundedSender<T> {
    /// As the real one: whoever does not hear it any more gives it back.
    pub(crate) fn send(&self, item: T) -> Result<(), T> {
        let mut queue = self.0.step();
        if !queue.receiving {
            return Err(item);
        }
        queue.items.push_back(item);
        let waiting = queue.waiting.take();
        drop(queue);
        if let Some(waiting) = waiting {
            waiting.wake();
        }
        Ok(())
    }
}

impl<T> Clone for UnboundedSender<T> {
    fn clone(&self) -> Self {
        self.0.step().senders += 1;
        Self(self.0.clone())
    }
}

impl<T> Drop for UnboundedSender<T> {
    fn drop(&mut self) {
        let mut queue = self.0.step();
        queue.senders -= 1;
        let waiting = match queue.senders {
            0 => queue.waiting.take(),
            _ => None,
        };
        drop(queue);
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }
}

impl<T> UnboundedReceiver<T> {
    /// What was sent first of what is there.
    pub fn try_recv(&mut self) -> Result<T, Empty> {
        self.0.step().items.pop_front().ok_or(Empty)
    }

    /// `None` once all senders are gone and nothing is left.
    pub async fn recv(&mut self) -> Option<T> {
        poll_fn(|context| {
            // Cloned before the step: that is an operation of loom too.
            let waker = context.waker().clone();
            let mut queue = self.0.step();
            if let Some(item) = queue.items.pop_front() {
                return Poll::Ready(Some(item));
            }
            if queue.senders == 0 {
                return Poll::Ready(None);
            }
            let before = queue.waiting.replace(waker);
            drop(queue);
            drop(before);
            Poll::Pending
        })
        .await
    }
}

impl<T> Drop for UnboundedReceiver<T> {
    fn drop(&mut self) {
        let mut queue = self.0.step();
        queue.receiving = false;
        let left = std::mem::take(&mut queue.items);
        drop(queue);
        drop(left);
    }
}

impl<T> std::fmt::Debug for UnboundedSender<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UnboundedSender").finish_non_exhaustive()
    }
}
