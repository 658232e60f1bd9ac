//! What was done, what the group said about it, and how the orders fared: in plain lines.
//!
//! It also holds every step to its word, and the end to the promise: nothing lost, nothing twice.

use std::error::Error;
use std::time::{Duration, Instant};

use failover_core::Failover;
use failover_core::event::{EventKind, Events};
use failover_core::nats::Nats;

use crate::orders::Orders;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// How long a step may take to come out as announced.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the orders go on after it has, so that every step says something about calm as well.
const CALM: Duration = Duration::from_millis(200);

pub(crate) struct Story<'g> {
    group: &'g Failover<Nats>,
    events: Events,
    orders: Orders,
    begun: Instant,
    moves: u64,
}

impl<'g> Story<'g> {
    pub(crate) fn begin(group: &'g Failover<Nats>, orders: Orders) -> Self {
        Self {
            group,
            events: group.events(),
            orders,
            begun: Instant::now(),
            moves: 0,
        }
    }

    /// This was done, and must end with one member active and these standing by.
    pub(crate) async fn step(
        &mut self,
        done: &str,
        active: &str,
        standbys: &[&str],
    ) -> Outcome<()> {
        let at = self.begun.elapsed();
        println!("{:>5} ms  {done}", at.as_millis());
        while !self.stands(active, standbys) {
            if self.begun.elapsed() > at + PATIENCE {
                let status = self.group.status();
                return Err(format!("{done}: {active} was to be active: {status:?}").into());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(CALM).await;
        self.news().await;
        let tally = self.orders.tally();
        println!(
            "{:>10}{} is active, standing by: {}; {} orders received so far, longest silence {:.1?}",
            "",
            active,
            standbys.join(", "),
            tally.received,
            tally.silence
        );
        Ok(())
    }

    fn stands(&self, active: &str, standbys: &[&str]) -> bool {
        let status = self.group.status();
        let mut names: Vec<_> = status
            .standbys()
            .map(|member| member.name.as_str())
            .collect();
        names.sort_unstable();
        let now = status.active.as_ref().map(|name| name.as_str());
        now == Some(active) && names == standbys
    }

    /// The end of the orders, and what came of them all.
    pub(crate) async fn end(self) -> Outcome<String> {
        let tally = self.orders.end().await?;
        let (published, twice) = (tally.published, tally.twice);
        let lost = published - tally.received.min(published);
        let summary = format!(
            "{} moves, {published} orders, {lost} lost, {twice} twice",
            self.moves
        );
        if lost > 0 || twice > 0 || self.moves == 0 {
            return Err(summary.into());
        }
        Ok(summary)
    }

    /// What the group said since the last step, as far as a newcomer wants to know.
    async fn news(&mut self) {
        // `next` waits for an event; a moment without one is the end of the news.
        let moment = Duration::from_millis(1);
        while let Ok(Some(event)) = tokio::time::timeout(moment, self.events.next()).await {
            match event.kind {
                EventKind::Switched { from: Some(_), .. } => self.moves += 1,
                EventKind::LameDuck { .. }
                | EventKind::Lost { .. }
                | EventKind::DrainEnded { .. }
                | EventKind::StandbyArmed { .. } => {}
                _ => continue,
            }
            println!("{:>10}{event}", "");
        }
    }
}
