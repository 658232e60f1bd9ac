//! Which message was delivered before. Memory is bounded.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher as _, Hash};
use std::time::{Duration, Instant};

use async_nats::Message;
use backend_api::Generation;

use super::delivery::Dedupe;

/// What one subscription remembers.
pub(super) enum Filter {
    Off,
    Header(Seen),
    Content(Counts),
}

impl Filter {
    pub(super) fn new(dedupe: Dedupe) -> Self {
        match dedupe {
            Dedupe::None => Self::Off,
            Dedupe::Header => Self::Header(Seen::default()),
            Dedupe::Content => Self::Content(Counts::default()),
        }
    }

    /// Whether the message, which arrived on the connection `side`, is to be delivered. `sides` are the connections that it
    /// can arrive on; `alone`: no other can deliver what was not delivered before.
    pub(super) fn is_new(
        &mut self,
        message: &Message,
        side: Generation,
        sides: &[Generation],
        alone: bool,
    ) -> bool {
        match self {
            Self::Off => true,
            Self::Header(seen) => match id(message) {
                Some(id) => seen.insert(id),
                None => true,
            },
            Self::Content(counts) if alone && counts.is_empty() => true,
            Self::Content(counts) => counts.count(message, side, sides, alone, Instant::now()),
        }
    }
}

fn id(message: &Message) -> Option<&str> {
    let headers = message.headers.as_ref()?;
    headers
        .get(async_nats::header::NATS_MESSAGE_ID)
        .map(|id| id.as_str())
}

/// 128 bits of two keyed hashes: that two of a hundred thousand are the same by chance will not happen.
#[derive(Default)]
struct Keys(RandomState, RandomState);

impl Keys {
    fn of(&self, value: &impl Hash) -> u128 {
        u128::from(self.0.hash_one(value)) << 64 | u128::from(self.1.hash_one(value))
    }
}

/// The ids of the last messages.
#[derive(Default)]
pub(super) struct Seen {
    keys: Keys,
    ids: HashSet<u128>,
    order: VecDeque<u128>,
}

/// Twice as many as wait for a reader by default: a message and its double can be so far apart, one waiting behind all of
/// the old connection's, the other behind all of the new one's.
const IDS: usize = 131_072;

impl Seen {
    fn insert(&mut self, id: &str) -> bool {
        let key = self.keys.of(&id);
        if !self.ids.insert(key) {
            return false;
        }
        self.order.push_back(key);
        if self.order.len() > IDS
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
    }
}

/// How often each content arrived on each connection. It is delivered as often as it arrived on the one where it arrived
/// most often.
#[derive(Default)]
pub(super) struct Counts {
    keys: Keys,
    counts: HashMap<u128, Count>,
    order: VecDeque<(u128, Instant)>,
}

struct Count {
    /// When it began: by that its own record in `order` is told from that of an earlier count of the same content.
    since: Instant,
    by_side: Vec<(Generation, u32)>,
    delivered: u32,
}

impl Count {
    fn new(since: Instant) -> Self {
        Self {
            since,
            by_side: Vec::new(),
            delivered: 0,
        }
    }

    /// One more; how many that makes.
    fn arrived(&mut self, side: Generation) -> u32 {
        if let Some((_, count)) = self.by_side.iter_mut().find(|(known, _)| *known == side) {
            *count += 1;
            return *count;
        }
        self.by_side.push((side, 1));
        1
    }

    fn of(&self, side: Generation) -> u32 {
        let known = self.by_side.iter().find(|(known, _)| *known == side);
        known.map_or(0, |(_, count)| *count)
    }
}

/// How long two arrivals of the same message may be apart.
const APART: Duration = Duration::from_secs(2);

impl Counts {
    fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    fn count(
        &mut self,
        message: &Message,
        side: Generation,
        sides: &[Generation],
        alone: bool,
        now: Instant,
    ) -> bool {
        self.forget(now);
        let key = self.key(message);
        if alone && !self.counts.contains_key(&key) {
            return true;
        }
        let count = self.counts.entry(key).or_insert_with(|| {
            self.order.push_back((key, now));
            Count::new(now)
        });
        let here = count.arrived(side);
        let new = here > count.delivered;
        count.delivered = count.delivered.max(here);
        let even = |side: &Generation| count.of(*side) == count.delivered;
        if alone && even(&side) || sides.len() > 1 && sides.iter().all(even) {
            self.counts.remove(&key);
        }
        new
    }

