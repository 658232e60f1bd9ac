//! What was done, what the group said about it, and how those fared who read and listened: in plain lines.
//!
//! It also holds every step to its word: a read that fails, or a message that is lost or comes twice, ends the program.

use std::error::Error;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use failover_core::Failover;
use failover_core::event::{EventKind, Events};
use failover_core::redis::{FailoverConnection, Messages, Redis};
use redis::AsyncCommands;
use tokio::task::JoinSet;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// How long a step may take to come out as announced.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the reads go on after it has, so that every step says something about calm as well.
const CALM: Duration = Duration::from_millis(100);

/// What was read since the last step.
#[derive(Default)]
struct Tally {
    reads: u64,
    /// The first failure, in its own words.
    failure: Option<String>,
    /// The longest time that one read took.
    longest: Duration,
    /// The server that answered last.
    server: String,
}

pub(crate) struct Story<'g> {
    group: &'g Failover<Redis>,
    events: Events,
    tally: Arc<Mutex<Tally>>,
    /// Who reads until this is dropped.
    _reader: JoinSet<()>,
    begun: Instant,
    moves: u64,
    reads: u64,
    heard: u64,
}

impl<'g> Story<'g> {
    pub(crate) fn begin(group: &'g Failover<Redis>, client: FailoverConnection) -> Self {
        let tally = Arc::<Mutex<Tally>>::default();
        Self {
            group,
            events: group.events(),
            _reader: [read(client, tally.clone())].into_iter().collect(),
            tally,
            begun: Instant::now(),
            moves: 0,
            reads: 0,
            heard: 0,
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
        let tally = std::mem::take(&mut *lock(&self.tally));
        self.say(&format!(
            "{active} is active, standing by: {}; {} reads, the longest took {:.1?}",
            standbys.first().unwrap_or(&"nobody"),
            tally.reads,
            tally.longest
        ));
        self.reads += tally.reads;
        match tally.failure {
            Some(failure) => Err(format!("{done}: a read failed: {failure}").into()),
            None if tally.server != active => {
                Err(format!("{done}: {active} is active, and `{}` answers", tally.server).into())
            }
            None => Ok(()),
        }
    }

    /// A line of its own.
    pub(crate) fn say(&self, what: &str) {
        println!("{:>10}{what}", "");
    }

    /// Exactly these messages come, in their order.
    pub(crate) async fn hear(&mut self, news: &mut Messages, numbers: Range<u64>) -> Outcome<()> {
        let mut members: Vec<String> = Vec::new();
        for number in numbers.clone() {
            let message = tokio::time::timeout(PATIENCE, news.next()).await;
            let message = message.map_err(|_| format!("message {number} was lost"))?;
            let message = message.ok_or("the stream has ended")?;
            if message.text() != number.to_string() {
                let text = message.text();
                return Err(format!("message {number} was to come, and {text} came").into());
            }
            let member = message.member().to_string();
            if members.last() != Some(&member) {
                members.push(member);
            }
            self.heard += 1;
        }
        let count = numbers.end - numbers.start;
        let members = members.join(", then ");
        self.say(&format!("heard {count} of {count} messages: {members}"));
        Ok(())
    }

    /// What came of it all.
    pub(crate) fn end(self, news: &Messages) -> Outcome<String> {
        let Self {
            moves,
            reads,
            heard,
            ..
        } = self;
        if news.missed() > 0 {
            return Err(format!("{} messages were dropped unread", news.missed()).into());
        }
        Ok(format!(
            "{moves} moves, {reads} reads, none failed; {heard} messages, none lost"
        ))
    }

    fn stands(&self, active: &str, standbys: &[&str]) -> bool {
        let status = self.group.status();
        let names = status.standbys().map(|member| member.name.as_str());
        let now = status.active.as_ref().map(|name| name.as_str());
        now == Some(active) && names.eq(standbys.iter().copied())
    }

    /// What the group said since the last step, as far as a newcomer wants to know.
    async fn news(&mut self) {
        // `next` waits for an event; a moment without one is the end of the news.
        let moment = Duration::from_millis(1);
        while let Ok(Some(event)) = tokio::time::timeout(moment, self.events.next()).await {
            match event.kind {
                EventKind::Switched { from: Some(_), .. } => self.moves += 1,
                EventKind::Lost { .. }
                | EventKind::DrainEnded { .. }
                | EventKind::StandbyArmed { .. } => {}
                _ => continue,
            }
            println!("{:>10}{event}", "");
        }
    }
}

/// One message every millisecond, to whichever member is active.
pub(crate) fn publish(
    client: &FailoverConnection,
    numbers: Range<u64>,
) -> impl Future<Output = Outcome<()>> + Send + use<> {
    let mut client = client.clone();
    async move {
        for number in numbers {
            client.publish::<_, _, ()>("news", number).await?;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }
}

/// Reads without a break, as most programs do: knowing nothing of failover.
async fn read(mut client: FailoverConnection, tally: Arc<Mutex<Tally>>) {
    loop {
        let begun = Instant::now();
        let answer: redis::RedisResult<String> = client.get("name").await;
        let took = begun.elapsed();
        {
            let mut tally = lock(&tally);
            match answer {
                Ok(server) => {
                    tally.reads += 1;
                    tally.server = server;
                    tally.longest = tally.longest.max(took);
                }
                Err(error) => {
                    tally.failure.get_or_insert_with(|| error.to_string());
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn lock(tally: &Mutex<Tally>) -> MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}
