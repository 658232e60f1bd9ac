//! One sentinel, asked: where is the master, and as of which epoch.
//!
//! Both questions in one round trip. The first names the new master as soon as it is promoted, earlier than the second,
//! which alone has the epoch.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use backend_api::{Error, ErrorKind};
use redis::Value;
use redis::aio::MultiplexedConnection;
use tokio::sync::Notify;

use crate::redis_rs::connect::{Connector, Driver, Listener};
use crate::redis_rs::values::word;

/// What is said when a master moves; the first comes earlier.
const NEWS: [&str; 2] = ["+promoted-slave", "+switch-master"];

/// What a sentinel told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) host: String,
    pub(super) port: u16,
    /// Grows with each failover. What is told with an older one is out of date.
    pub(super) epoch: u64,
}

impl Told {
    pub(super) fn is_same_place(&self, other: &Self) -> bool {
        (&self.host, self.port) == (&other.host, other.port)
    }
}

/// A connection to a sentinel, whose bytes move only while it is waited on.
pub(super) struct Voice {
    link: MultiplexedConnection,
    driver: Driver,
    heard: Arc<Notify>,
}

impl Voice {
    /// Opens it, and has it say when something moves. Servers without RESP3 only answer.
    pub(super) async fn open(connector: &Connector, bound: Duration) -> Result<Self, Error> {
        let heard = Arc::<Notify>::default();
        let listener = {
            let heard = heard.clone();
            Listener::messages(move || heard.notify_one())
        };
        let opened = tokio::time::timeout(bound, connector.open(Some(bound), listener)).await;
        let (link, driver) = match opened {
            Err(_late) => return Err(silent(connector, bound)),
            Ok(Err(error)) => {
                let text = format!("the sentinel {}", error.message());
                return Err(Error::new(error.kind(), text).with_operation("connect"));
            }
            Ok(Ok(opened)) => opened,
        };
        let mut voice = Self {
            link,
            driver,
            heard,
        };
        if !connector.is_old() {
            let mut subscribe = redis::cmd("SUBSCRIBE");
            subscribe.arg(&NEWS);
            let mut link = voice.link.clone();
            // Refused, it is only slower: it is asked again and again anyway.
            let _ = voice.during(link.send_packed_command(&subscribe)).await;
        }
        Ok(voice)
    }

    pub(super) async fn ask(
        &mut self,
        connector: &Connector,
        master: &str,
        bound: Duration,
    ) -> Result<Told, Error> {
        let mut pipeline = redis::pipe();
        pipeline
            .cmd("SENTINEL")
            .arg("GET-MASTER-ADDR-BY-NAME")
            .arg(master)
            .cmd("SENTINEL")
            .arg("MASTER")
            .arg(master);
        let mut link = self.link.clone();
        let asked = self.during(link.send_packed_commands(&pipeline, 0, 2));
        let answers = tokio::time::timeout(bound, asked).await;
        match answers {
            Err(_late) => Err(silent(connector, bound)),
            Ok(None) => Err(Error::new(
                ErrorKind::Lost,
                format!(
                    "the sentinel {} ended the connection",
                    connector.target.address
                ),
            )),
            Ok(Some(Err(error))) if error.is_timeout() => Err(silent(connector, bound)),
            Ok(Some(Err(_error))) => Err(Error::new(
                ErrorKind::Lost,
                format!("the sentinel {} is gone", connector.target.address),
            )),
            Ok(Some(Ok(answers))) => read(&answers).ok_or_else(|| {
                let refusal = answers.iter().find_map(|answer| match answer {
                    Value::ServerError(error) => Some(error.code().to_owned()),
                    _ => None,
                });
                let (kind, text) = match refusal.as_deref() {
                    Some("NOAUTH" | "NOPERM") => (ErrorKind::Auth, "does not answer this user"),
                    _ => (ErrorKind::Unhealthy, "knows no master of the name"),
                };
                let text = format!("the sentinel {} {text} {master}", connector.target.address);
                Error::new(kind, text)
            }),
        }
    }

    /// Resolves with `true` when something moved, with `false` when the connection ended.
    pub(super) async fn listen(&mut self) -> bool {
        let heard = self.heard.clone();
        self.during(heard.notified()).await.is_some()
    }

    /// `None` where the connection ended first.
    async fn during<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = &mut self.driver => None,
        }
    }
}

fn silent(connector: &Connector, bound: Duration) -> Error {
    let text = format!(
        "the sentinel {} did not answer within {bound:?}",
        connector.target.address
    );
    Error::new(ErrorKind::Timeout, text)
}

fn read(answers: &[Value]) -> Option<Told> {
    let [Value::Array(address), master] = answers else {
        return None;
    };
    let [host, port] = address.as_slice() else {
        return None;
    };
    let fields = match master {
        Value::Map(_) | Value::Array(_) => {
            redis::from_redis_value_ref::<HashMap<String, String>>(master).ok()
        }
        _ => None,
    };
    let epoch = fields.and_then(|fields| fields.get("config-epoch")?.parse().ok());
    Some(Told {
        host: word(host)?.to_owned(),
        port: word(port)?.parse().ok()?,
        epoch: epoch.unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_an_address_and_an_epoch() {
        let word = |text: &str| Value::BulkString(text.into());
        let address = Value::Array(vec![word("10.0.0.1"), word("6380")]);
        let told = Told {
            host: "10.0.0.1".into(),
            port: 6380,
            epoch: 7,
        };
        let flat = Value::Array(vec![
            word("flags"),
            word("master"),
            word("config-epoch"),
            word("7"),
        ]);
        assert_eq!(read(&[address.clone(), flat]), Some(told.clone()));
        let map = Value::Map(vec![(word("config-epoch"), word("7"))]);
        assert_eq!(read(&[address.clone(), map]), Some(told.clone()));
        let unknown = Told { epoch: 0, ..told };
        assert_eq!(read(&[address, Value::Nil]), Some(unknown));
        assert_eq!(read(&[Value::Nil, Value::Nil]), None);
    }
}