    fn key(&self, message: &Message) -> u128 {
        // In the order in which they were written: the same message has the same.
        let headers: Vec<(&str, Vec<&str>)> = message
            .headers
            .iter()
            .flat_map(|headers| headers.iter())
            .map(|(name, values)| {
                (
                    name.as_ref(),
                    values.iter().map(|value| value.as_str()).collect(),
                )
            })
            .collect();
        let mut sorted = headers;
        sorted.sort_unstable();
        let reply = message.reply.as_ref().map(|reply| reply.as_str());
        self.keys.of(&(
            message.subject.as_str(),
            reply,
            sorted,
            message.payload.as_ref(),
        ))
    }

    fn forget(&mut self, now: Instant) {
        while let Some((key, when)) = self.order.front()
            && now.saturating_duration_since(*when) > APART
        {
            if self.counts.get(key).is_some_and(|it| it.since == *when) {
                self.counts.remove(key);
            }
            self.order.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(payload: &'static str, id: Option<&str>) -> Message {
        let headers = id.map(|id| {
            let mut headers = async_nats::HeaderMap::new();
            headers.insert(async_nats::header::NATS_MESSAGE_ID, id);
            headers
        });
        Message {
            subject: "s".into(),
            reply: None,
            payload: payload.into(),
            headers,
            status: None,
            description: None,
            length: 0,
        }
    }

    const OLD: Generation = Generation(1);
    const NEW: Generation = Generation(2);
    const BOTH: [Generation; 2] = [OLD, NEW];

    /// N34
    #[test]
    fn an_id_is_delivered_once_and_none_always() {
        let mut filter = Filter::new(Dedupe::Header);
        assert!(filter.is_new(&message("a", Some("1")), OLD, &BOTH, false));
        assert!(!filter.is_new(&message("a", Some("1")), NEW, &BOTH, false));
        assert!(filter.is_new(&message("a", Some("2")), NEW, &BOTH, false));
        assert!(filter.is_new(&message("a", None), OLD, &BOTH, false));
        assert!(filter.is_new(&message("a", None), NEW, &BOTH, false));
    }

    /// N34: the same content twice on one connection was published twice.
    #[test]
    fn content_is_compared_over_two_connections_only() {
        let mut filter = Filter::new(Dedupe::Content);
        let mut take = |payload, side| filter.is_new(&message(payload, None), side, &BOTH, false);
        assert!(take("a", OLD));
        assert!(take("a", OLD));
        assert!(!take("a", NEW));
        assert!(!take("a", NEW));
        assert!(take("a", NEW));
        assert!(!take("a", OLD));
        assert!(take("b", NEW));
        assert!(!take("b", OLD));
    }

    /// The old connection is done and gone, and what it delivered still comes on the new one.
    #[test]
    fn the_rest_of_an_overlap_is_compared_as_well() {
        let mut filter = Filter::new(Dedupe::Content);
        assert!(filter.is_new(&message("a", None), OLD, &BOTH, false));
        assert!(filter.is_new(&message("b", None), NEW, &[NEW], true));
        assert!(!filter.is_new(&message("a", None), NEW, &[NEW], true));
        assert!(filter.is_new(&message("a", None), NEW, &[NEW], true));
    }

    /// N34: what is forgotten of the first pair is not the second one's count.
    #[test]
    fn content_that_repeats_is_doubled_by_no_earlier_record() {
        let mut counts = Counts::default();
        let start = Instant::now();
        let mut arrives = |side, millis| {
            let now = start + Duration::from_millis(millis);
            counts.count(&message("tick", None), side, &BOTH, false, now)
        };
        for at in [0, 1500, 3000, 4500] {
            assert!(arrives(OLD, at));
            assert!(!arrives(NEW, at + 600), "the double of {at}");
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut seen = Seen::default();
        for number in 0..IDS + 1000 {
            assert!(seen.insert(&number.to_string()));
        }
        assert_eq!(seen.ids.len(), IDS);
        let mut counts = Counts::default();
        let start = Instant::now();
        for number in 0..10 {
            counts.count(
                &message("x", Some(&number.to_string())),
                OLD,
                &[OLD],
                false,
                start,
            );
        }
        counts.forget(start + APART + Duration::from_millis(1));
        assert!(counts.counts.is_empty() && counts.order.is_empty());
        // What has arrived everywhere is not remembered.
        assert!(counts.count(&message("y", None), OLD, &BOTH, false, start));
        assert!(!counts.count(&message("y", None), NEW, &BOTH, false, start));
        assert!(counts.counts.is_empty());
    }
}
