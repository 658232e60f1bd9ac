//! What a server says to somebody who has just come in: its INFO, read from a socket that is closed at once.
//!
//! The client forgets what later INFOs say: which servers joined the cluster, and in a flood of its own events even that
//! the server is about to shut down. Nobody needs to log in to read it.

use std::io;
use std::time::Duration;

use async_nats::ServerInfo;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::net::TcpStream;

use crate::target::Address;

/// An INFO is a few hundred bytes and some per server of the cluster.
const LONGEST: u64 = 1 << 20;

/// Not for servers where TLS comes first: they say nothing in the clear.
pub(crate) async fn peek(address: &Address, timeout: Duration) -> io::Result<ServerInfo> {
    tokio::time::timeout(timeout, read(address))
        .await
        .unwrap_or_else(|_elapsed| Err(io::ErrorKind::TimedOut.into()))
}

async fn read(address: &Address) -> io::Result<ServerInfo> {
    let (host, port) = address.host_and_port();
    let stream = TcpStream::connect((host.as_str(), port)).await?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST))
        .read_line(&mut line)
        .await?;
    let info = line.strip_prefix("INFO ").ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "the server's first word is not INFO",
        )
    })?;
    serde_json::from_str(info).map_err(io::Error::from)
}
