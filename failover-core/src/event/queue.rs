//! From the driver to those who read events: a queue for each reader, which grows with what the reader has yet to read.
//!
//! A channel that allocates all its places at once would be the largest thing in an idle group. Here a group without readers
//! keeps nothing, and a reader that keeps up costs next to nothing. The bound is [`LIMIT`] events for each reader: the
//! oldest go, since the latest say how the group stands, and the reader is told how many it missed.
//!
//! Never to come in: anything that waits for a reader.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use super::{Event, EventKind};

/// How many events a reader may be behind before it misses some.
const LIMIT: usize = 1024;

/// What a queue that was read to its end keeps room for. What more a burst took is given back.
const SPARE: usize = 16;

/// The driver's end. When it is dropped, the events have ended.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    readers: Mutex<Vec<Weak<Queue>>>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<Event>,
    missed: u64,
    ended: bool,
}

/// What a reader finds.
enum Look {
    Missed(u64),
    Event(Event),
    Nothing,
    Ended,
}

impl Queue {
    fn look(&self) -> Look {
        let mut waiting = locked(&self.waiting);
        let missed = std::mem::take(&mut waiting.missed);
        if missed > 0 {
            return Look::Missed(missed);
        }
        if let Some(event) = waiting.events.pop_front() {
            return Look::Event(event);
        }
        if waiting.ended {
            return Look::Ended;
        }
        waiting.events.shrink_to(SPARE);
        Look::Nothing
    }
}

impl Sink {
    /// Gives an event to every reader.
    pub(crate) fn send(&self, event: &Event) {
        let mut readers = locked(&self.readers);
        readers.retain(|reader| {
            let Some(queue) = reader.upgrade() else {
                return false;
            };
            let mut waiting = locked(&queue.waiting);
            if waiting.events.len() == LIMIT {
                waiting.events.pop_front();
                waiting.missed += 1;
            }
            waiting.events.push_back(event.clone());
            drop(waiting);
            queue.news.notify_one();
            true
        });
    }

    fn subscribe(&self) -> Arc<Queue> {
        let queue = Arc::<Queue>::default();
        let mut readers = locked(&self.readers);
        // A group that is well may have no event for days in which readers come and go.
        readers.retain(|reader| reader.strong_count() > 0);
        readers.push(Arc::downgrade(&queue));
        queue
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        for queue in locked(&self.readers).iter().filter_map(Weak::upgrade) {
            locked(&queue.waiting).ended = true;
            queue.news.notify_one();
        }
    }
}

/// The events of a group from now on. Memory is bounded: a reader that is more than 1024 events behind misses the oldest of
/// them, and is told how many. Until then it costs only the events that it has yet to read.
#[derive(Debug)]
pub struct Events {
    group: Arc<str>,
    /// None once the events have ended.
    queue: Option<Arc<Queue>>,
}

impl Events {
    /// From now on; of a group that is closed there are none.
    pub(crate) fn new(group: Arc<str>, sink: Option<&Sink>) -> Self {
        Self {
            group,
            queue: sink.map(Sink::subscribe),
        }
    }

    /// The next event; `None` when the group is closed. Cancel-safe.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            let queue = self.queue.as_ref()?;
            match queue.look() {
                Look::Event(event) => return Some(event),
                Look::Missed(count) => return Some(self.missed(count)),
                // An event between the look and this leaves a permit.
                Look::Nothing => queue.news.notified().await,
                Look::Ended => self.queue = None,
            }
        }
    }

    fn missed(&self, count: u64) -> Event {
        Event {
            group: self.group.clone(),
            at: Duration::ZERO,
            kind: EventKind::Missed { count },
        }
    }
}

/// A poisoned lock holds nothing half-done here.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn event(number: u32) -> Event {
        Event {
            group: "g".into(),
            at: Duration::ZERO,
            kind: EventKind::AllMembersDown { attempt: number },
        }
    }

    async fn number(events: &mut Events) -> Option<u32> {
        match events.next().await?.kind {
            EventKind::AllMembersDown { attempt } => Some(attempt),
            other => panic!("{other:?}"),
        }
    }

    fn kept(events: &Events) -> usize {
        let queue = events.queue.as_ref().unwrap();
        locked(&queue.waiting).events.capacity()
    }

    #[tokio::test]
    async fn each_reader_hears_what_came_after_it_and_then_the_end() {
        let sink = Sink::default();
        sink.send(&event(0));
        let mut early = Events::new("g".into(), Some(&sink));
        sink.send(&event(1));
        let mut late = Events::new("g".into(), Some(&sink));
        sink.send(&event(2));
        drop(sink);
        assert_eq!(number(&mut early).await, Some(1));
        for reader in [&mut early, &mut late] {
            assert_eq!(number(reader).await, Some(2));
            assert_eq!(number(reader).await, None);
            assert_eq!(number(reader).await, None);
        }
        assert_eq!(number(&mut Events::new("g".into(), None)).await, None);
    }

    #[tokio::test]
    async fn a_reader_that_waits_is_woken_also_after_it_gave_up_waiting_once() {
        let sink = Sink::default();
        let mut reader = Events::new("g".into(), Some(&sink));
        let given_up = tokio::time::timeout(Duration::from_millis(1), reader.next()).await;
        assert!(given_up.is_err());
        let reading = tokio::spawn(async move {
            let first = number(&mut reader).await;
            (first, number(&mut reader).await)
        });
        tokio::task::yield_now().await;
        sink.send(&event(7));
        tokio::task::yield_now().await;
        drop(sink);
        assert_eq!(reading.await.unwrap(), (Some(7), None));
    }

    #[tokio::test]
    async fn what_nobody_reads_is_not_kept_and_a_burst_is_given_back() {
        let sink = Sink::default();
        let mut reader = Events::new("g".into(), Some(&sink));
        assert_eq!(kept(&reader), 0);
        for number in 0..500 {
            sink.send(&event(number));
        }
        assert!(kept(&reader) >= 500);
        for expected in 0..500 {
            assert_eq!(number(&mut reader).await, Some(expected));
        }
        let idle = tokio::time::timeout(Duration::from_millis(1), reader.next()).await;
        assert!(idle.is_err());
        assert!(kept(&reader) <= SPARE);
        for _ in 0..3 {
            reader = Events::new("g".into(), Some(&sink));
            assert!(locked(&sink.readers).len() <= 2);
        }
        drop(reader);
        sink.send(&event(0));
        assert!(locked(&sink.readers).is_empty());
    }
}
