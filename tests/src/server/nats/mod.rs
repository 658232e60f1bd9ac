//! Real nats-servers: alone or as a cluster, hurt as a test pleases, gone with it.
//!
//! "Ready" is not "the port is open", as with Redis: the server prints the id that it draws at its start, and only an
//! INFO with this id counts.
//!
//! Never to come in: what a client library makes of an answer. This is the outside view.

mod builder;
mod cluster;
mod config;
mod look;
mod wire;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::folder::Folder;
use super::process::{Process, StartError};
use super::{find_pinned, ports};
use config::Seat;

pub use builder::{Flavour, NatsBuilder};
pub use cluster::NatsCluster;

/// How long a server may take to come up on a busy machine.
const START: Duration = Duration::from_secs(20);
/// How long a look at a healthy server may take.
const LOOK: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(2);

/// A nats-server on a port of 127.0.0.1. Dropped, it is killed and its folder removed.
///
/// ```
/// use failover_testkit::server::NatsServer;
///
/// let server = NatsServer::start();
/// let id = server.server_id();
/// assert!(server.info().contains(&id));
/// server.kill();
/// server.restart(); // on the same port, and another to its clients
/// assert_ne!(server.server_id(), id);
/// ```
#[derive(Debug)]
pub struct NatsServer {
    // Dropped in this order: the process goes before the folder that it writes to.
    state: Mutex<State>,
    folder: Folder,
    program: PathBuf,
    seat: Seat,
}

#[derive(Debug)]
struct State {
    process: Option<Process>,
    server_id: String,
    settings: NatsBuilder,
}

impl NatsServer {
    /// A plain server on a free port.
    ///
    /// # Panics
    ///
    /// When it cannot be started; a program that is missing is one reason, and the text says how to get it.
    #[track_caller]
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// A server, or a cluster, with settings of its own.
    pub fn builder() -> NatsBuilder {
        NatsBuilder::default()
    }

    fn open(settings: &NatsBuilder) -> Result<Self, StartError> {
        let mut tries = if settings.port.is_some() { 1 } else { 10 };
        loop {
            tries -= 1;
            let seat = Seat {
                name: "lone".to_owned(),
                client: settings.port.map_or_else(free_port, Ok)?,
                monitor: free_port()?,
                cluster: None,
            };
            let server = Self::sit(settings.clone(), seat)?;
            match server.launch() {
                Err(error) if error.port_taken() && tries > 0 => {}
                launched => return launched.map(|()| server),
            }
        }
    }

    /// A server that is not started yet.
    fn sit(settings: NatsBuilder, seat: Seat) -> Result<Self, StartError> {
        let program = find_pinned(settings.flavour.program())
            .map_err(|error| StartError::new(error.to_string(), ""))?;
        Ok(Self {
            state: Mutex::new(State {
                process: None,
                server_id: String::new(),
                settings,
            }),
            folder: Folder::new("nats").map_err(failed)?,
            program,
            seat,
        })
    }

    fn launch(&self) -> Result<(), StartError> {
        self.spawn()?;
        self.await_ready()
    }

    /// Starts the program, and waits for nothing.
    fn spawn(&self) -> Result<(), StartError> {
        let mut state = self.state();
        self.write_config(&state.settings).map_err(failed)?;
        let args = vec!["--config".into(), self.config_file().into()];
        let process = Process::start(&self.program, args, &self.log_file()).map_err(failed)?;
        state.process = Some(process);
        Ok(())
    }

    /// Waits until the program answers as itself. One that does not is ended.
    fn await_ready(&self) -> Result<(), StartError> {
        let deadline = Instant::now() + START;
        loop {
            if let Some(id) = self.printed_id()
                && self.try_info().is_ok_and(|info| info.contains(&id))
            {
                self.state().server_id = id;
                return Ok(());
            }
            self.still_starting(deadline, "answer")?;
            thread::sleep(POLL);
        }
    }

    /// An error when there is nothing left to wait for. Then the server is ended.
    fn still_starting(&self, deadline: Instant, to: &str) -> Result<(), StartError> {
        let mut state = self.state();
        let ended = state.process.as_mut().and_then(Process::ended);
        let server = format!(
            "nats-server {} on port {}",
            self.seat.name, self.seat.client
        );
        let what = match ended {
            Some(status) => format!("{server} ended at once ({status})"),
            None if Instant::now() > deadline => format!("{server} did not {to} within {START:?}"),
            None => return Ok(()),
        };
        state.process = None;
        Err(StartError::new(what, self.log_tail()))
    }

    /// The id which the process drew at its start.
    fn printed_id(&self) -> Option<String> {
        let log = fs::read_to_string(self.log_file()).ok()?;
        // With its line's end: half an id is none.
        let (_, rest) = log.split_once("[INF]   ID: ")?;
        let (id, _) = rest.split_once('\n')?;
        Some(id.trim().to_owned())
    }

    /// The port on 127.0.0.1 for clients.
    pub fn port(&self) -> u16 {
        self.seat.client
    }

