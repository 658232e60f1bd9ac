//! What is to be read, and how: the choices of a reader, checked.

use std::time::Duration;

use backend_api::{Error, ErrorKind};

use super::OnOtherCluster;
use super::api::Api;
use super::pace::PATIENCE;

/// A reader's choices.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) stream: String,
    pub(super) what: What,
    pub(super) domain: Option<String>,
    /// How many messages are under way at most.
    pub(super) batch: usize,
    pub(super) heartbeat: Duration,
    pub(super) patience: Duration,
    pub(super) on_other_cluster: OnOtherCluster,
}

/// Through which consumer.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// One that is there, whose position the servers keep.
    Durable(String),
    /// One of this reader's own, made anew for every connection.
    Ordered { filter: String, begin: Begin },
}

/// Where a reader of its own begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    All,
    New,
    LastPerSubject,
    At(u64),
}

/// The most that may be asked for at once.
const LARGEST: usize = 10_000;
/// The server takes no shorter heartbeat.
const SHORTEST: Duration = Duration::from_millis(100);

impl Reading {
    pub(super) fn new(stream: String, what: What) -> Self {
        Self {
            stream,
            what,
            domain: None,
            batch: 100,
            heartbeat: Duration::from_secs(1),
            patience: PATIENCE,
            on_other_cluster: OnOtherCluster::default(),
        }
    }

    pub(super) fn api(&self) -> Api {
        Api::new(self.domain.as_deref())
    }

    /// How long a request for messages lives at the server. It is asked anew as long as somebody reads.
    pub(super) fn expires(&self) -> Duration {
        self.heartbeat * 10
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        let refuse = |text: String| Err(Error::new(ErrorKind::Config, text));
        if self.batch == 0 || self.batch > LARGEST {
            return refuse(format!("a batch is 1 to {LARGEST}, not {}", self.batch));
        }
        if self.heartbeat < SHORTEST || self.heartbeat > Duration::from_secs(60) {
            return refuse(format!(
                "a heartbeat is {SHORTEST:?} to 60s, not {:?}",
                self.heartbeat
            ));
        }
        let durable = match &self.what {
            What::Durable(name) => name.as_str(),
            What::Ordered { .. } => "ordered",
        };
        for name in [self.stream.as_str(), durable] {
            let wrong = |c: char| c.is_whitespace() || ".*>/\\".contains(c);
            if name.is_empty() || name.contains(wrong) {
                return refuse(format!("{name:?} is no name of a stream or consumer"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_server_takes_is_refused_before_it_is_asked() {
        let reading = |stream: &str, name: &str| {
            Reading::new(stream.to_owned(), What::Durable(name.to_owned()))
        };
        assert!(reading("S", "worker").check().is_ok());
        for (stream, name) in [("", "w"), ("S", ""), ("S.T", "w"), ("S", "w *"), ("S", ">")] {
            let error = reading(stream, name).check().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
        }
        for (batch, heartbeat) in [(0, 1000), (10_001, 1000), (1, 99), (1, 60_001)] {
            let mut reading = reading("S", "w");
            reading.batch = batch;
            reading.heartbeat = Duration::from_millis(heartbeat);
            assert!(reading.check().is_err());
        }
    }
}
