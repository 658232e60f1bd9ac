//! Opening one socket: name lookup, stream, TLS, handshake.
//!
//! The stream is opened here and not by redis-rs, so that its driver is ours to end: an idle clone of a connection that
//! redis-rs spawned keeps the socket open for ever. One attempt, no retry, no deadline of its own; dropping the future
//! leaves nothing behind. What a socket says unasked goes to its [`Listener`].

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use backend_api::{Error, ErrorKind};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ProtocolVersion, RedisConnectionInfo, RedisError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

use crate::config::Options;
use crate::error;
use crate::pubsub::{OnMessage, Published, Sieve, of_push};
use crate::target::{Address, Target};

/// The future that moves the bytes of one socket. The socket lives exactly as long as it.
pub(crate) type Driver = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Called once when a RESP3 socket says that it is gone.
pub(crate) type OnDisconnect = Arc<dyn Fn() + Send + Sync>;

/// What is called when something comes in that is no answer.
#[derive(Clone, Default)]
pub(crate) struct Listener {
    disconnect: Option<OnDisconnect>,
    message: Option<OnMessage>,
    /// Where messages would need a socket that does nothing else, there are none.
    pushes_only: bool,
}

impl Listener {
    pub(crate) fn disconnect(tell: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            disconnect: Some(Arc::new(tell)),
            message: None,
            pushes_only: false,
        }
    }

    /// For a socket that subscribes: with RESP2 nothing else can be done on it.
    pub(crate) fn messages(tell: impl Fn(Published) + Send + Sync + 'static) -> Self {
        Self {
            disconnect: None,
            message: Some(Arc::new(tell)),
            pushes_only: false,
        }
    }

    /// For a socket that asks and is told things besides. With RESP2 it is told nothing.
    #[cfg(feature = "sentinel")]
    pub(crate) fn pushes(tell: impl Fn(Published) + Send + Sync + 'static) -> Self {
        Self {
            pushes_only: true,
            ..Self::messages(tell)
        }
    }

    fn hear(&self, push: redis::PushInfo) {
        if push.kind == redis::PushKind::Disconnection {
            if let Some(tell) = &self.disconnect {
                tell();
            }
        } else if let Some(tell) = &self.message
            && let Some(message) = of_push(push)
        {
            tell(message);
        }
    }
}

/// How sockets to one member are opened.
pub(crate) struct Connector {
    pub(crate) target: Target,
    tcp_nodelay: bool,
    user_timeout: Option<Duration>,
    keepalive: Option<Duration>,
    /// The server turned out not to know RESP3.
    old: AtomicBool,
}

impl Connector {
    pub(crate) fn new(target: Target, options: &Options) -> Self {
        Self {
            target,
            tcp_nodelay: options.tcp_nodelay,
            user_timeout: options.user_timeout,
            keepalive: options.keepalive,
            old: AtomicBool::new(false),
        }
    }

    /// The server answered that it does not know RESP3: one socket cannot both subscribe and ask.
    #[cfg(feature = "sentinel")]
    pub(crate) fn is_old(&self) -> bool {
        self.old.load(Ordering::Relaxed)
    }

    /// Opens a socket. Commands on it wait `response_timeout` at most; without one the caller bounds them.
    pub(crate) async fn open(
        &self,
        response_timeout: Option<Duration>,
        listener: Listener,
    ) -> Result<(MultiplexedConnection, Driver), Error> {
        if !self.old.load(Ordering::Relaxed) {
            match self
                .dial(ProtocolVersion::RESP3, response_timeout, &listener)
                .await
            {
                Err(Failure::Old) => self.old.store(true, Ordering::Relaxed),
                Err(Failure::Error(error)) => return Err(error),
                Ok(opened) => return Ok(opened),
            }
        }
        // Before Redis 6 there is no push to tell of the end; the end of the driver tells it as well.
        match self
            .dial(ProtocolVersion::RESP2, response_timeout, &listener)
            .await
        {
            Ok(opened) => Ok(opened),
            Err(Failure::Error(error)) => Err(error),
            Err(Failure::Old) => Err(Error::new(
                ErrorKind::Protocol,
                format!("{} speaks neither RESP3 nor RESP2", self.target.address),
            )),
        }
    }

