//! The socket of the subscriptions: opened, introduced, and asked. The same for both drivers.
//!
//! It speaks RESP2, which every server knows and which needs few words for this: AUTH, CLIENT SETNAME, PING, and the six that
//! subscribe and unsubscribe. No SELECT: published messages know no database.
//!
//! A driver's own pub/sub would not do. fred's confirms nothing (see the head of `fred`), and redis-rs takes a message that
//! comes by RESP2 for the answer to a command.

use std::time::Duration;

use backend_api::{Error, ErrorKind};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;

use super::listen::Server;
use super::topic::{Kind, Topic};
use super::wire::{self, Broken, End, Moving, OnMessage, Refused, Wire};
use crate::address::Address;
use crate::server_errors;
use crate::stream;
use crate::target::Target;

/// Bytes both ways, over TCP, TLS or a Unix socket.
trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Bytes for S {}

/// One socket that subscribes. Its [`Moving`] has to be polled meanwhile.
pub(super) struct Socket(Wire);

/// Opens one. An exchange on it waits `operation` at most; what is published is handed to `tell`. No deadline of its own;
/// dropped, nothing is left of it.
pub(super) async fn open(
    server: &Server,
    operation: Duration,
    tell: OnMessage,
) -> Result<(Socket, Moving), Error> {
    introduce(dial(server).await?, &server.target, operation, tell).await
}

async fn introduce(
    stream: Box<dyn Bytes>,
    target: &Target,
    operation: Duration,
    tell: OnMessage,
) -> Result<(Socket, Moving), Error> {
    let (mut wire, mut moving) = wire::over(stream, operation, tell);
    {
        let greeting = greet(&mut wire, target);
        tokio::pin!(greeting);
        tokio::select! {
            biased;
            greeted = &mut greeting => greeted?,
            end = &mut moving => {
                if end == End::Closed {
                    // What it said before it ended is still there to be taken.
                    greeting.await?;
                }
                return Err(ended(&target.address, end));
            }
        }
    }
    Ok((Socket(wire), moving))
}

/// One that is already introduced, for the tests of those who use it.
#[cfg(test)]
pub(super) fn over<S>(stream: S, operation: Duration, tell: OnMessage) -> (Socket, Moving)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (wire, moving) = wire::over(stream, operation, tell);
    (Socket(wire), moving)
}

impl Socket {
    /// One command for each topic, in one exchange. Each has one answer, in their order: its confirmation or its refusal.
    pub(super) async fn ask(
        &mut self,
        word: fn(Kind) -> &'static str,
        topics: &[Topic],
    ) -> Result<Vec<Result<(), Refused>>, Broken> {
        let words: Vec<Vec<&[u8]>> = topics
            .iter()
            .map(|topic| vec![word(topic.kind).as_bytes(), &topic.name[..]])
            .collect();
        self.0.exchange(&words).await
    }

    /// Asks whether anybody is there: any answer says so.
    pub(super) async fn ping(&mut self) -> Result<(), Broken> {
        self.0.exchange(&[vec![b"PING".as_slice()]]).await.map(drop)
    }
}

async fn dial(Server { target, tcp }: &Server) -> Result<Box<dyn Bytes>, Error> {
    let address = &target.address;
    Ok(match address {
        Address::Tcp(host, port) => Box::new(tcp.connect(host, *port, address).await?),
        #[cfg(feature = "tls")]
        Address::Tls(host, port) => {
            let stream = tcp.connect(host, *port, address).await?;
            Box::new(crate::stream::tls::wrap(host, stream, target).await?)
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
async fn greet(wire: &mut Wire, target: &Target) -> Result<(), Error> {
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
        Broken::Late => {
            let text = format!("{} does not answer", target.address);
            Error::new(ErrorKind::Timeout, text).with_operation("connect")
        }
        Broken::Ended => ended(&target.address, End::Closed),
    })?;
    for answer in answers {
        answer.map_err(|Refused { code, details }| {
            let details = details.unwrap_or_default();
            server_errors::of_handshake(&code, &details, &target.address, target.password.is_some())
        })?;
    }
    Ok(())
}

fn ended(address: &Address, end: End) -> Error {
    let (kind, what) = match end {
        End::Closed => (ErrorKind::Lost, "ended the connection during the handshake"),
        End::Unusable(why) => (ErrorKind::Protocol, why),
    };
    Error::new(kind, format!("{address} {what}")).with_operation("connect")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::io::AsyncWriteExt as _;

    use super::*;
    use crate::settings::Settings;

    async fn introduced(answer: &[u8]) -> Error {
        let (mut server, client) = tokio::io::duplex(1 << 10);
        server.write_all(answer).await.unwrap();
        server.shutdown().await.unwrap();
        let target = Target::parse(&Settings::new("redis://h")).unwrap();
        let tell: OnMessage = Arc::new(drop);
        let opened = introduce(Box::new(client), &target, Duration::from_secs(5), tell);
        opened.await.err().expect("it has ended")
    }

    #[tokio::test]
    async fn a_socket_that_ends_with_its_first_answer_says_what_it_heard() {
        for (answer, kind, text) in [
            (
                "-ERR max number of clients reached\r\n",
                ErrorKind::Unhealthy,
                "max number of clients",
            ),
            // Nothing to complain of, and yet it is over.
            ("+PONG\r\n", ErrorKind::Lost, "ended the connection"),
            ("", ErrorKind::Lost, "ended the connection"),
        ] {
            let error = introduced(answer.as_bytes()).await;
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.message().contains(text), "{error}");
        }
        let error = introduced(&b"*1\r\n".repeat(20_000)[..1 << 10]).await;
        assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
        assert!(error.message().contains("nested too deep"), "{error}");
    }
}
