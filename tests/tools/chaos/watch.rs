//! What is looked at while the run goes on: what the group says, what dials the members, what this process uses, and
//! whether it runs at all.
//!
//! What must never come in: anything that does something to the group or its servers.

use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use failover_core::ErrorKind;
use failover_core::event::{Event, EventKind};

use crate::log::Clock;
use crate::record::{Link, Member, Micros, Move, Sample};

/// How often the clock is looked at.
const TICK: Duration = Duration::from_millis(2);
/// A thread that woke so much too late did not run. Less than that is a busy machine.
const GAP: Duration = Duration::from_millis(25);

/// What the group said. All clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Said(Arc<Mutex<Heard>>);

/// All of it, in order.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) moves: Vec<Move>,
    pub(crate) links: Vec<Link>,
    /// Dials that were refused: no proxy sees them.
    pub(crate) refused: Vec<(Micros, Member)>,
    /// Events that came too fast to be heard.
    pub(crate) missed: u64,
    pub(crate) active: Option<Member>,
    names: HashMap<String, Member>,
}

impl Said {
    pub(crate) fn new(members: &[&str]) -> Self {
        let names = members.iter().zip(0..);
        let names = names.map(|(name, number)| ((*name).to_owned(), number));
        let heard = Heard {
            names: names.collect(),
            ..Heard::default()
        };
        Self(Arc::new(Mutex::new(heard)))
    }

    /// For [`Builder::on_event`](failover_core::Builder::on_event). Times of events count from the opening of the group.
    pub(crate) fn recorder(
        &self,
        clock: Clock,
        opened: Instant,
    ) -> impl Fn(&Event) + Send + Sync + 'static {
        let said = self.clone();
        move |event| said.lock().hear(event, clock.of(opened + event.at))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Heard {
    fn hear(&mut self, event: &Event, at: Micros) {
        let member = |name: &str| self.names.get(name).copied();
        match &event.kind {
            EventKind::Switched {
                from, to, reason, ..
            } => {
                let Some(to) = member(to.as_str()) else {
                    return;
                };
                let from = from.as_ref().and_then(|from| member(from.as_str()));
                self.active = Some(to);
                self.moves.push(Move {
                    at,
                    from,
                    to,
                    reason: reason.to_string(),
                    refused: false,
                });
            }
            EventKind::Connected { member: name, .. } | EventKind::Lost { member: name, .. } => {
                let opened = matches!(event.kind, EventKind::Connected { .. });
                let link = member(name.as_str()).map(|member| Link { at, member, opened });
                self.links.extend(link);
            }
            EventKind::DialFailed {
                member: name,
                cause: Some(cause),
            } if cause.kind() == ErrorKind::Refused => {
                let refused = member(name.as_str()).map(|member| (at, member));
                self.refused.extend(refused);
            }
            EventKind::Missed { count } => self.missed += count,
            _ => {}
        }
    }
}

/// What this process uses now. `own` is the memory in bytes that the recorder has written, which is none of the engine's.
pub(crate) fn sample(at: Micros, own: u64) -> Sample {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let number = |field: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let word = line.and_then(|rest| rest.split_whitespace().next());
        word.and_then(|word| word.parse::<u64>().ok())
            .unwrap_or_default()
    };
    let links = fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten();
    let sockets = links.filter(|entry| {
        fs::read_link(entry.path()).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"))
    });
    Sample {
        at,
        tasks: tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks() as u32,
        threads: number("Threads:") as u32,
        sockets: sockets.count() as u32,
        kibibytes: number("VmRSS:").saturating_sub(own / 1024) as u32,
    }
}

/// A thread that looks at the clock all the time, and notes when it could not.
pub(crate) struct Pulse {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Range<Micros>>>,
}

impl Pulse {
    pub(crate) fn start(clock: Clock) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let thread = thread::spawn(move || {
            let (mut gaps, mut last) = (Vec::new(), Instant::now());
            while !seen.load(Ordering::Relaxed) {
                thread::sleep(TICK);
                let now = Instant::now();
                if now - last >= GAP {
                    gaps.push(clock.of(last)..clock.of(now));
                }
                last = now;
            }
            gaps
        });
        Self { over, thread }
    }

    /// When this process did not run.
    pub(crate) fn stop(self) -> Vec<Range<Micros>> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}
