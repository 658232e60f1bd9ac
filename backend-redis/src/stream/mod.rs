//! The stream to a member, before anybody speaks on it: name lookup, TCP and its options.
//!
//! One attempt, no retry, no deadline of its own; dropping the future leaves nothing behind. No protocol and no driver's
//! types here.

use std::io;
use std::time::Duration;

use backend_api::{Error, ErrorKind};
use tokio::net::TcpStream;

use crate::address::Address;
use crate::options::Options;

#[cfg(feature = "tls")]
pub(crate) mod tls;

/// How TCP connections are set up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tcp {
    nodelay: bool,
    user_timeout: Option<Duration>,
    keepalive: Option<Duration>,
}

impl Tcp {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            nodelay: options.tcp_nodelay,
            user_timeout: options.user_timeout,
            keepalive: options.keepalive,
        }
    }

    /// The name is looked up anew at each dial: a fail-over of the other kind moves names. `address` is what errors call
    /// the member.
    pub(crate) async fn connect(
        &self,
        host: &str,
        port: u16,
        address: &Address,
    ) -> Result<TcpStream, Error> {
        let unresolved = |why: String| {
            Error::new(ErrorKind::Refused, format!("{host} does not resolve{why}"))
                .with_operation("connect")
        };
        let found = tokio::net::lookup_host((host, port))
            .await
            .map_err(|error| unresolved(format!(": {error}")))?;
        let mut last = unresolved(String::new());
        for candidate in found {
            match TcpStream::connect(candidate).await {
                Ok(stream) => {
                    self.tune(&stream).map_err(|error| of_io(&error, address))?;
                    return Ok(stream);
                }
                Err(error) => last = of_io(&error, address),
            }
        }
        Err(last)
    }

    fn tune(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(self.nodelay)?;
        let socket = socket2::SockRef::from(stream);
        if let Some(time) = self.keepalive {
            socket.set_tcp_keepalive(
                &socket2::TcpKeepalive::new()
                    .with_time(time)
                    .with_interval(time),
            )?;
        }
        #[cfg(target_os = "linux")]
        if let Some(time) = self.user_timeout {
            socket.set_tcp_user_timeout(Some(time))?;
        }
        #[cfg(not(target_os = "linux"))]
        let _ = self.user_timeout;
        Ok(())
    }
}

/// An error of the operating system on the way to a stream.
pub(crate) fn of_io(error: &io::Error, address: &Address) -> Error {
    let (kind, text) = match error.kind() {
        io::ErrorKind::ConnectionRefused => (ErrorKind::Refused, "refused the connection"),
        io::ErrorKind::NotFound => (ErrorKind::Refused, "does not exist"),
        io::ErrorKind::TimedOut => (ErrorKind::Timeout, "does not answer"),
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            (ErrorKind::Refused, "cannot be reached")
        }
        _ => (ErrorKind::Lost, "cannot be connected to"),
    };
    Error::new(kind, format!("{address} {text}: {error}")).with_operation("connect")
}
