//! One redis-server on a free port of the loopback, ended with its value.

use std::net::TcpListener;
use std::path::PathBuf;
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

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(&[]).await
    }

    pub(crate) async fn with(arguments: &[&str]) -> Self {
        let server = Self::spawn(arguments);
        let deadline = Instant::now() + Duration::from_secs(10);
        while tokio::net::TcpStream::connect(("127.0.0.1", server.port))
            .await
            .is_err()
        {
            assert!(Instant::now() < deadline, "redis-server does not come up");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        server
    }

    fn spawn(arguments: &[&str]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let directory =
            std::env::temp_dir().join(format!("backend-redis-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .unwrap()
            .port();
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--enable-debug-command", "yes"])
            .args(["--unixsocket", directory.join("socket").to_str().unwrap()])
            .arg("--dir")
            .arg(&directory)
            .args(arguments)
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is needed: apt-get install redis-server");
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
        let client = redis::Client::open(format!("redis://127.0.0.1:{}/{db}", self.port)).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let mut words = line.split(' ');
        let mut command = redis::cmd(words.next().unwrap());
        for word in words {
            command.arg(word);
        }
        command.query_async(&mut connection).await.unwrap()
    }

    /// How many clients are connected, the asking one not counted.
    pub(crate) async fn clients(&self) -> usize {
        let list: String = self.ask("CLIENT LIST").await;
        list.lines().count() - 1
    }

    /// Turns it into a replica of nothing reachable, as an operator's mistake or a fail-over does.
    pub(crate) async fn demote(&self) {
        let () = self.ask("REPLICAOF 127.0.0.1 1").await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
