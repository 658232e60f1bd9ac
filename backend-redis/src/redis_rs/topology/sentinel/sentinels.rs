//! All sentinels of a member: asked in order, each for a bounded time; the one that answers comes to the front and is kept.

use std::time::Duration;

use backend_api::{Error, ErrorKind};
use tokio::time::sleep;

use super::ask::{Told, Voice};
use crate::options::Options;
use crate::redis_rs::connect::Connector;
use crate::target::Target;

/// How often a sentinel is asked although it said nothing. It may have missed what the others know.
const ASK: Duration = Duration::from_secs(1);
/// How long all of them are left alone when none answers.
const REST: Duration = Duration::from_millis(250);

pub(super) struct Sentinels {
    each: Vec<Connector>,
    master: String,
    /// How long one may take.
    bound: Duration,
    /// To the first of them.
    voice: Option<Voice>,
}

impl Sentinels {
    pub(super) fn new(
        targets: Vec<Target>,
        master: String,
        options: &Options,
        bound: Duration,
    ) -> Self {
        let connect = |target| Connector::new(target, options);
        Self {
            each: targets.into_iter().map(connect).collect(),
            master,
            bound,
            voice: None,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.each.len()
    }

    /// Asks the one at this place. The first is the one that is kept.
    pub(super) async fn ask(&mut self, place: usize) -> Result<Told, Error> {
        let connector = &self.each[place];
        if place > 0 {
            let mut voice = Voice::open(connector, self.bound).await?;
            return voice.ask(connector, &self.master, self.bound).await;
        }
        if let Some(mut voice) = self.voice.take()
            && let Ok(told) = voice.ask(connector, &self.master, self.bound).await
        {
            self.voice = Some(voice);
            return Ok(told);
        }
        let mut voice = Voice::open(connector, self.bound).await?;
        let told = voice.ask(connector, &self.master, self.bound).await?;
        self.voice = Some(voice);
        Ok(told)
    }

    /// The one at this place answers: it is asked first from here on.
    pub(super) fn prefer(&mut self, place: usize) {
        if place > 0 {
            let answering = self.each.remove(place);
            self.each.insert(0, answering);
            self.voice = None;
        }
    }

    /// Resolves when a sentinel tells of another master than the known one. Cancel-safe. Sentinels that are all gone are no
    /// news.
    pub(super) async fn news(&mut self, known: &Told) -> Told {
        loop {
            match self.first().await {
                Ok(told) if told.epoch >= known.epoch && !told.is_same_place(known) => return told,
                Ok(_same) => {}
                Err(_nobody) => {
                    sleep(REST).await;
                    continue;
                }
            }
            let Some(voice) = &mut self.voice else {
                continue;
            };
            tokio::select! {
                going_on = voice.listen() => if !going_on { self.voice = None },
                () = sleep(ASK) => {}
            }
        }
    }

    /// The answer of the first that has one.
    async fn first(&mut self) -> Result<Told, Error> {
        let mut reason = Error::new(ErrorKind::Config, "there are no sentinels");
        for place in 0..self.count() {
            match self.ask(place).await {
                Ok(told) => {
                    self.prefer(place);
                    return Ok(told);
                }
                Err(error) => reason = error,
            }
        }
        Err(reason)
    }
}