    async fn dial(
        &self,
        protocol: ProtocolVersion,
        response_timeout: Option<Duration>,
        listener: &Listener,
    ) -> Result<(MultiplexedConnection, Driver), Failure> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(response_timeout);
        if protocol == ProtocolVersion::RESP3 {
            let listener = listener.clone();
            let config = config.set_push_sender(move |push: redis::PushInfo| {
                listener.hear(push);
                Ok::<(), ()>(())
            });
            return self.dial_with(protocol, config, None).await;
        }
        let sift = listener.message.clone();
        let sift = sift.filter(|_| !listener.pushes_only);
        self.dial_with(protocol, config, sift).await
    }

    /// The socket to a node of a cluster, with what redis-rs wants to hear of it.
    #[cfg(feature = "cluster")]
    pub(crate) async fn open_for_cluster(
        &self,
        config: AsyncConnectionConfig,
    ) -> Result<(MultiplexedConnection, Driver), Error> {
        match self.dial_with(ProtocolVersion::RESP3, config, None).await {
            Ok(opened) => Ok(opened),
            Err(Failure::Error(error)) => Err(error),
            Err(Failure::Old) => Err(Error::new(
                ErrorKind::Protocol,
                format!(
                    "{} does not speak RESP3 (Redis 6 does)",
                    self.target.address
                ),
            )),
        }
    }

    async fn dial_with(
        &self,
        protocol: ProtocolVersion,
        config: AsyncConnectionConfig,
        sift: Option<OnMessage>,
    ) -> Result<(MultiplexedConnection, Driver), Failure> {
        match &self.target.address {
            Address::Tcp(host, port) => {
                let stream = self.tcp(host, *port).await?;
                self.handshake(protocol, config, sift, stream).await
            }
            #[cfg(feature = "tls")]
            Address::Tls(host, port) => {
                let stream = self.tcp(host, *port).await?;
                let stream = crate::tls::wrap(host, stream, &self.target).await?;
                self.handshake(protocol, config, sift, stream).await
            }
            #[cfg(not(feature = "tls"))]
            Address::Tls(..) => Err(Failure::Error(Error::new(
                ErrorKind::Tls,
                "rediss:// needs TLS: build failover-core with the feature `redis-tls`",
            ))),
            #[cfg(feature = "cluster")]
            Address::Several(_) => Err(Failure::Error(Error::new(
                ErrorKind::Unsupported,
                "one socket does not lead to several servers",
            ))),
            Address::Unix(path) => {
                let stream = UnixStream::connect(path)
                    .await
                    .map_err(|error| error::of_io(&error, &self.target.address))?;
                self.handshake(protocol, config, sift, stream).await
            }
        }
    }

    /// The name is looked up anew at each dial: a fail-over of the other kind moves names.
    async fn tcp(&self, host: &str, port: u16) -> Result<TcpStream, Error> {
        let address = &self.target.address;
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
                    self.tune(&stream)
                        .map_err(|error| error::of_io(&error, address))?;
                    return Ok(stream);
                }
                Err(error) => last = error::of_io(&error, address),
            }
        }
        Err(last)
    }

    fn tune(&self, stream: &TcpStream) -> std::io::Result<()> {
        stream.set_nodelay(self.tcp_nodelay)?;
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

    async fn handshake<S>(
        &self,
        protocol: ProtocolVersion,
        config: AsyncConnectionConfig,
        sift: Option<OnMessage>,
        stream: S,
    ) -> Result<(MultiplexedConnection, Driver), Failure>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let info = self.target.redis.clone().set_protocol(protocol);
        let with_password = info.password().is_some();
        let opened = match sift {
            None => open_over(&info, stream, config).await,
            Some(tell) => open_over(&info, Sieve::new(stream, tell), config).await,
        };
        let (connection, driver) = opened.map_err(|error| {
            if protocol == ProtocolVersion::RESP3 && is_old(&error) {
                Failure::Old
            } else {
                error::of_setup(&error, &self.target.address, with_password).into()
            }
        })?;
        match &self.target.client_name {
            None => Ok((connection, driver)),
            Some(name) => self.name(name, connection, driver).await,
        }
    }

    /// The driver has to run for a command to be answered, and it is not spawned yet.
    async fn name(
        &self,
        name: &str,
        mut connection: MultiplexedConnection,
        mut driver: Driver,
    ) -> Result<(MultiplexedConnection, Driver), Failure> {
        let ended = || {
            Error::new(
                ErrorKind::Lost,
                format!("{} ended the connection", self.target.address),
            )
            .with_operation("connect")
        };
        let mut command = redis::cmd("CLIENT");
        command.arg("SETNAME").arg(name);
        let answer = tokio::select! {
            answer = connection.send_packed_command(&command) => answer,
            () = &mut driver => return Err(ended().into()),
        };
        answer
            .and_then(redis::Value::extract_error)
            .map_err(|error| error::of_setup(&error, &self.target.address, false))?;
        Ok((connection, driver))
    }
}

async fn open_over<S>(
    info: &RedisConnectionInfo,
    stream: S,
    config: AsyncConnectionConfig,
) -> Result<(MultiplexedConnection, Driver), RedisError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (connection, driver) = MultiplexedConnection::new_with_config(info, stream, config).await?;
    Ok((connection, Box::pin(driver)))
}

enum Failure {
    /// The server does not know HELLO.
    Old,
    Error(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

fn is_old(error: &RedisError) -> bool {
    // The quotes around HELLO differ between versions, so redis-rs recognises only some of them.
    error.kind() == redis::ErrorKind::RESP3NotSupported
        || error
            .detail()
            .is_some_and(|detail| detail.starts_with("unknown command"))
}
