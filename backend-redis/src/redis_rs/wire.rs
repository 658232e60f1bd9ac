//! The sockets of the subscriptions through redis-rs. How published messages arrive: as pushes with RESP3, and between the
//! answers with RESP2.
//!
//! redis-rs hands pushes over but would take a RESP2 message for the answer to a command. So with RESP2 the stream is
//! looked through before redis-rs reads it, and messages are taken out; everything else passes unchanged.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use backend_api::{Error, ErrorKind};
use redis::aio::MultiplexedConnection;
use redis::{PushInfo, PushKind, RedisError, Value};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::address::Address;
use crate::redis_rs::connect::Listener;
use crate::redis_rs::line::Line;
use crate::subscriptions::{Broken, Link, Listen, Moving, OnMessage, Refused};
use crate::subscriptions::{Kind, Published, Topic};

impl Listen for Line {
    type Link = MultiplexedConnection;

    fn address(&self) -> Address {
        self.address()
    }

    fn revision(&self) -> u64 {
        self.state().0
    }

    async fn left(&self, revision: u64) {
        match self.follows() {
            true => self.left(revision).await,
            // Its end is the end of the connection.
            false => std::future::pending().await,
        }
    }

    async fn newer(&self, revision: u64) {
        self.newer(revision).await;
    }

    async fn listen(
        &self,
        operation: Duration,
        tell: OnMessage,
    ) -> Result<(MultiplexedConnection, Moving), Error> {
        let now = self.now();
        let Some(connector) = now.connector else {
            let address = now.address;
            let text = format!("{address} is a cluster, on which subscriptions are not offered");
            return Err(Error::new(ErrorKind::Unsupported, text));
        };
        let listener = Listener::messages(tell);
        connector.open(Some(operation), listener).await
    }
}

impl Link for MultiplexedConnection {
    async fn ask(
        &mut self,
        word: fn(Kind) -> &'static str,
        topics: &[Topic],
    ) -> Result<Vec<Result<(), Refused>>, Broken> {
        let mut pipeline = redis::pipe();
        for topic in topics {
            pipeline.cmd(word(topic.kind)).arg(&topic.name[..]);
        }
        let answers = self.send_packed_commands(&pipeline, 0, topics.len()).await;
        let answers = answers.map_err(|error| broken(&error))?;
        Ok(answers.into_iter().map(confirmed).collect())
    }

    async fn ping(&mut self) -> Result<(), Broken> {
        let answer = self.send_packed_command(&redis::cmd("PING")).await;
        answer.map(drop).map_err(|error| broken(&error))
    }
}

fn confirmed(answer: Value) -> Result<(), Refused> {
    match answer {
        Value::ServerError(error) => Err(Refused {
            code: error.code().to_owned(),
            details: error.details().map(str::to_owned),
        }),
        _ => Ok(()),
    }
}

fn broken(error: &RedisError) -> Broken {
    match error.is_timeout() {
        true => Broken::Late,
        false => Broken::Ended,
    }
}

/// The message in a push, if it is one.
pub(crate) fn of_push(push: PushInfo) -> Option<Published> {
    let kind = match push.kind {
        PushKind::Message => Kind::Channel,
        PushKind::PMessage => Kind::Pattern,
        PushKind::SMessage => Kind::Shard,
        _ => return None,
    };
    published(kind, push.data.into_iter())
}

fn published(kind: Kind, mut fields: impl Iterator<Item = Value>) -> Option<Published> {
    let mut next = || fields.next().and_then(bytes);
    let topic = Topic::new(kind, next()?);
    let channel = match kind {
        Kind::Pattern => next()?.into(),
        Kind::Channel | Kind::Shard => topic.name.clone(),
    };
    let payload = next()?;
    Some(Published {
        topic,
        channel,
        payload,
    })
}

fn bytes(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) => Some(text.into_bytes()),
        _ => None,
    }
}

/// A RESP2 stream without its messages.
pub(crate) struct Sieve<S> {
    stream: S,
    tell: OnMessage,
    /// What was read and is no whole answer yet.
    raw: Vec<u8>,
    /// What may be read on, from `taken`.
    passed: Vec<u8>,
    taken: usize,
}

impl<S> Sieve<S> {
    pub(crate) fn new(stream: S, tell: OnMessage) -> Self {
        Self {
            stream,
            tell,
            raw: Vec::new(),
            passed: Vec::new(),
            taken: 0,
        }
    }

