//! The task of a connection that looks after its master: it leaves a socket, and finds the next one within the member.
//!
//! A socket is left when it has ended, when a look at it found something wrong, or when a sentinel tells of another master.
//! It is left *before* the next one is there: a master that was replaced may go on taking writes for seconds, and each of
//! them would be acknowledged and lost.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use backend_api::{Error, ErrorKind, Signals};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::ask::Told;
use super::reach::{Found, Reach, is_master};
use super::sentinels::Sentinels;
use crate::redis_rs::connect::Driver;
use crate::redis_rs::connection::{Connection, moving};
use crate::redis_rs::line::{Line, Mood};
use crate::redis_rs::link::Link;
use crate::redis_rs::topology::last_word::{LastWord, UNSAID};
use crate::settings::Settings;
use crate::tasks::Tasks;

/// The master's socket is gone, and another is being looked for.
const MASTER_LOST: &str = "master_lost";
/// It was found.
const MASTER_FOUND: &str = "master_found";

/// Between two rounds of asking all sentinels; it doubles up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LAST_PAUSE: Duration = Duration::from_millis(200);

/// How long a steward may take.
pub(super) struct Bounds {
    /// Looking at the present master.
    pub(super) prove: Duration,
    /// Finding the next one.
    pub(super) failover: Duration,
}

pub(super) struct Steward {
    master: String,
    line: Arc<Line>,
    /// It is one of these tasks itself, so it must not hold them.
    tasks: Weak<Tasks>,
    signals: Signals<Settings>,
    sentinels: Sentinels,
    reach: Reach,
    known: Told,
    bounds: Bounds,
    /// Of the task of the present socket.
    driver: Option<AbortHandle>,
}

impl Steward {
    pub(super) fn new(
        master: String,
        connection: &Connection,
        signals: Signals<Settings>,
        sentinels: Sentinels,
        reach: Reach,
        known: Told,
        bounds: Bounds,
    ) -> Self {
        Self {
            master,
            line: connection.line().clone(),
            tasks: Arc::downgrade(connection.tasks()),
            signals,
            sentinels,
            reach,
            known,
            bounds,
            driver: None,
        }
    }

    pub(super) fn start(mut self, connection: &Connection, driver: Driver) {
        let moving = moving(&self.line, 0, &self.signals, driver);
        self.driver = connection.spawn(moving);
        let last = LastWord {
            line: self.line.clone(),
            signals: self.signals.clone(),
            reason: Error::new(ErrorKind::Lost, "what looks after the master ended"),
        };
        connection.spawn(async move {
            let mut last = last;
            last.reason = self.run().await;
        });
    }

    /// Until the member cannot help itself; says why.
    async fn run(mut self) -> Error {
        loop {
            let why = self.attend().await;
            let since = Instant::now();
            let before = self.line.address();
            self.leave();
            let text = format!("{} at {before} is left: {why}", self.master);
            let mut reason = Error::new(ErrorKind::Timeout, why);
            let failover = self.bounds.failover;
            let Ok(found) = timeout(failover, self.follow(&mut reason, text)).await else {
                let text = format!(
                    "{} has no master again within {failover:?} (member_failover): {}",
                    self.master,
                    reason.message()
                );
                return Error::new(ErrorKind::Lost, text);
            };
            let Some(tasks) = self.tasks.upgrade() else {
                return reason;
            };
            self.known = found.told;
            let revision = self.line.replace(Link::One(found.link), found.connector);
            let moving = moving(&self.line, revision, &self.signals, found.driver);
            self.driver = tasks.spawn(moving);
            let text = format!(
                "{} is at {} after {:?} (it was at {before})",
                self.master,
                self.line.address(),
                since.elapsed()
            );
            self.signals.notice(MASTER_FOUND, text);
        }
    }

    /// Returns when the present socket is to be left, and why.
    async fn attend(&mut self) -> String {
        let mut phases = self.line.phases();
        loop {
            let mood = tokio::select! {
                phase = phases.wait_for(|phase| phase.mood != Mood::Well) => {
                    phase.map_or(Mood::Gone, |phase| phase.mood)
                }
                told = self.sentinels.news(&self.known) => {
                    return format!("the sentinels say that it moved to {}:{}", told.host, told.port);
                }
            };
            if mood == Mood::Gone {
                return "the connection ended".to_owned();
            }
            let mut link = self.line.now().link;
            link.set_response_timeout(self.bounds.prove);
            match is_master(&mut link).await {
                Ok(()) => self.line.clear(),
                Err(reason) => return format!("it {}", reason.message()),
            }
        }
    }

    fn leave(&mut self) {
        self.line.end(self.line.revision());
        // Its operations end here: what they are told is that they may have been applied.
        if let Some(driver) = self.driver.take() {
            driver.abort();
        }
    }

    /// `left`: what is to be told if it takes long.
    async fn follow(&mut self, reason: &mut Error, left: String) -> Found {
        let since = Instant::now();
        let (mut pause, mut untold) = (FIRST_PAUSE, Some(left));
        loop {
            match self
                .reach
                .find(&mut self.sentinels, Some(&self.known))
                .await
            {
                Ok(found) => return found,
                Err(error) => *reason = error,
            }
            if since.elapsed() > UNSAID
                && let Some(left) = untold.take()
            {
                self.signals.notice(MASTER_LOST, left);
            }
            sleep(pause).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }
}
