//! A master with its replica, and three sentinels that watch over them.
//!
//! The sentinels are quick: they take a server for dead after half a second. Each keeps its own file, which it rewrites.
//!
//! Never to come in: who the sentinels call master, said from memory. They are asked.

use std::fmt::Write;
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use super::resp::{CliError, Link, Reply};
use super::{LOOK, POLL, RedisBuilder, RedisServer, START};
use crate::server::folder::Folder;
use crate::server::process::Process;
use crate::server::{find, ports};

/// What the sentinels call the master, whichever server it is.
const NAME: &str = "mymaster";
const COUNT: usize = 3;

/// Two servers, the first of which is the master at first, and three sentinels. Dropped, all of them are killed.
#[derive(Debug)]
pub struct Sentinels {
    watchers: Vec<Watcher>,
    /// The servers: at first the master, then its replica.
    pub servers: [RedisServer; 2],
    password: Option<String>,
}

#[derive(Debug)]
struct Watcher {
    process: Mutex<Option<Process>>,
    port: u16,
    _folder: Folder,
}

impl Sentinels {
    /// Everything up, and every sentinel knowing the replica and the other sentinels.
    ///
    /// # Panics
    ///
    /// When one cannot be started, or when they do not find each other.
    #[track_caller]
    pub fn start() -> Self {
        Self::with(RedisServer::builder(), None)
    }

    /// The same with servers of these settings, and with a password that the sentinels want.
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    #[track_caller]
    pub fn with(settings: RedisBuilder, password: Option<&str>) -> Self {
        // For the replica that a master becomes later.
        let master = match settings.password.clone() {
            Some(own) => settings.clone().config("masterauth", &own),
            None => settings.clone(),
        }
        .start();
        let replica = settings.replica_of(&master).start();
        replica.wait_synced();
        let watchers = (0..COUNT).map(|_| watcher(&master, password)).collect();
        let this = Self {
            watchers,
            servers: [master, replica],
            password: password.map(str::to_owned),
        };
        let known = [
            format!("num-slaves\n{}", 1),
            format!("num-other-sentinels\n{}", COUNT - 1),
        ];
        for watcher in &this.watchers {
            this.wait("the sentinels know each other", || {
                let told = this.ask(watcher, &["SENTINEL", "MASTER", NAME]);
                let told = told.map(|told| told.to_string());
                told.is_ok_and(|told| known.iter().all(|fact| told.contains(fact)))
            });
        }
        this
    }

    /// What the master is called.
    pub fn name(&self) -> &'static str {
        NAME
    }

    /// `redis://127.0.0.1:port` of each sentinel, without credentials.
    pub fn urls(&self) -> Vec<String> {
        let url = |watcher: &Watcher| format!("redis://127.0.0.1:{}", watcher.port);
        self.watchers.iter().map(url).collect()
    }

    /// Which of [`servers`](Self::servers) a sentinel calls the master.
    ///
    /// # Panics
    ///
    /// When no sentinel answers.
    #[track_caller]
    pub fn master(&self) -> usize {
        let question = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME];
        let told = self
            .watchers
            .iter()
            .find_map(|watcher| self.ask(watcher, &question).ok());
        let told = told.expect("a sentinel answers").to_string();
        let port = told.lines().nth(1).map(str::to_owned);
        let found = self
            .servers
            .iter()
            .position(|server| Some(server.port().to_string()) == port);
        found.unwrap_or_else(|| panic!("a sentinel calls another server the master: {told}"))
    }

    /// Makes the sentinels move the master in good order, now. It has not moved yet when this returns.
    ///
    /// # Panics
    ///
    /// When no sentinel does it.
    #[track_caller]
    pub fn failover(&self) {
        self.ask(&self.watchers[0], &["SENTINEL", "FAILOVER", NAME])
            .expect("a sentinel takes the command");
    }

    /// SIGKILL for all sentinels; the servers go on.
    pub fn kill_sentinels(&self) {
        for watcher in &self.watchers {
            drop(watcher.process().take());
        }
    }

    /// Waits until another server than this one of [`servers`](Self::servers) is called the master.
    ///
    /// # Panics
    ///
    /// When that does not happen.
    #[track_caller]
    pub fn wait_moved_from(&self, old: usize) {
        self.wait("another master", || self.master() != old);
    }

    /// Connections to the sentinels, without their own among each other and without this look.
    pub fn clients(&self) -> usize {
        let count = |watcher: &Watcher| {
            let list = self.ask(watcher, &["CLIENT", "LIST"])?.to_string();
            // Sentinels name their own, and this look is the one that asks.
            let other =
                |line: &&str| !line.contains(" name=sentinel-") && !line.contains(" cmd=client");
            Ok::<_, CliError>(list.lines().filter(other).count())
        };
        self.watchers
            .iter()
            .filter_map(|watcher| count(watcher).ok())
            .sum()
    }

    fn ask(&self, watcher: &Watcher, command: &[&str]) -> Result<Reply, CliError> {
        Link::open(watcher.port, self.password.as_deref(), LOOK)?.call(command)
    }

    #[track_caller]
    fn wait(&self, what: &str, done: impl Fn() -> bool) {
        let deadline = Instant::now() + START;
        while !done() {
            assert!(Instant::now() < deadline, "not in time: {what}");
            thread::sleep(POLL * 5);
        }
    }
}

impl Watcher {
    fn process(&self) -> MutexGuard<'_, Option<Process>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[track_caller]
fn watcher(master: &RedisServer, password: Option<&str>) -> Watcher {
    let program = find("redis-server").unwrap_or_else(|error| panic!("{error}"));
    let folder = Folder::new("sentinel").expect("a folder for a sentinel");
    let port = ports::free().expect("a free port");
    let mut file = format!(
        "bind 127.0.0.1\nport {port}\ndaemonize no\ndir \"{}\"\n",
        folder.path().display()
    );
    let _ = writeln!(
        file,
        "sentinel monitor {NAME} 127.0.0.1 {} 2",
        master.port()
    );
    let _ = writeln!(file, "sentinel down-after-milliseconds {NAME} 500");
    let _ = writeln!(file, "sentinel failover-timeout {NAME} 3000");
    if let Some(own) = master.password() {
        let _ = writeln!(file, "sentinel auth-pass {NAME} {own}");
    }
    if let Some(password) = password {
        let _ = writeln!(
            file,
            "requirepass {password}\nsentinel sentinel-pass {password}"
        );
    }
    let config = folder.path().join("sentinel.conf");
    fs::write(&config, file).expect("a file for a sentinel");
    let log = folder.path().join("server.log");
    let arguments = vec![config.into(), "--sentinel".into()];
    let mut process = Process::start(&program, arguments, &log).expect("a sentinel starts");
    let wanted = format!("process_id:{}", process.pid());
    let deadline = Instant::now() + START;
    loop {
        let asked = Link::open(port, password, LOOK).and_then(|mut link| link.call(&["INFO"]));
        if asked.is_ok_and(|info| info.to_string().lines().any(|line| line == wanted)) {
            break;
        }
        let printed = || fs::read_to_string(&log).unwrap_or_default();
        assert!(
            process.ended().is_none(),
            "a sentinel ended at once:\n{}",
            printed()
        );
        assert!(
            Instant::now() < deadline,
            "a sentinel does not answer:\n{}",
            printed()
        );
        thread::sleep(POLL);
    }
    Watcher {
        process: Mutex::new(Some(process)),
        port,
        _folder: folder,
    }
}
