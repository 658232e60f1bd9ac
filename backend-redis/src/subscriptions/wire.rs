//! RESP2 over a stream, as far as subscribing needs it: commands out, and answers and published messages in.
//!
//! With RESP2 messages come between the answers, and everything that is no message is the answer to what was asked first.
//! So answers are counted: one that was given up is still owed, and is passed over when it comes.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use redis_protocol::resp2::types::OwnedFrame;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::timeout;

use super::frames::{Frames, Unreadable};
use super::topic::{Kind, Published, Topic};

/// Answers that may wait to be taken: more than any exchange asks for.
const ANSWERS: usize = 4096;

/// A reader that always finds something to read lets others run after so many reads.
const READS: usize = 32;

/// Called with every message, by the future that reads the socket. It must not wait.
pub(super) type OnMessage = Arc<dyn Fn(Published) + Send + Sync>;

/// The future that moves the bytes of one socket. The socket lives exactly as long as it.
pub(super) type Moving = Pin<Box<dyn Future<Output = End> + Send>>;

/// How the bytes of a socket ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Closed,
    /// What comes in cannot be used: why, in words that follow the name of the server.
    Unusable(&'static str),
}

/// What a server said instead of confirming: the first word, and the rest.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) code: String,
    pub(super) details: Option<String>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// None in time.
    Late,
    /// The socket ended, or can be used no further.
    Ended,
}

/// To one command: its confirmation or its refusal.
type Answer = Result<(), Refused>;

/// The asking side of one socket.
pub(super) struct Wire {
    write: Box<dyn AsyncWrite + Send + Unpin>,
    answers: mpsc::Receiver<Answer>,
    /// Answers that the server has yet to give.
    owed: usize,
    /// Nothing was written by halves.
    whole: bool,
    operation: Duration,
}

/// Puts a stream to work. The socket is open as long as either half is there.
pub(super) fn over<S>(stream: S, operation: Duration, tell: OnMessage) -> (Wire, Moving)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (read, write): (ReadHalf<S>, WriteHalf<S>) = split(stream);
    let (sender, answers) = mpsc::channel(ANSWERS);
    let wire = Wire {
        write: Box::new(write),
        answers,
        owed: 0,
        whole: true,
        operation,
    };
    (wire, Box::pin(receive(read, sender, tell)))
}

impl Wire {
    /// Sends commands together, and waits for the answer to each: an error's words, or that it was none.
    pub(super) async fn exchange(
        &mut self,
        commands: &[Vec<&[u8]>],
    ) -> Result<Vec<Answer>, Broken> {
        if !self.whole {
            return Err(Broken::Ended);
        }
        let mut bytes = Vec::new();
        for words in commands {
            encode(words, &mut bytes);
        }
        let count = commands.len();
        let exchanged = timeout(self.operation, async {
            self.whole = false;
            self.owed += count;
            let written = async {
                self.write.write_all(&bytes).await?;
                self.write.flush().await
            };
            written.await.map_err(|_error| Broken::Ended)?;
            self.whole = true;
            let mut answers = Vec::with_capacity(count);
            while self.owed > 0 {
                let answer = self.answers.recv().await.ok_or(Broken::Ended)?;
                if self.owed <= count {
                    answers.push(answer);
                }
                self.owed -= 1;
            }
            Ok(answers)
        });
        exchanged.await.unwrap_or(Err(Broken::Late))
    }
}

fn encode(words: &[&[u8]], into: &mut Vec<u8>) {
    into.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        into.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        into.extend_from_slice(word);
        into.extend_from_slice(b"\r\n");
    }
}

/// Until the stream ends, or cannot be read on.
async fn receive(
    mut read: impl AsyncRead + Unpin,
    answers: mpsc::Sender<Answer>,
    tell: OnMessage,
) -> End {
    let mut frames = Frames::new();
    for reads in 1_usize.. {
        match read.read_buf(frames.buffer()).await {
            Ok(0) | Err(_) => break,
            Ok(_some) => {}
        }
        loop {
            match frames.next() {
                Ok(None) => break,
                Ok(Some(frame)) => {
                    match published(frame).map_err(|answer| answers.try_send(answer)) {
                        Ok(message) => tell(message),
                        Err(Ok(())) => {}
                        Err(Err(TrySendError::Closed(_))) => return End::Closed,
                        Err(Err(TrySendError::Full(_))) => {
                            return End::Unusable("sends answers that nobody asked for");
                        }
                    }
                }
                Err(Unreadable(why)) => return End::Unusable(why),
            }
        }
        if reads.is_multiple_of(READS) {
            tokio::task::yield_now().await;
        }
    }
    End::Closed
}

/// The message in a frame; or what the frame is as an answer.
fn published(frame: OwnedFrame) -> Result<Published, Answer> {
    let fields = match frame {
        OwnedFrame::Array(fields) => fields,
        OwnedFrame::Error(text) => return Err(Err(refused(&text))),
        _ => return Err(Ok(())),
    };
    let mut fields = fields.into_iter().map(bytes);
    let kind = match fields.next() {
        Some(Some(word)) if word == b"message" => Kind::Channel,
        Some(Some(word)) if word == b"pmessage" => Kind::Pattern,
        Some(Some(word)) if word == b"smessage" => Kind::Shard,
        _ => return Err(Ok(())),
    };
    let mut next = || fields.next().flatten().ok_or(Ok(()));
    let topic = Topic::new(kind, next()?);
    let channel = match kind {
        Kind::Pattern => next()?.into(),
        Kind::Channel | Kind::Shard => topic.name.clone(),
    };
    let payload = next()?;
    Ok(Published {
        topic,
        channel,
        payload,
    })
}

