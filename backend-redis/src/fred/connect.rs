//! Opening a fred client on one member: one attempt, no reconnecting, and the task that moves its bytes in our hands.
//!
//! No deadline of its own; dropping the future ends what it began.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::fred::clients::Client;
use ::fred::interfaces::{ClientLike, EventInterface};
use ::fred::socket2::TcpKeepalive;
use ::fred::types::config::{
    Config, ConnectionConfig, PerformanceConfig, Server as FredServer, ServerConfig, TcpConfig,
};
use ::fred::types::{ConnectHandle, CustomCommand, RespVersion, Value};
use backend_api::{Error, ErrorKind};
use tokio::sync::broadcast;

use super::errors::{self, DialError};
use crate::address::Address;
use crate::options::Options;
use crate::stream::Tcp;
use crate::subscriptions::{Listen, Server};
use crate::target::Target;

/// How many commands may wait to be written. Beyond that a server has been silent for long, and memory is worth more.
const QUEUE: usize = 1 << 16;

/// How clients of one member are opened.
pub(super) struct Connector {
    pub(super) target: Target,
    tcp_nodelay: bool,
    user_timeout: Option<Duration>,
    keepalive: Option<Duration>,
    /// The same three, for the sockets of the subscriptions.
    tcp: Tcp,
    /// How long opening a client may take.
    pub(super) dial: Duration,
    /// How long one command may take.
    pub(super) operation: Duration,
    /// The server turned out not to know RESP3.
    old: AtomicBool,
}

/// A client with the task that it lives by. The socket lives exactly as long as that.
pub(super) struct Opened {
    pub(super) client: Client,
    pub(super) task: Task,
    pub(super) errors: broadcast::Receiver<(::fred::error::Error, Option<FredServer>)>,
}

/// The task of a client. Aborted when dropped.
pub(super) struct Task(ConnectHandle);

impl Task {
    /// When it has ended by itself.
    pub(super) async fn over(&mut self) {
        let _ = (&mut self.0).await;
    }

