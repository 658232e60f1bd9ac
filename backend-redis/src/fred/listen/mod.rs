//! The sockets of the subscriptions, for whoever uses fred.
//!
//! They are opened here and not by fred, whose own pub/sub cannot say what a [`Keeper`](crate::subscriptions::Keeper) has to
//! know. In fred 10.1 a subscribe returns when it is written and drops the server's confirmation; a refusal is dropped too,
//! or taken for the answer to whatever is in flight; a message does not say which pattern it came by, and its channel has to be UTF-8; keyspace
//! events are taken out; and a reader that falls behind loses messages. So this socket speaks RESP2 itself, which every
//! server knows and which needs few words for this: AUTH, CLIENT SETNAME, PING, and the six that subscribe and unsubscribe.
//! No SELECT: published messages know no database.

mod wire;

use std::time::Duration;

use backend_api::{Error, ErrorKind};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;

use super::connect::Connector;
use crate::address::Address;
use crate::server_errors;
use crate::stream;
use crate::subscriptions::{Broken, Kind, Link, Listen, Moving, OnMessage, Refused, Topic};
use wire::Wire;

/// Bytes both ways, over TCP, TLS or a Unix socket.
trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Bytes for S {}

impl Listen for Connector {
    type Link = Wire;

    fn address(&self) -> Address {
        self.target.address.clone()
    }

    async fn listen(&self, operation: Duration, tell: OnMessage) -> Result<(Wire, Moving), Error> {
        let (mut wire, mut moving) = wire::over(self.bytes().await?, operation, tell);
        {
            let greeting = self.greet(&mut wire);
            tokio::pin!(greeting);
            tokio::select! {
                biased;
                greeted = &mut greeting => greeted?,
                // What it said before it ended is still there to be taken.
                () = &mut moving => greeting.await?,
            }
        }
        Ok((wire, moving))
    }
}

impl Connector {
    async fn bytes(&self) -> Result<Box<dyn Bytes>, Error> {
        let address = &self.target.address;
        Ok(match address {
            Address::Tcp(host, port) => Box::new(self.tcp.connect(host, *port, address).await?),
            #[cfg(feature = "tls")]
            Address::Tls(host, port) => {
                let stream = self.tcp.connect(host, *port, address).await?;
                Box::new(crate::stream::tls::wrap(host, stream, &self.target).await?)
            }
            #[cfg(not(feature = "tls"))]
            Address::Tls(..) => return Err(crate::target::without_tls()),
            #[cfg(feature = "cluster")]
            Address::Several(_) => return Err(crate::target::not_one()),
            Address::Unix(path) => Box::new(
                UnixStream::connect(path)
                    .await
                    .map_err(|error| stream::of_io(&error, address))?,
            ),
        })
    }

    /// Says who we are, and hears whether that is welcome. The PING is for servers that take everybody: one that has too
    /// many clients says so to whatever it is asked first.
    async fn greet(&self, wire: &mut Wire) -> Result<(), Error> {
        let target = &self.target;
        let mut words: Vec<Vec<&[u8]>> = Vec::new();
        if let Some(password) = &target.password {
            let user = target.username.iter().map(String::as_bytes);
            let mut auth: Vec<&[u8]> = vec![b"AUTH"];
            auth.extend(user.chain([password.as_bytes()]));
            words.push(auth);
        }
        if let Some(name) = &target.client_name {
            words.push(vec![b"CLIENT", b"SETNAME", name.as_bytes()]);
        }
        words.push(vec![b"PING"]);
        let answers = wire.exchange(&words).await.map_err(|broken| match broken {
            Broken::Late => self.silent(),
            Broken::Ended => self.ended(),
        })?;
        for answer in answers {
            answer.map_err(|Refused { code, details }| {
                let details = details.unwrap_or_default();
                server_errors::of_handshake(
                    &code,
                    &details,
                    &target.address,
                    target.password.is_some(),
                )
            })?;
        }
        Ok(())
    }

    fn silent(&self) -> Error {
        let text = format!("{} does not answer", self.target.address);
        Error::new(ErrorKind::Timeout, text).with_operation("connect")
    }

    fn ended(&self) -> Error {
        let text = format!(
            "{} ended the connection during the handshake",
            self.target.address
        );
        Error::new(ErrorKind::Lost, text).with_operation("connect")
    }
}

impl Link for Wire {
    async fn ask(
        &mut self,
        word: fn(Kind) -> &'static str,
        topics: &[Topic],
    ) -> Result<Vec<Result<(), Refused>>, Broken> {
        let words: Vec<Vec<&[u8]>> = topics
            .iter()
            .map(|topic| vec![word(topic.kind).as_bytes(), &topic.name[..]])
            .collect();
        self.exchange(&words).await
    }

    async fn ping(&mut self) -> Result<(), Broken> {
        self.exchange(&[vec![b"PING".as_slice()]]).await.map(drop)
    }
}
