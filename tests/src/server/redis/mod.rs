//! A real redis-server: started on a free port, hurt as a test pleases, gone with it.
//!
//! "Ready" is not "the port is open": a port that was taken in the meantime is open too. The server is asked for its own
//! process id, and only the child's answer counts.
//!
//! Never to come in: what a client library makes of an answer. This is the outside view.

mod builder;
mod cluster;
mod loading;
mod resp;
mod sentinels;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::folder::Folder;
use super::process::{Process, StartError};
use super::{find, find_pinned, ports};

pub use builder::RedisBuilder;
pub use cluster::RedisCluster;
pub use resp::{CliError, Reply};
pub use sentinels::Sentinels;

/// How long a server may take to come up on a busy machine.
const START: Duration = Duration::from_secs(20);
/// How long a look at a healthy server may take.
const LOOK: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(2);

/// A redis-server on a port of 127.0.0.1. Dropped, it is killed and its folder removed.
///
/// ```
/// use failover_testkit::server::RedisServer;
///
/// let server = RedisServer::start();
/// server.cli(&["SET", "a", "1"]);
/// assert_eq!(server.cli(&["GET", "a"]), "1");
/// server.kill();
/// server.restart(); // on the same port, and empty
/// assert_eq!(server.cli(&["GET", "a"]), "");
/// ```
#[derive(Debug)]
pub struct RedisServer {
    // Dropped in this order: the process goes before the folder that it writes to.
    process: Mutex<Option<Process>>,
    folder: Folder,
    program: PathBuf,
    settings: RedisBuilder,
    port: u16,
}

impl RedisServer {
    /// A plain server on a free port.
    ///
    /// # Panics
    ///
    /// When it cannot be started; a program that is missing is one reason, and the text says how to get it.
    #[track_caller]
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// A server with a password, users, a master or other settings.
    pub fn builder() -> RedisBuilder {
        RedisBuilder::default()
    }

    fn open(settings: RedisBuilder) -> Result<Self, StartError> {
        let program = if settings.newest {
            find_pinned("redis-server-8")
        } else {
            find("redis-server")
        };
        let program = program.map_err(|error| StartError::new(error.to_string(), ""))?;
        let failed = |error| StartError::new(format!("redis-server: {error}"), "");
        let mut server = Self {
            process: Mutex::new(None),
            folder: Folder::new("redis").map_err(failed)?,
            program,
            settings,
            port: 0,
        };
        let mut tries = if server.settings.port.is_some() {
            1
        } else {
            10
        };
        loop {
            tries -= 1;
            server.port = match server.settings.port {
                Some(port) => port,
                None => ports::free().map_err(failed)?,
            };
            match server.launch("", false) {
                Err(error) if error.port_taken() && tries > 0 => {}
                launched => return launched.map(|()| server),
            }
        }
    }