fn bytes(frame: OwnedFrame) -> Option<Vec<u8>> {
    match frame {
        OwnedFrame::BulkString(bytes) | OwnedFrame::SimpleString(bytes) => Some(bytes),
        _ => None,
    }
}

fn refused(text: &str) -> Refused {
    match text.split_once(' ') {
        Some((code, details)) => Refused {
            code: code.to_owned(),
            details: Some(details.to_owned()),
        },
        None => Refused {
            code: text.to_owned(),
            details: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::io::DuplexStream;
    use tokio::task::JoinHandle;

    use super::*;

    const TRAFFIC: &[u8] = b"*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$4\r\n1\r\n2\r\n\
        *2\r\n$4\r\npong\r\n$0\r\n\r\n*4\r\n$8\r\npmessage\r\n$2\r\na*\r\n$2\r\nab\r\n$0\r\n\r\n-NOPERM no\r\n\
        *3\r\n$8\r\nsmessage\r\n$1\r\ns\r\n$1\r\nx\r\n+PONG\r\n";

    type Heard = Arc<Mutex<Vec<(Kind, String, String)>>>;

    fn wire(operation: Duration) -> (Wire, DuplexStream, Heard, JoinHandle<End>) {
        let (server, client) = tokio::io::duplex(1 << 18);
        let heard = Heard::default();
        let telling = heard.clone();
        let tell: OnMessage = Arc::new(move |message: Published| {
            let channel = String::from_utf8_lossy(&message.channel).into_owned();
            let payload = String::from_utf8(message.payload).unwrap();
            let mut heard = telling.lock().unwrap();
            heard.push((message.topic.kind, channel, payload));
        });
        let (wire, moving) = over(client, operation, tell);
        let moving = tokio::spawn(moving);
        (wire, server, heard, moving)
    }

    fn commands(count: usize) -> Vec<Vec<&'static [u8]>> {
        vec![vec![b"PING"]; count]
    }

    // However the bytes are cut.
    #[tokio::test]
    async fn messages_are_told_from_answers() {
        for size in [1, 2, 3, 7, 1000] {
            let (mut wire, mut server, heard, moving) = wire(Duration::from_secs(5));
            let writing = tokio::spawn(async move {
                for part in TRAFFIC.chunks(size) {
                    server.write_all(part).await.unwrap();
                    tokio::task::yield_now().await;
                }
                server
            });
            let answers = wire.exchange(&commands(4)).await.unwrap();
            let codes: Vec<_> = answers
                .iter()
                .map(|answer| answer.as_ref().err().map(|refused| &*refused.code))
                .collect();
            assert_eq!(codes, [None, None, Some("NOPERM"), None], "{size}");
            let heard = std::mem::take(&mut *heard.lock().unwrap());
            let heard: Vec<_> = heard.iter().map(|(k, c, p)| (*k, &**c, &**p)).collect();
            let expected = [
                (Kind::Channel, "a", "1\r\n2"),
                (Kind::Pattern, "ab", ""),
                (Kind::Shard, "s", "x"),
            ];
            assert_eq!(heard, expected);
            drop(writing.await.unwrap());
            assert_eq!(wire.exchange(&commands(1)).await.err(), Some(Broken::Ended));
            assert_eq!(moving.await.unwrap(), End::Closed);
        }
    }

    #[tokio::test]
    async fn an_answer_that_was_given_up_is_passed_over_when_it_comes() {
        let (mut wire, mut server, _heard, _moving) = wire(Duration::from_millis(30));
        assert_eq!(wire.exchange(&commands(2)).await.err(), Some(Broken::Late));
        server.write_all(b"+PONG\r\n").await.unwrap();
        assert_eq!(wire.exchange(&commands(1)).await.err(), Some(Broken::Late));
        server
            .write_all(b"-ERR late\r\n-ERR later\r\n+PONG\r\n")
            .await
            .unwrap();
        let answers = wire.exchange(&commands(1)).await.unwrap();
        assert!(matches!(&answers[..], [Ok(())]), "{answers:?}");
    }

    #[tokio::test]
    async fn what_is_no_resp2_ends_the_socket() {
        for hostile in [
            b"HTTP/1.1 400 Bad Request\r\n".to_vec(),
            // As deep as it takes to overflow the stack of whoever parses it.
            b"*1\r\n".repeat(20_000),
            b"$1000000000\r\n".to_vec(),
            b"+PONG\r\n".repeat(ANSWERS + 2),
        ] {
            let (mut wire, mut server, _heard, moving) = wire(Duration::from_secs(5));
            // It may have been hung up on by then.
            let _ = server.write_all(&hostile).await;
            let end = timeout(Duration::from_secs(5), moving).await;
            let end = end.expect("it hangs up").unwrap();
            assert!(matches!(end, End::Unusable(_)), "{end:?}");
            let mut left = wire.exchange(&commands(1)).await;
            while left.is_ok() {
                left = wire.exchange(&commands(1)).await;
            }
            assert_eq!(left.err(), Some(Broken::Ended));
        }
    }
}
