//! The table: one row for each thing that was done, with what the group did about it and how the readers fared.
//!
//! It also holds every step to its word. A quickstart that prints a nice table of a failover that did not happen would be
//! worse than none.

use std::error::Error;
use std::time::{Duration, Instant};

use failover_core::Failover;
use failover_core::event::{EventKind, Events};
use failover_core::memory::Memory;

use crate::readers::Readers;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// How long a step may take to come out as announced.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the readers go on after it has, so that every row says something about calm as well.
const CALM: Duration = Duration::from_millis(100);

pub(crate) struct Story<'g> {
    group: &'g Failover<Memory>,
    events: Events,
    readers: Readers,
    begun: Instant,
    moves: u64,
    reads: u64,
}

impl<'g> Story<'g> {
    pub(crate) fn begin(group: &'g Failover<Memory>, readers: Readers) -> Self {
        println!(
            "{:>7}  {:<28} {:<66} {:>8} {:>6} {:>9}",
            "time", "what was done", "what the group did", "reads ok", "failed", "gap"
        );
        Self {
            group,
            events: group.events(),
            readers,
            begun: Instant::now(),
            moves: 0,
            reads: 0,
        }
    }

    /// A row: this was done, and must end with one member active and these standing by.
    pub(crate) async fn step(
        &mut self,
        done: &str,
        active: &str,
        standbys: &[&str],
    ) -> Outcome<()> {
        let at = self.begun.elapsed();
        let deadline = Instant::now() + PATIENCE;
        while !self.stands(active, standbys) {
            if Instant::now() > deadline {
                let status = self.group.status();
                return Err(format!("{done}: {active} was to be active: {status:?}").into());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(CALM).await;
        self.row(at, done).await?;
        match self.readers.server() {
            Some(server) if server == active => Ok(()),
            server => Err(format!("{done}: {active} is active, and {server:?} answers").into()),
        }
    }

    fn stands(&self, active: &str, standbys: &[&str]) -> bool {
        let status = self.group.status();
        let mut names: Vec<_> = status
            .standbys()
            .map(|member| member.name.as_str())
            .collect();
        names.sort_unstable();
        status
            .active
            .as_ref()
            .is_some_and(|name| name.as_str() == active)
            && names == standbys
    }

    /// The last lines, and the readers' end.
    pub(crate) fn end(self) -> String {
        println!("\ngap: the longest time in which no reader at all got an answer");
        let Self { moves, reads, .. } = self;
        format!("{moves} moves, {reads} reads, none failed")
    }

    async fn row(&mut self, at: Duration, done: &str) -> Outcome<()> {
        let mut lines = self.news().await.into_iter();
        let tally = self.readers.take();
        println!(
            "{:>4} ms  {done:<28} {:<66} {:>8} {:>6} {:>6.1} ms",
            at.as_millis(),
            lines.next().unwrap_or_default(),
            tally.ok,
            tally.failed,
            tally.gap.as_secs_f64() * 1000.0
        );
        for line in lines {
            println!("{:37} {line}", "");
        }
        self.reads += tally.ok;
        match tally.failure {
            Some(failure) => Err(format!("{done}: a read failed: {failure}").into()),
            None if tally.ok == 0 => Err(format!("{done}: nothing was read").into()),
            None => Ok(()),
        }
    }

    /// What the group said since the last row, as far as a newcomer wants to know.
    async fn news(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        // `next` waits for an event; a moment without one is the end of the news.
        while let Ok(Some(event)) =
            tokio::time::timeout(Duration::from_millis(1), self.events.next()).await
        {
            match event.kind {
                EventKind::Switched { from: Some(_), .. } => self.moves += 1,
                EventKind::StandbyArmed { .. } | EventKind::DrainEnded { .. } => {}
                EventKind::AllMembersDown { attempt: 1 } => {}
                _ => continue,
            }
            lines.push(event.to_string());
        }
        if lines.is_empty() {
            let status = self.group.status();
            let active = status
                .active
                .as_ref()
                .map_or("nobody", |name| name.as_str());
            lines.push(format!("{active} is active, the others stand by"));
        }
        lines
    }
}