    /// `127.0.0.1:port`, as the server itself tells its clients where it advertises nothing else.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.seat.client)
    }

    /// `nats://127.0.0.1:port`, or with `tls` in front for a server that wants it; without credentials.
    pub fn url(&self) -> String {
        let scheme = if self.state().settings.speaks_tls() {
            "tls"
        } else {
            "nats"
        };
        format!("{scheme}://{}", self.address())
    }

    /// The server's configured name: `n0`, `n1`, ... in a cluster.
    pub fn name(&self) -> &str {
        &self.seat.name
    }

    /// The id that it drew at its last start; also of a server that was killed since, or is frozen.
    pub fn server_id(&self) -> String {
        self.state().server_id.clone()
    }

    /// The process id.
    ///
    /// # Panics
    ///
    /// When the server was killed.
    #[track_caller]
    pub fn pid(&self) -> u32 {
        let state = self.state();
        state.process.as_ref().expect("the server was killed").pid()
    }

    /// Whether the process is there; a frozen one is.
    pub fn is_running(&self) -> bool {
        let mut state = self.state();
        let process = state.process.as_mut();
        process.is_some_and(|process| process.ended().is_none())
    }

    fn is_frozen(&self) -> bool {
        let state = self.state();
        state.process.as_ref().is_some_and(Process::is_frozen)
    }

    /// SIGKILL. When this returns the process is gone and its port refuses. Killing a dead server does nothing.
    pub fn kill(&self) {
        drop(self.state().process.take());
    }

    /// SIGSTOP. When this returns the process stands still: its sockets take bytes and nothing answers.
    ///
    /// # Panics
    ///
    /// When the server is not running.
    #[track_caller]
    pub fn freeze(&self) {
        let mut state = self.state();
        let process = state.process.as_mut().expect("the server was killed");
        process.freeze().expect("the server is running");
    }

    /// SIGCONT: a frozen server goes on where it stood.
    ///
    /// # Panics
    ///
    /// When the server is not running.
    #[track_caller]
    pub fn thaw(&self) {
        self.signal(Signal::SIGCONT);
    }

    /// Starts it again on the same ports, with its settings as they are now, killing it first if it runs. What JetStream
    /// has on disk is there again. It answers when this returns; for a node of a cluster see also
    /// [`NatsCluster::wait_formed`].
    ///
    /// # Panics
    ///
    /// When it does not come up, with what it printed.
    #[track_caller]
    pub fn restart(&self) {
        self.kill();
        self.launch().unwrap_or_else(|error| panic!("{error}"));
    }

    /// SIGUSR2: the server closes its port, tells its clients that it is going, sends them away one by one after the grace
    /// period, and ends. Returns at once; a server without clients ends within milliseconds.
    ///
    /// # Panics
    ///
    /// When the server is not running.
    #[track_caller]
    pub fn lame_duck(&self) {
        self.signal(Signal::SIGUSR2);
    }

    /// SIGHUP: the server reads its configuration again. It has done so when this returns.
    ///
    /// # Panics
    ///
    /// When it is not running, or does not take the configuration, with what it printed.
    #[track_caller]
    pub fn reload(&self) {
        let count = |what: &str| {
            let log = fs::read_to_string(self.log_file()).unwrap_or_default();
            log.matches(what).count()
        };
        let (before, refused) = (count("Reloaded server"), count("Failed to reload"));
        self.signal(Signal::SIGHUP);
        let deadline = Instant::now() + LOOK;
        while count("Reloaded server") == before {
            let log = || self.log_tail();
            assert!(
                count("Failed to reload") == refused,
                "refused to reload:\n{}",
                log()
            );
            assert!(
                Instant::now() < deadline,
                "not reloaded within {LOOK:?}:\n{}",
                log()
            );
            thread::sleep(POLL);
        }
    }

    /// Changes the settings of the running server, now and for its restarts. Not all of them can change while it runs;
    /// credentials, permissions and `client_advertise` can. A client whose user is gone is cut off without a word; one whose
    /// password has changed hears `Authorization Violation` first.
    ///
    /// # Panics
    ///
    /// Like [`reload`](Self::reload).
    ///
    /// ```
    /// # use failover_testkit::server::NatsServer;
    /// let server = NatsServer::builder().user("a", "pw", "").user("b", "pw", "").start();
    /// server.reload_with(|settings| settings.revoke("a"));
    /// ```
    #[track_caller]
    pub fn reload_with(&self, change: impl FnOnce(NatsBuilder) -> NatsBuilder) {
        // Not under the lock: the change may ask this server for its address.
        let now = self.state().settings.clone();
        let settings = change(now);
        self.write_config(&settings)
            .expect("the configuration can be written");
        self.state().settings = settings;
        self.reload();
    }

    /// The end of what the server has printed since its last start.
    pub fn log_tail(&self) -> String {
        let log = fs::read_to_string(self.log_file()).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// Its folder: the configuration, the log, what JetStream stores.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn write_config(&self, settings: &NatsBuilder) -> io::Result<()> {
        let text = settings.file(&self.seat, self.folder.path());
        fs::write(self.config_file(), text)
    }

    fn config_file(&self) -> PathBuf {
        self.folder.path().join("nats.conf")
    }

    fn log_file(&self) -> PathBuf {
        self.folder.path().join("server.log")
    }

    #[track_caller]
    fn signal(&self, signal: Signal) {
        let mut state = self.state();
        let process = state.process.as_mut().expect("the server was killed");
        process.signal(signal).expect("the server is running");
    }

    /// A test that panicked while it held this must still be able to kill the server.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
fn failed(error: io::Error) -> StartError {
    StartError::new(format!("nats-server: {error}"), "")
}

fn free_port() -> Result<u16, StartError> {
    ports::free().map_err(failed)
}
