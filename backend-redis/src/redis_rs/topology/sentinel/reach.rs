//! From what sentinels tell to a socket: a server is used only if it says itself that it serves as a master.

use std::sync::Arc;
use std::time::Duration;

use backend_api::{Error, ErrorKind};
use redis::Value;
use redis::aio::MultiplexedConnection;
use tokio::time::timeout;

use super::ask::Told;
use super::sentinels::Sentinels;
use crate::address::Address;
use crate::options::Options;
use crate::redis_rs::connect::{Connector, Driver, Listener};
use crate::redis_rs::link::Link;
use crate::target::Target;

/// How a server is connected once its place is known.
pub(super) struct Reach {
    pub(super) server: Target,
    pub(super) tls: bool,
    pub(super) options: Options,
    pub(super) operation: Duration,
    /// How long one attempt may take.
    pub(super) bound: Duration,
}

/// A master that said itself that it is one.
pub(super) struct Found {
    pub(super) told: Told,
    pub(super) connector: Arc<Connector>,
    pub(super) link: MultiplexedConnection,
    pub(super) driver: Driver,
}

impl Reach {
    /// One round: each sentinel is asked until a master is found.
    pub(super) async fn find(
        &self,
        sentinels: &mut Sentinels,
        known: Option<&Told>,
    ) -> Result<Found, Error> {
        let mut reason = Error::new(ErrorKind::Refused, "no sentinel answers");
        let (mut tried, mut stale) = (Vec::<Told>::new(), Vec::new());
        for place in 0..sentinels.count() {
            let told = match sentinels.ask(place).await {
                Ok(told) => told,
                Err(error) => {
                    if tried.is_empty() {
                        reason = error;
                    }
                    continue;
                }
            };
            if known.is_some_and(|known| told.epoch < known.epoch) {
                stale.push(told);
            } else if !tried.iter().any(|other| other.is_same_place(&told)) {
                match self.connect(&told).await {
                    Ok(found) => {
                        sentinels.prefer(place);
                        return Ok(found);
                    }
                    Err(error) => reason = error,
                }
                tried.push(told);
            }
        }
        // Nobody knows better: the sentinels were set up anew.
        if tried.is_empty() {
            for told in stale {
                match self.connect(&told).await {
                    Ok(found) => return Ok(found),
                    Err(error) => reason = error,
                }
            }
        }
        Err(reason)
    }

    async fn connect(&self, told: &Told) -> Result<Found, Error> {
        let mut target = self.server.clone();
        target.address = Address::new(self.tls, told.host.clone(), told.port);
        let address = target.address.clone();
        let connector = Arc::new(Connector::new(target, &self.options));
        let opening = async {
            let (link, mut driver) = connector
                .open(Some(self.operation), Listener::default())
                .await?;
            let mut asked = Link::One(link.clone());
            tokio::select! {
                biased;
                answer = is_master(&mut asked) => answer,
                () = &mut driver => Err(Error::new(ErrorKind::Lost, "ended the connection")),
            }
            .map_err(|error| Error::new(error.kind(), format!("{address} {}", error.message())))?;
            Ok((link, driver))
        };
        let (link, driver) = timeout(self.bound, opening).await.unwrap_or_else(|_late| {
            let text = format!("{address} did not answer within {:?}", self.bound);
            Err(Error::new(ErrorKind::Timeout, text).with_operation("connect"))
        })?;
        Ok(Found {
            told: told.clone(),
            connector: connector.clone(),
            link,
            driver,
        })
    }
}

/// Whether the server at the other end serves as a master. Who may not ask for the role takes the sentinels' word.
pub(super) async fn is_master(link: &mut Link) -> Result<(), Error> {
    let mut pipeline = redis::pipe();
    pipeline.cmd("PING").cmd("ROLE");
    let unhealthy = |text: String| Err(Error::new(ErrorKind::Unhealthy, text));
    let answers = match link.pipeline(&pipeline, 0, 2).await {
        Ok(answers) => answers,
        Err(error) if error.is_timeout() => {
            return Err(Error::new(ErrorKind::Timeout, "does not answer"));
        }
        Err(_error) => return Err(Error::new(ErrorKind::Lost, "ended the connection")),
    };
    if let Some(Value::ServerError(error)) = answers.first() {
        return unhealthy(format!("answers PING with {}", error.code()));
    }
    match answers.get(1) {
        Some(Value::ServerError(_)) => Ok(()),
        Some(Value::Array(fields)) => match fields.first() {
            Some(Value::BulkString(role)) if role == b"master" => Ok(()),
            _ => unhealthy("is no master, although a sentinel says so".to_owned()),
        },
        _ => unhealthy("does not tell its role".to_owned()),
    }
}
