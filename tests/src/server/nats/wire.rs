//! The bytes of a look at a nats-server: the INFO that greets every connection, and the monitoring endpoint.
//!
//! Over plain blocking sockets, and HTTP/1.0 by hand: an answer ends with its connection, so there is nothing to parse
//! but a status. Every look has one deadline for all of it.
//!
//! Never to come in: a connection that is kept. Each look has its own, so that what it sees is not what an earlier fault
//! left behind.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The JSON of the server's first line on `port`.
pub(super) fn info(port: u16, timeout: Duration) -> io::Result<String> {
    let mut link = Link::open(port, timeout)?;
    let line = link.read(|received| received.ends_with(b"\n"))?;
    match line.trim_end().strip_prefix("INFO ") {
        Some(json) => Ok(json.to_owned()),
        None => Err(io::Error::other(format!("not an INFO: {line}"))),
    }
}

/// The body of `path` (`/varz`) on the monitoring port. An answer other than 200 is an error with its text.
pub(super) fn get(port: u16, path: &str, timeout: Duration) -> io::Result<String> {
    let mut link = Link::open(port, timeout)?;
    let request = format!("GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n");
    link.stream.set_write_timeout(Some(timeout))?;
    link.stream.write_all(request.as_bytes())?;
    let answer = link.read(|_| false)?;
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .ok_or_else(|| malformed(&answer))?;
    match head.split(' ').nth(1) {
        Some("200") => Ok(body.to_owned()),
        _ => Err(io::Error::other(format!("{path}: {head}\n{body}"))),
    }
}

pub(super) fn json(text: &str) -> io::Result<Value> {
    serde_json::from_str(text).map_err(|error| io::Error::other(format!("{error}: {text}")))
}

/// Whether `subject` is one that a subscription to `pattern` receives.
pub(super) fn matches(pattern: &str, subject: &str) -> bool {
    let mut tokens = subject.split('.');
    for wanted in pattern.split('.') {
        match (wanted, tokens.next()) {
            (">", Some(_)) => return true,
            (_, None) => return false,
            (wanted, Some(token)) if wanted == "*" || wanted == token => {}
            _ => return false,
        }
    }
    tokens.next().is_none()
}

fn malformed(answer: &str) -> io::Error {
    io::Error::other(format!("not an answer: {answer}"))
}

struct Link {
    stream: TcpStream,
    deadline: Instant,
}

impl Link {
    fn open(port: u16, timeout: Duration) -> io::Result<Self> {
        let deadline = Instant::now() + timeout;
        let stream =
            TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), timeout)?;
        Ok(Self { stream, deadline })
    }

    /// Reads until that is `enough` or the server has ended.
    fn read(&mut self, enough: impl Fn(&[u8]) -> bool) -> io::Result<String> {
        let mut received = Vec::new();
        let mut buffer = [0; 16 * 1024];
        while !enough(&received) {
            let left = self.deadline.saturating_duration_since(Instant::now());
            // A socket's timeout of zero means none, and is refused.
            self.stream
                .set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
            match self.stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) if left > Duration::ZERO => received.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                Ok(_) | Err(_) => {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "no answer in time"));
                }
            }
        }
        String::from_utf8(received).map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_as_the_server_says() {
        for (pattern, subject, does) in [
            ("a.b", "a.b", true),
            ("a.*", "a.b", true),
            ("a.>", "a.b.c", true),
            (">", "a", true),
            ("a.b", "a.c", false),
            ("a", "a.b", false),
            ("a.b", "a", false),
            ("a.*", "a.b.c", false),
            ("a.>", "a", false),
        ] {
            assert_eq!(matches(pattern, subject), does, "{pattern} {subject}");
        }
    }
}
