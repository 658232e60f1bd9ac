//! The few lines of RESP that it takes to look at a server from outside.
//!
//! Over a plain blocking socket on purpose: the harness judges clients, so it must not use the one under test, and a
//! backend's own tests must not compile a client that they do not need. Every call has one deadline for all of it.
//!
//! Never to come in: connections that are kept. Each call has its own, so that what it sees is not what an earlier
//! fault left behind.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// What a server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A short text such as `OK`.
    Status(String),
    /// An error inside an array (of EXEC, say); a whole answer that is an error is [`CliError::Server`].
    Error(String),
    /// A number.
    Integer(i64),
    /// A value, as it came.
    Bulk(Vec<u8>),
    /// No value.
    Nil,
    /// Several answers.
    Array(Vec<Reply>),
}

/// As `redis-cli` prints it when its output is no terminal: values bare, arrays one element per line, nil empty.
impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(text) | Self::Error(text) => f.write_str(text),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Bulk(bytes) => f.write_str(&String::from_utf8_lossy(bytes)),
            Self::Nil => Ok(()),
            Self::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let separator = if index == 0 { "" } else { "\n" };
                    write!(f, "{separator}{item}")?;
                }
                Ok(())
            }
        }
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub enum CliError {
    /// The server answered with an error, such as `LOADING Redis is loading the dataset in memory`.
    Server(String),
    /// No answer in time: what a frozen server looks like.
    Timeout,
    /// The connection was refused, or it broke.
    Io(io::Error),
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(text) => f.write_str(text),
            Self::Timeout => f.write_str("no answer in time"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CliError {}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // A socket's timeout is the first on Linux, the second by the book.
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Timeout,
            _ => Self::Io(error),
        }
    }
}

/// One connection for a call or two.
pub(super) struct Link {
    stream: TcpStream,
    deadline: Instant,
    received: Vec<u8>,
    read: usize,
}

impl Link {
    /// Connects, and logs in where there is a password.
    pub(super) fn open(
        port: u16,
        password: Option<&str>,
        timeout: Duration,
    ) -> Result<Self, CliError> {
        let deadline = Instant::now() + timeout;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let stream = TcpStream::connect_timeout(&address, timeout)?;
        stream.set_nodelay(true)?;
        let mut link = Self {
            stream,
            deadline,
            received: Vec::new(),
            read: 0,
        };
        if let Some(password) = password {
            link.call(&["AUTH", password])?;
        }
        Ok(link)
    }

    /// This end's address, by which the server's client list shows the connection.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.stream.local_addr()
    }

    /// One command, one answer.
    pub(super) fn call(&mut self, command: &[&str]) -> Result<Reply, CliError> {
        let mut request = format!("*{}\r\n", command.len()).into_bytes();
        for word in command {
            request.extend_from_slice(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
        }
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write_all(&request)?;
        match self.reply()? {
            Reply::Error(text) => Err(CliError::Server(text)),
            reply => Ok(reply),
        }
    }

    fn reply(&mut self) -> Result<Reply, CliError> {
        let line = self.line()?;
        let (kind, rest) = line.split_at_checked(1).ok_or_else(malformed)?;
        let number = || rest.parse::<i64>().map_err(|_| malformed());
        match kind {
            "+" => Ok(Reply::Status(rest.to_owned())),
            "-" => Ok(Reply::Error(rest.to_owned())),
            ":" => Ok(Reply::Integer(number()?)),
            "$" => match usize::try_from(number()?) {
                Ok(length) => Ok(Reply::Bulk(self.bulk(length)?)),
                Err(_) => Ok(Reply::Nil),
            },
            "*" => match usize::try_from(number()?) {
                Ok(length) => (0..length)
                    .map(|_| self.reply())
                    .collect::<Result<_, _>>()
                    .map(Reply::Array),
                Err(_) => Ok(Reply::Nil),
            },
            _ => Err(malformed()),
        }
    }

    fn line(&mut self) -> Result<String, CliError> {
        loop {
            let pending = &self.received[self.read..];
            if let Some(end) = pending.windows(2).position(|two| two == b"\r\n") {
                let line = String::from_utf8_lossy(&pending[..end]).into_owned();
                self.read += end + 2;
                return Ok(line);
            }
            self.receive()?;
        }
    }

    fn bulk(&mut self, length: usize) -> Result<Vec<u8>, CliError> {
        while self.received.len() - self.read < length + 2 {
            self.receive()?;
        }
        let value = self.received[self.read..self.read + length].to_vec();
        self.read += length + 2;
        Ok(value)
    }

    fn receive(&mut self) -> Result<(), CliError> {
        let mut chunk = [0; 16 * 1024];
        loop {
            self.stream.set_read_timeout(Some(self.left()?))?;
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(CliError::Io(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => {
                    self.received.extend_from_slice(&chunk[..count]);
                    return Ok(());
                }
                // A read with a timeout ends like this when this process was stopped and goes on.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// What is left of the time; a socket's timeout of zero would mean for ever.
    fn left(&self) -> Result<Duration, CliError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            Err(CliError::Timeout)
        } else {
            Ok(left)
        }
    }
}

fn malformed() -> CliError {
    CliError::Io(io::Error::new(
        io::ErrorKind::InvalidData,
        "not an answer of a Redis server",
    ))
}