    fn sift(&mut self) {
        let mut start = 0;
        while let Some(length) = length(&self.raw[start..]) {
            let frame = &self.raw[start..start + length];
            match message(frame) {
                Some(message) => (self.tell)(message),
                None => self.passed.extend_from_slice(frame),
            }
            start += length;
        }
        self.raw.drain(..start);
    }
}

fn message(frame: &[u8]) -> Option<Published> {
    if frame.first() != Some(&b'*') {
        return None;
    }
    let Ok(Value::Array(fields)) = redis::parse_redis_value(frame) else {
        return None;
    };
    let mut fields = fields.into_iter();
    let kind = match &*bytes(fields.next()?)? {
        b"message" => Kind::Channel,
        b"pmessage" => Kind::Pattern,
        b"smessage" => Kind::Shard,
        _ => return None,
    };
    published(kind, fields)
}

/// How long the first whole answer is. What cannot be RESP2 counts as whole: redis-rs shall say what is wrong with it.
fn length(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    let mut outstanding = 1_u64;
    while outstanding > 0 {
        let line = bytes[at..].windows(2).position(|pair| pair == b"\r\n")?;
        let (head, number) = bytes[at..at + line].split_first()?;
        at += line + 2;
        outstanding -= 1;
        let number = || std::str::from_utf8(number).ok()?.parse::<i64>().ok();
        match head {
            b'$' => match number() {
                Some(size) => {
                    if let Ok(size) = usize::try_from(size) {
                        at = at.checked_add(size)?.checked_add(2)?;
                    }
                }
                None => return Some(bytes.len()),
            },
            b'*' => match number() {
                Some(count) => outstanding += u64::try_from(count).unwrap_or(0),
                None => return Some(bytes.len()),
            },
            b'+' | b'-' | b':' => {}
            _ => return Some(bytes.len()),
        }
        if at > bytes.len() {
            return None;
        }
    }
    Some(at)
}

impl<S: AsyncRead + Unpin> AsyncRead for Sieve<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            let ready = &this.passed[this.taken..];
            if !ready.is_empty() {
                let count = ready.len().min(buffer.remaining());
                buffer.put_slice(&ready[..count]);
                this.taken += count;
                return Poll::Ready(Ok(()));
            }
            this.passed.clear();
            this.taken = 0;
            let mut chunk = [0; 8192];
            let mut chunk = ReadBuf::new(&mut chunk);
            ready!(Pin::new(&mut this.stream).poll_read(context, &mut chunk))?;
            if chunk.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            this.raw.extend_from_slice(chunk.filled());
            this.sift();
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Sieve<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const TRAFFIC: &[u8] = b"+OK\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$4\r\n1\r\n2\r\n\
        *2\r\n$4\r\npong\r\n$0\r\n\r\n*4\r\n$8\r\npmessage\r\n$2\r\na*\r\n$2\r\nab\r\n$0\r\n\r\n$-1\r\n*-1\r\n-ERR no\r\n\
        *3\r\n$8\r\nsmessage\r\n$1\r\ns\r\n$1\r\nx\r\n";

    // However the bytes are cut.
    #[tokio::test]
    async fn messages_are_taken_out_and_all_else_passes() {
        for size in [1, 2, 3, 7, 1000] {
            let (mut server, client) = tokio::io::duplex(64);
            let heard = Arc::<Mutex<Vec<_>>>::default();
            let telling = heard.clone();
            let tell: OnMessage = Arc::new(move |message: Published| {
                let channel = String::from_utf8_lossy(&message.channel).into_owned();
                let payload = String::from_utf8(message.payload).unwrap();
                telling
                    .lock()
                    .unwrap()
                    .push((message.topic.kind, channel, payload));
            });
            let mut sieve = Sieve::new(client, tell);
            let writing = tokio::spawn(async move {
                for part in TRAFFIC.chunks(size) {
                    server.write_all(part).await.unwrap();
                }
            });
            let mut passed = String::new();
            sieve.read_to_string(&mut passed).await.unwrap();
            writing.await.unwrap();
            assert_eq!(
                passed,
                "+OK\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*2\r\n$4\r\npong\r\n$0\r\n\r\n$-1\r\n*-1\r\n-ERR no\r\n"
            );
            let heard = heard.lock().unwrap();
            let expected = [
                (Kind::Channel, "a", "1\r\n2"),
                (Kind::Pattern, "ab", ""),
                (Kind::Shard, "s", "x"),
            ];
            let heard: Vec<_> = heard.iter().map(|(k, c, p)| (*k, &**c, &**p)).collect();
            assert_eq!(heard, expected);
        }
    }
}