    /// Starts the program with these further lines of configuration, and waits until it answers: as one that has its
    /// data, or as one that is still `loading` them.
    fn launch(&self, further: &str, loading: bool) -> Result<(), StartError> {
        let folder = self.folder.path();
        let (config, log) = (folder.join("redis.conf"), self.log_file());
        let text = self.settings.file(self.port, &folder.to_string_lossy()) + further;
        let mut process = fs::write(&config, text)
            .and_then(|()| Process::start(&self.program, vec![config.into()], &log))
            .map_err(|error| StartError::new(format!("redis-server: {error}"), ""))?;
        let port = self.port;
        let deadline = Instant::now() + START;
        let wanted = [
            format!("process_id:{}", process.pid()),
            format!("loading:{}", u8::from(loading)),
        ];
        loop {
            let answer = self.try_cli(&["INFO"], LOOK).map(|reply| reply.to_string());
            if answer.is_ok_and(|info| wanted.iter().all(|line| info.lines().any(|l| l == line))) {
                *self.process() = Some(process);
                return Ok(());
            }
            let what = match process.ended() {
                Some(status) => format!("redis-server on port {port} ended at once ({status})"),
                None if Instant::now() > deadline => {
                    format!("redis-server on port {port} did not answer within {START:?}")
                }
                None => {
                    thread::sleep(POLL);
                    continue;
                }
            };
            return Err(StartError::new(what, self.log_tail()));
        }
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `redis://127.0.0.1:port`, without credentials.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// The process id.
    ///
    /// # Panics
    ///
    /// When the server was killed.
    #[track_caller]
    pub fn pid(&self) -> u32 {
        self.process()
            .as_ref()
            .expect("the server was killed")
            .pid()
    }

    /// Whether the process is there; a frozen one is.
    pub fn is_running(&self) -> bool {
        self.process()
            .as_mut()
            .is_some_and(|process| process.ended().is_none())
    }

    /// SIGKILL. When this returns the process is gone and its port refuses. Killing a dead server does nothing.
    pub fn kill(&self) {
        drop(self.process().take());
    }

    /// SIGSTOP. When this returns the process stands still: its sockets take bytes and nothing answers.
    ///
    /// # Panics
    ///
    /// When the server is not running.
    #[track_caller]
    pub fn freeze(&self) {
        let mut process = self.process();
        let process = process.as_mut().expect("the server was killed");
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

    /// Starts it again on the same port, with the same settings, killing it first if it runs. Data that was not saved with
    /// `SAVE` is gone.
    ///
    /// # Panics
    ///
    /// When it does not come up, with what it printed.
    #[track_caller]
    pub fn restart(&self) {
        self.kill();
        self.launch("", false)
            .unwrap_or_else(|error| panic!("{error}"));
    }

    /// Makes this a replica of `other`, now. Its role has changed when this returns; its data come later, see
    /// [`wait_synced`](Self::wait_synced).
    #[track_caller]
    pub fn make_replica_of(&self, other: &RedisServer) {
        self.cli(&[
            "CONFIG",
            "SET",
            "masterauth",
            other.password().unwrap_or(""),
        ]);
        self.cli(&["REPLICAOF", "127.0.0.1", &other.port.to_string()]);
    }

    /// Makes this a master, now.
    #[track_caller]
    pub fn make_master(&self) {
        self.cli(&["REPLICAOF", "NO", "ONE"]);
    }

    /// Waits until this replica has its master's data and follows it.
    #[track_caller]
    pub fn wait_synced(&self) {
        let deadline = Instant::now() + START;
        while !self
            .cli(&["INFO", "replication"])
            .contains("master_link_status:up")
        {
            assert!(
                Instant::now() < deadline,
                "not in sync:\n{}",
                self.log_tail()
            );
            thread::sleep(POLL);
        }
    }

    /// One command on a connection of its own, with the answer as text (see [`Reply`]'s `Display`).
    ///
    /// # Panics
    ///
    /// When the server does not answer within seconds, or with an error. [`try_cli`](Self::try_cli) tells these apart.
    #[track_caller]
    pub fn cli(&self, command: &[&str]) -> String {
        match self.try_cli(command, LOOK) {
            Ok(reply) => reply.to_string(),
            Err(error) => panic!("{command:?} on port {}: {error}", self.port),
        }
    }

    /// One command on a connection of its own, which may take `timeout` with everything.
    pub fn try_cli(&self, command: &[&str], timeout: Duration) -> Result<Reply, CliError> {
        resp::Link::open(self.port, self.password(), timeout)?.call(command)
    }

    /// The lines of `CLIENT LIST`: who is connected, without this look itself and without replication.
    ///
    /// # Panics
    ///
    /// When the server does not answer.
    #[track_caller]
    pub fn clients(&self) -> Vec<String> {
        let list = || {
            let mut link = resp::Link::open(self.port, self.password(), LOOK)?;
            let own = format!(" addr={} ", link.address()?);
            let reply = link.call(&["CLIENT", "LIST"])?.to_string();
            let other = |line: &&str| {
                !(line.contains(&own) || line.contains(" flags=S ") || line.contains(" flags=M "))
            };
            Ok::<_, CliError>(reply.lines().filter(other).map(str::to_owned).collect())
        };
        list().unwrap_or_else(|error| panic!("CLIENT LIST on port {}: {error}", self.port))
    }

    /// The end of what the server has printed since its last start.
    pub fn log_tail(&self) -> String {
        let log = fs::read_to_string(self.log_file()).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// Its folder: the configuration, the log, the dump.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn log_file(&self) -> PathBuf {
        self.folder.path().join("server.log")
    }

    fn password(&self) -> Option<&str> {
        self.settings.password.as_deref()
    }

    #[track_caller]
    fn signal(&self, signal: Signal) {
        let mut process = self.process();
        let process = process.as_mut().expect("the server was killed");
        process.signal(signal).expect("the server is running");
    }

    /// A test that panicked while it held this must still be able to kill the server.
    fn process(&self) -> MutexGuard<'_, Option<Process>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
