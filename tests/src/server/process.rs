//! A child process that never outlives its test.
//!
//! Three ways a test ends, three answers:
//! - it returns or panics: the drop of [`Process`] kills the child and reaps it. SIGKILL, since that also ends a child
//!   that a test has stopped;
//! - the whole test process is killed, so that no drop runs: the kernel kills the child, by its parent-death signal.
//!   Setting it from Rust takes unsafe code between fork and exec, which this workspace forbids; util-linux's `setpriv`
//!   (on every Debian, essential) sets it and then becomes the server;
//! - the test process dies after the fork and before `setpriv` has set the signal: the small shell between the two sees
//!   that its parent is no longer the one that it was told, and does not start the server.
//!
//! The parent of which that signal speaks is the thread that forked, not the process. A test's thread ends with the test,
//! a runtime's blocking thread after ten idle seconds; so one thread that never ends starts all children.
//!
//! Never to come in: a signal by name or group. A pid is only signalled while the child is not reaped, so it can belong
//! to nobody else.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A running server. Dropped, it is killed and reaped.
#[derive(Debug)]
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts `program`; what it prints goes to the file `log`, which is emptied first.
    pub fn start(program: &Path, args: Vec<OsString>, log: &Path) -> io::Result<Self> {
        let output = File::create(log)?;
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "--", "sh", "-c"])
            .arg(r#"[ "$PPID" = "$0" ] && exec "$@""#)
            .arg(std::process::id().to_string())
            .arg(program)
            .args(args)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        let child = spawn(command).map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("cannot run setpriv (util-linux): {error}"),
            )
        })?;
        Ok(Self { child })
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Sends a signal, unless the child has ended.
    pub fn signal(&mut self, signal: Signal) -> io::Result<()> {
        if self.ended().is_some() {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "the server has ended",
            ));
        }
        // Not reaped, hence still ours, even if it ended this very moment.
        let pid = i32::try_from(self.pid()).map_err(io::Error::other)?;
        Ok(kill(Pid::from_raw(pid), signal)?)
    }

    /// SIGSTOP, and waits until it stands still, at most five seconds.
    pub fn freeze(&mut self) -> io::Result<()> {
        self.signal(Signal::SIGSTOP)?;
        let deadline = Instant::now() + Duration::from_secs(5);
        // The signal is on its way when kill(2) returns; the state tells when it is there.
        while !self.is_frozen() {
            if Instant::now() > deadline {
                return Err(io::Error::other("SIGSTOP did not stop the server"));
            }
            thread::yield_now();
        }
        Ok(())
    }

    /// Whether it stands still.
    pub fn is_frozen(&self) -> bool {
        // The state follows the name in parentheses.
        fs::read_to_string(format!("/proc/{}/stat", self.pid())).is_ok_and(|s| s.contains(") T "))
    }

    /// SIGKILL, and waits until it is gone: afterwards its sockets are closed.
    pub fn kill(&mut self) {
        // Both fail only when the child was reaped before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs `command` on the thread that lives as long as the process does.
fn spawn(command: Command) -> io::Result<Child> {
    type Order = (Command, Sender<io::Result<Child>>);
    static SPAWNER: OnceLock<Sender<Order>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (orders, inbox) = channel::<Order>();
        thread::spawn(move || {
            // The static sender is never dropped, so this never ends.
            for (mut command, answer) in inbox {
                let _ = answer.send(command.spawn());
            }
        });
        orders
    });
    let (answer, child) = channel();
    let gone = || io::Error::other("the thread that starts servers is gone");
    spawner.send((command, answer)).map_err(|_| gone())?;
    child.recv().map_err(|_| gone())?
}

/// Why a server did not come up: what went wrong, and the end of what it printed.
#[derive(Debug)]
pub struct StartError {
    what: String,
    log: String,
}

impl StartError {
    pub(super) fn new(what: impl Into<String>, log: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            log: log.into(),
        }
    }

    /// Whether the server found its port taken, which another port cures.
    pub(super) fn port_taken(&self) -> bool {
        let log = self.log.to_lowercase();
        log.contains("address already in use")
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if !self.log.is_empty() {
            write!(f, "; its last words:\n{}", self.log)?;
        }
        Ok(())
    }
}

impl std::error::Error for StartError {}
