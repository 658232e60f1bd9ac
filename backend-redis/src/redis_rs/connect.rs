//! Opening one socket for redis-rs: stream, TLS, handshake.
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
use redis::{AsyncConnectionConfig, ProtocolVersion, PushKind, RedisConnectionInfo, RedisError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;

use crate::address::Address;
use crate::options::Options;
use crate::redis_rs::errors;
use crate::stream::{self, Tcp};
use crate::subscriptions::Server;
use crate::target::Target;

/// The future that moves the bytes of one socket. The socket lives exactly as long as it.
pub(crate) type Driver = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Called when something is said. It must not wait.
type Tell = Arc<dyn Fn() + Send + Sync>;

/// What is called when something comes in that is no answer: with RESP3 alone.
#[derive(Clone, Default)]
pub(crate) struct Listener {
    disconnect: Option<Tell>,
    message: Option<Tell>,
    maintenance: Option<Tell>,
}

/// What a server calls out when it, or the part of it that answers here, is about to move or to fail over. What it calls out
/// when that is done says nothing: whoever is a lame duck by then has been left.
const MAINTENANCE: [&str; 3] = ["MOVING", "MIGRATING", "FAILING_OVER"];

impl Listener {
    pub(crate) fn disconnect(tell: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            disconnect: Some(Arc::new(tell)),
            ..Self::default()
        }
    }

    /// The server is asked to announce its maintenance, and `tell` is called when it does.
    pub(crate) fn with_maintenance(mut self, tell: impl Fn() + Send + Sync + 'static) -> Self {
        self.maintenance = Some(Arc::new(tell));
        self
    }

    /// For a socket that asks and is told things besides: `tell` is called with each message that is published to it.
    #[cfg(feature = "sentinel")]
    pub(crate) fn messages(tell: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            message: Some(Arc::new(tell)),
            ..Self::default()
        }
    }

    fn hear(&self, kind: &PushKind) {
        let tell = match kind {
            PushKind::Disconnection => &self.disconnect,
            PushKind::Message => &self.message,
            PushKind::Other(word) if MAINTENANCE.contains(&word.as_str()) => &self.maintenance,
            _ => return,
        };
        if let Some(tell) = tell {
            tell();
        }
    }
}

/// How sockets to one member are opened.
pub(crate) struct Connector {
    pub(crate) target: Target,
    tcp: Tcp,
    /// The server turned out not to know RESP3.
    old: AtomicBool,
}

impl Connector {
    pub(crate) fn new(target: Target, options: &Options) -> Self {
        Self {
            target,
            tcp: Tcp::new(options),
            old: AtomicBool::new(false),
        }
    }

    /// The server answered that it does not know RESP3: one socket cannot both subscribe and ask.
    #[cfg(feature = "sentinel")]
    pub(crate) fn is_old(&self) -> bool {
        self.old.load(Ordering::Relaxed)
    }

    /// The server, for sockets that are not redis-rs's.
    pub(crate) fn server(&self) -> Server {
        Server {
            target: self.target.clone(),
            tcp: self.tcp,
        }
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
        let maintenance = listener.maintenance.is_some();
        if protocol == ProtocolVersion::RESP3 {
            let listener = listener.clone();
            let config = config.set_push_sender(move |push: redis::PushInfo| {
                listener.hear(&push.kind);
                Ok::<(), ()>(())
            });
            return self.dial_with(protocol, config, maintenance).await;
        }
        self.dial_with(protocol, config, false).await
    }

    /// The socket to a node of a cluster, with what redis-rs wants to hear of it.
    #[cfg(feature = "cluster")]
    pub(crate) async fn open_for_cluster(
        &self,
        config: AsyncConnectionConfig,
    ) -> Result<(MultiplexedConnection, Driver), Error> {
        match self.dial_with(ProtocolVersion::RESP3, config, false).await {
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
        maintenance: bool,
    ) -> Result<(MultiplexedConnection, Driver), Failure> {
        let address = &self.target.address;
        match address {
            Address::Tcp(host, port) => {
                let stream = self.tcp.connect(host, *port, address).await?;
                self.handshake(protocol, config, maintenance, stream).await
            }
            #[cfg(feature = "tls")]
            Address::Tls(host, port) => {
                let stream = self.tcp.connect(host, *port, address).await?;
                let stream = crate::stream::tls::wrap(host, stream, &self.target).await?;
                self.handshake(protocol, config, maintenance, stream).await
            }
            #[cfg(not(feature = "tls"))]
            Address::Tls(..) => Err(Failure::Error(crate::target::without_tls())),
            #[cfg(feature = "cluster")]
            Address::Several(_) => Err(Failure::Error(crate::target::not_one())),
            Address::Unix(path) => {
                let stream = UnixStream::connect(path)
                    .await
                    .map_err(|error| stream::of_io(&error, address))?;
                self.handshake(protocol, config, maintenance, stream).await
            }
        }
    }

    async fn handshake<S>(
        &self,
        protocol: ProtocolVersion,
        config: AsyncConnectionConfig,
        maintenance: bool,
        stream: S,
    ) -> Result<(MultiplexedConnection, Driver), Failure>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let info = self.login(protocol);
        let with_password = self.target.password.is_some();
        let opened = open_over(&info, stream, config).await;
        let (connection, driver) = opened.map_err(|error| {
            if protocol == ProtocolVersion::RESP3 && is_old(&error) {
                Failure::Old
            } else {
                errors::of_setup(&error, &self.target.address, with_password).into()
            }
        })?;
        let mut opened = (connection, driver);
        if let Some(name) = &self.target.client_name {
            let mut command = redis::cmd("CLIENT");
            command.arg("SETNAME").arg(name);
            self.say(&command, &mut opened)
                .await?
                .map_err(|error| errors::of_setup(&error, &self.target.address, false))?;
        }
        if maintenance && protocol == ProtocolVersion::RESP3 {
            let mut command = redis::cmd("CLIENT");
            command.arg("MAINT_NOTIFICATIONS").arg("ON");
            // Members are dialled by their names, so where a server moves to is not asked for.
            command.arg("moving-endpoint-type").arg("none");
            // Most servers do not know it, and it may be forbidden: without it nothing is lost but the notice.
            let _refused = self.say(&command, &mut opened).await?;
        }
        Ok(opened)
    }

    /// As whom to speak, in the driver's words.
    fn login(&self, protocol: ProtocolVersion) -> RedisConnectionInfo {
        let target = &self.target;
        let mut info = RedisConnectionInfo::default()
            .set_protocol(protocol)
            .set_db(target.db);
        if let Some(username) = &target.username {
            info = info.set_username(username);
        }
        if let Some(password) = &target.password {
            info = info.set_password(password);
        }
        info
    }

    /// One command of the handshake. The driver has to run for it to be answered, and it is not spawned yet. What takes longer
    /// than the response timeout is answered with that; the outer error is the end of the connection.
    async fn say(
        &self,
        command: &redis::Cmd,
        (connection, driver): &mut (MultiplexedConnection, Driver),
    ) -> Result<redis::RedisResult<redis::Value>, Error> {
        tokio::select! {
            answer = connection.send_packed_command(command) => {
                Ok(answer.and_then(redis::Value::extract_error))
            }
            () = driver => Err(Error::new(
                ErrorKind::Lost,
                format!("{} ended the connection", self.target.address),
            )
            .with_operation("connect")),
        }
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
