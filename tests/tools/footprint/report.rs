//! From samples to figures, and to paper. Everything is the median of the rounds; times and processor time are also given as
//! a ratio or a difference within each round, since a busy machine is busy for both.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::sample::{Idle, Order, Sample};
use crate::subject::Subject;

/// What may be used above plain connections, for each group.
pub(crate) const MEMORY_KIB: f64 = 96.0;
/// Of one core, for a thousand groups.
pub(crate) const CPU_PERCENT: f64 = 20.0;
/// Times what plain connections take.
pub(crate) const OPEN: f64 = 2.5;

#[derive(Default)]
struct Side {
    /// One after the other.
    open_ms: Vec<f64>,
    /// All at once.
    parallel_ms: Vec<f64>,
    idle: Vec<Idle>,
    sockets: Vec<f64>,
}

pub(crate) struct Report {
    groups: u32,
    ours: Side,
    plain: Side,
}

impl Report {
    pub(crate) fn new(groups: u32) -> Self {
        Self {
            groups,
            ours: Side::default(),
            plain: Side::default(),
        }
    }

    pub(crate) fn add(&mut self, order: &Order, sample: Sample) {
        let side = match order.subject {
            Subject::Groups => &mut self.ours,
            Subject::Plain => &mut self.plain,
        };
        match order.parallel {
            false => side.open_ms.push(sample.open_ms),
            true => side.parallel_ms.push(sample.open_ms),
        }
        side.idle.extend(sample.idle);
        side.sockets.push(count(sample.sockets));
    }

    /// Memory above plain connections, in KiB for each group. The plain ones are two for each group.
    fn above_kib(&self) -> f64 {
        self.ours.memory_kib(self.groups) - self.plain.memory_kib(self.groups)
    }

    fn open_ratio(&self) -> f64 {
        ratio(&self.ours.open_ms, &self.plain.open_ms)
    }

    fn parallel_ratio(&self) -> f64 {
        ratio(&self.ours.parallel_ms, &self.plain.parallel_ms)
    }

    /// One object. Its keys are a promise; further ones may be added.
    pub(crate) fn json(&self) -> Value {
        json!({
            "groups": self.groups,
            "ours": self.ours.json(self.groups),
            "plain": self.plain.json(self.groups),
            "above_plain_kib_per_group": self.above_kib(),
            "open_times_plain": self.open_ratio(),
            "open_parallel_times_plain": self.parallel_ratio(),
        })
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let groups = self.groups;
        let _ = writeln!(
            text,
            "{groups} groups of two Redis members, beside {} plain connections\n\n{:<28} {:>12} {:>12}",
            2 * groups,
            "",
            "groups",
            "plain"
        );
        let (ours, plain) = (&self.ours, &self.plain);
        let mut row = |name: &str, of: &dyn Fn(&Side) -> f64, digits: usize| {
            let _ = writeln!(
                text,
                "{name:<28} {:>12.digits$} {:>12.digits$}",
                of(ours),
                of(plain)
            );
        };
        row("memory, KiB a group", &|side| side.memory_kib(groups), 1);
        row("idle processor, % of a core", &Side::cpu_percent, 2);
        row("commands sent a second", &Side::commands_per_s, 0);
        row("sockets", &|side| median(&side.sockets), 0);
        row("threads", &Side::threads, 0);
        row("open, one by one, ms", &|side| median(&side.open_ms), 0);
        row(
            "open, all at once, ms",
            &|side| median(&side.parallel_ms),
            0,
        );
        let _ = writeln!(
            text,
            "\n{:.1} KiB a group above plain (at most {MEMORY_KIB}), {:.1} % of a core idle (at most {CPU_PERCENT}), \
             opened in {:.2} times the time of plain (at most {OPEN}), at once {:.2}",
            self.above_kib(),
            self.ours.cpu_percent(),
            self.open_ratio(),
            self.parallel_ratio()
        );
        text
    }
}

impl Side {
    fn each(&self, of: impl Fn(&Idle) -> f64) -> f64 {
        median(&self.idle.iter().map(of).collect::<Vec<_>>())
    }

    fn memory_kib(&self, groups: u32) -> f64 {
        self.each(|idle| count(idle.memory_kib) / f64::from(groups))
    }

    fn cpu_percent(&self) -> f64 {
        self.each(|idle| idle.cpu_percent)
    }

    fn commands_per_s(&self) -> f64 {
        self.each(|idle| idle.commands_per_s)
    }

    fn threads(&self) -> f64 {
        self.each(|idle| count(idle.threads))
    }

    fn json(&self, groups: u32) -> Value {
        json!({
            "memory_kib_per_group": self.memory_kib(groups),
            "cpu_percent": self.cpu_percent(),
            "commands_per_s": self.commands_per_s(),
            "sockets": median(&self.sockets),
            "threads": self.threads(),
            "open_ms": median(&self.open_ms),
            "open_parallel_ms": median(&self.parallel_ms),
        })
    }
}

#[allow(clippy::cast_precision_loss)]
fn count(number: u64) -> f64 {
    number as f64
}

/// The median of the ratios round by round.
fn ratio(ours: &[f64], plain: &[f64]) -> f64 {
    let each = ours.iter().zip(plain);
    median(&each.map(|(ours, plain)| ours / plain).collect::<Vec<_>>())
}

/// A measured value; the lower one of an even number. Not a number where nothing was measured.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        count => sorted[(count - 1) / 2],
    }
}
