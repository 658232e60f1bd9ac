//! One redis-server on a free port of the loopback, ended with its value.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use backend_redis::Settings;
use redis::FromRedisValue;

pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    pub(crate) directory: PathBuf,
}

/// The server on PATH, or else the one that `tests/servers` unpacked.
fn program() -> PathBuf {
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/servers/redis-server");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed =
        std::env::split_paths(&path).any(|folder| folder.join("redis-server").is_file());
    if installed || !unpacked.is_file() {
        PathBuf::from("redis-server")
    } else {
        unpacked
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(&[]).await
    }

    pub(crate) async fn with(arguments: &[&str]) -> Self {
        let deadline = Instant::now() + Duration::from_secs(10);
        let mut server = Self::spawn(arguments);
        // A port that was free a moment ago may be another test's by now: then the server ends at once. It opens its Unix
        // socket after its port, so who answers there is ours.
        while tokio::net::UnixStream::connect(server.directory.join("socket"))
            .await
            .is_err()
        {
            assert!(Instant::now() < deadline, "redis-server does not come up");
            tokio::time::sleep(Duration::from_millis(5)).await;
            if server.child.try_wait().unwrap().is_some() {
                server = Self::spawn(arguments);
            }
        }
        server
    }

    fn spawn(arguments: &[&str]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let directory =
            std::env::temp_dir().join(format!("backend-redis-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let port = free_port();
        let child = Command::new(program())
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--enable-debug-command", "yes"])
            .args(["--unixsocket", directory.join("socket").to_str().unwrap()])
            .arg("--dir")
            .arg(&directory)
            .args(arguments)
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is needed: `tests/servers` unpacks it, or apt-get install redis-server");
        Self {
            child,
            port,
            directory,
        }
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings::new(format!("redis://127.0.0.1:{}", self.port))
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn freeze(&self) {
        self.signal("-STOP");
    }

    pub(crate) fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let done = Command::new("sh")
            .args(["-c", &format!("kill {signal} {}", self.child.id())])
            .status()
            .unwrap();
        assert!(done.success());
    }

    /// Asks on a connection of its own. `line` is split at spaces.
    pub(crate) async fn ask<T: FromRedisValue>(&self, line: &str) -> T {
        self.ask_at(0, line).await
    }

    pub(crate) async fn ask_at<T: FromRedisValue>(&self, db: u8, line: &str) -> T {
        self.ask_by(&format!("redis://127.0.0.1:{}/{db}", self.port), line)
            .await
    }

    /// The same where the server knows no HELLO.
    pub(crate) async fn ask_old<T: FromRedisValue>(&self, line: &str) -> T {
        let url = format!("redis://127.0.0.1:{}?protocol=resp2", self.port);
        self.ask_by(&url, line).await
    }

    async fn ask_by<T: FromRedisValue>(&self, url: &str, line: &str) -> T {
        let client = redis::Client::open(url).unwrap();
        let mut connection = client
            .get_multiplexed_async_connection_with_config(
                &redis::AsyncConnectionConfig::new()
                    .set_response_timeout(Some(Duration::from_secs(10))),
            )
            .await
            .unwrap();
        let mut words = line.split(' ');
        let mut command = redis::cmd(words.next().unwrap());
        for word in words {
            command.arg(word);
        }
        command.query_async(&mut connection).await.unwrap()
    }

    /// Waits until so many clients are connected, the asking one not counted. At once would be too strict: a server that
    /// another test spawns meanwhile holds copies of our sockets until its exec.
    pub(crate) async fn clients_become(&self, expected: usize) {
        let deadline = Instant::now() + Duration::from_secs(2);
        loop {
            let list: String = self.ask("CLIENT LIST").await;
            if list.lines().count() - 1 == expected {
                return;
            }
            assert!(Instant::now() < deadline, "not {expected}: {list}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Turns it into a replica of nothing reachable, as an operator's mistake or a fail-over does.
    pub(crate) async fn demote(&self) {
        let () = self.ask("REPLICAOF 127.0.0.1 1").await;
    }
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .unwrap()
        .port()
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