    /// Ends it: when this returns, the socket is closed.
    pub(super) async fn end(mut self) {
        if !self.0.is_finished() {
            self.0.abort();
            self.over().await;
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Connector {
    pub(super) fn new(
        target: Target,
        options: &Options,
        dial: Duration,
        operation: Duration,
    ) -> Self {
        Self {
            target,
            tcp_nodelay: options.tcp_nodelay,
            user_timeout: options.user_timeout,
            keepalive: options.keepalive,
            tcp: Tcp::new(options),
            dial,
            operation,
            old: AtomicBool::new(false),
        }
    }

    /// fred counts databases in a byte.
    pub(super) fn database(target: &Target) -> Result<Option<u8>, Error> {
        match u8::try_from(target.db) {
            Ok(0) => Ok(None),
            Ok(db) => Ok(Some(db)),
            Err(_) => Err(Error::new(
                ErrorKind::Config,
                "the database number is too large: fred knows 0 to 255",
            )),
        }
    }

    /// Opens a client whose commands wait `limit` at most; zero is without a limit.
    pub(super) async fn open(&self, limit: Duration) -> Result<Opened, Error> {
        if !self.old.load(Ordering::Relaxed) {
            match self.dial(RespVersion::RESP3, limit).await {
                Err(error) if errors::is_old(&error) => self.old.store(true, Ordering::Relaxed),
                opened => return self.named(opened).await,
            }
        }
        let opened = self.dial(RespVersion::RESP2, limit).await;
        self.named(opened).await
    }

    async fn dial(&self, version: RespVersion, limit: Duration) -> Result<Opened, DialError> {
        let client = Client::new(
            self.config(version).await?,
            Some(PerformanceConfig {
                default_command_timeout: limit,
                ..PerformanceConfig::default()
            }),
            Some(ConnectionConfig {
                connection_timeout: self.dial,
                internal_command_timeout: self.dial,
                max_command_attempts: 1,
                max_command_buffer_len: QUEUE,
                tcp: self.tcp_config(),
                ..ConnectionConfig::default()
            }),
            // No policy: fred does not reconnect.
            None,
        );
        let errors = client.error_rx();
        // Its outcome is told once, to whoever listens already: the wait begins before the attempt.
        let waiting = client.clone();
        let outcome = waiting.wait_for_connect();
        tokio::pin!(outcome);
        tokio::select! {
            biased;
            early = &mut outcome => early?,
            () = std::future::ready(()) => {}
        }
        let mut task = Task(client.connect());
        tokio::select! {
            biased;
            outcome = &mut outcome => outcome?,
            () = task.over() => return Err(DialError::Ended),
        }
        Ok(Opened {
            client,
            task,
            errors,
        })
    }

    async fn config(&self, version: RespVersion) -> Result<Config, DialError> {
        let target = &self.target;
        let mut config = Config {
            fail_fast: true,
            username: target.username.clone(),
            password: target.password.clone(),
            version,
            database: Self::database(target).map_err(DialError::Ours)?,
            ..Config::default()
        };
        config.server = match &target.address {
            Address::Tcp(host, port) => ServerConfig::Centralized {
                server: FredServer::new(resolvable(host), *port),
            },
            #[cfg(feature = "tls")]
            Address::Tls(host, port) => {
                let tls = crate::stream::tls::config_of(target)
                    .await
                    .map_err(DialError::Ours)?;
                config.tls = Some(tokio_rustls::TlsConnector::from(tls).into());
                let mut server = FredServer::new(resolvable(host), *port);
                server.tls_server_name = Some(host.as_str().into());
                ServerConfig::Centralized { server }
            }
            #[cfg(not(feature = "tls"))]
            Address::Tls(..) => return Err(DialError::Ours(crate::target::without_tls())),
            #[cfg(feature = "cluster")]
            Address::Several(_) => return Err(DialError::Ours(crate::target::not_one())),
            Address::Unix(path) => ServerConfig::Unix { path: path.clone() },
        };
        Ok(config)
    }

    fn tcp_config(&self) -> TcpConfig {
        let keepalive = self
            .keepalive
            .map(|time| TcpKeepalive::new().with_time(time).with_interval(time));
        TcpConfig {
            nodelay: Some(self.tcp_nodelay),
            keepalive,
            #[cfg(target_os = "linux")]
            user_timeout: self.user_timeout,
            ..TcpConfig::default()
        }
    }

    /// fred would give it a name of its own making.
    async fn named(&self, opened: Result<Opened, DialError>) -> Result<Opened, Error> {
        let opened = opened.map_err(|error| self.explain(&error))?;
        if let Some(name) = &self.target.client_name {
            let command = CustomCommand::new_static("CLIENT", None::<u16>, false);
            let named: Result<Value, _> = opened
                .client
                .custom(command, vec!["SETNAME".to_owned(), name.clone()])
                .await;
            named.map_err(|error| self.explain(&error.into()))?;
        }
        Ok(opened)
    }

    fn explain(&self, error: &DialError) -> Error {
        let address = &self.target.address;
        match error {
            DialError::Ours(error) => error.clone(),
            DialError::Ended => Error::new(
                ErrorKind::Lost,
                format!("{address} ended the connection during the handshake"),
            )
            .with_operation("connect"),
            DialError::Fred(error) => {
                errors::of_setup(error, address, self.target.password.is_some())
            }
        }
    }
}

impl Listen for Connector {
    fn address(&self) -> Address {
        self.target.address.clone()
    }

    fn server(&self) -> Result<Server, Error> {
        Ok(Server {
            target: self.target.clone(),
            tcp: self.tcp,
        })
    }
}

/// fred appends the port to it, so an IPv6 address needs its brackets.
fn resolvable(host: &str) -> String {
    match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    }
}
