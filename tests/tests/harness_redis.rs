//! The harness keeps its promises about redis-servers: what it starts answers, what it hurts is hurt, and nothing that it
//! started is left behind. Everything else that is tested on real servers stands on these.

use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use failover_testkit::server::{CliError, RedisServer, Reply};

const SHORT: Duration = Duration::from_millis(200);

fn alive(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// An orphan is killed by the kernel and reaped by whoever adopts it: that takes a moment.
fn wait_gone(pid: u32) {
    let deadline = Instant::now() + Duration::from_secs(10);
    // A zombie that its adopter has not reaped yet no longer runs.
    let runs =
        || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|s| !s.contains(") Z "));
    while runs() {
        assert!(Instant::now() < deadline, "process {pid} is still there");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_server_answers_keeps_data_and_ends_with_its_value() {
    let server = RedisServer::start();
    let (pid, folder) = (server.pid(), server.folder().to_owned());
    assert_eq!(server.cli(&["SET", "a", "1"]), "OK");
    assert_eq!(server.cli(&["GET", "a"]), "1");
    assert_eq!(server.try_cli(&["GET", "b"], SHORT).unwrap(), Reply::Nil);
    assert_eq!(server.cli(&["MGET", "a", "a"]), "1\n1");
    assert!(server.url().ends_with(&server.port().to_string()));
    drop(server);
    assert!(!alive(pid));
    assert!(!folder.exists());
}

#[test]
fn a_panicking_test_leaves_no_server() {
    let mut pid = 0;
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let server = RedisServer::start();
        pid = server.pid();
        server.freeze(); // a stopped process must go as well
        panic!("on purpose");
    }));
    assert!(panicked.is_err());
    assert!(pid != 0 && !alive(pid));
}

/// The test runs itself again as a process of its own, which starts a server, says its pid, and is then killed.
#[test]
fn a_killed_test_process_leaves_no_server() {
    const ROLE: &str = "FAILOVER_TESTKIT_HOLD_A_SERVER";
    if std::env::var_os(ROLE).is_some() {
        let server = RedisServer::start();
        println!("\nserver {} {}", server.pid(), server.folder().display());
        thread::sleep(Duration::from_secs(60));
        return;
    }
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "a_killed_test_process_leaves_no_server",
            "--nocapture",
        ])
        .env(ROLE, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    let said = lines.map_while(Result::ok).find_map(|line| {
        let (pid, folder) = line.strip_prefix("server ")?.split_once(' ')?;
        Some((pid.parse().ok()?, folder.to_owned()))
    });
    let (pid, folder): (u32, String) = said.expect("the holder starts a server");
    assert!(alive(pid));
    holder.kill().unwrap();
    holder.wait().unwrap();
    wait_gone(pid);
    // A folder is all that a killed process leaves.
    std::fs::remove_dir_all(folder).unwrap();
}

/// The parent-death signal speaks of a thread; a server must outlive the one that asked for it.
#[test]
fn a_server_outlives_the_thread_that_started_it() {
    let server = thread::spawn(RedisServer::start).join().unwrap();
    thread::sleep(Duration::from_millis(50));
    assert_eq!(server.cli(&["PING"]), "PONG");
}

#[test]
fn a_killed_server_refuses_and_comes_back_on_its_port() {
    let server = RedisServer::start();
    let port = server.port();
    server.cli(&["SET", "a", "1"]);
    server.kill();
    server.kill(); // does nothing
    assert!(!server.is_running());
    assert!(matches!(
        server.try_cli(&["PING"], SHORT),
        Err(CliError::Io(_))
    ));
    server.restart();
    assert_eq!(server.port(), port);
    assert_eq!(server.cli(&["EXISTS", "a"]), "0");
    server.cli(&["SET", "a", "2"]);
    server.cli(&["SAVE"]);
    server.restart(); // also from alive
    assert_eq!(server.cli(&["GET", "a"]), "2");
}

#[test]
fn a_frozen_server_is_silent_until_thawed() {
    let server = RedisServer::start();
    server.freeze();
    assert!(server.is_running());
    assert!(matches!(
        server.try_cli(&["PING"], SHORT),
        Err(CliError::Timeout)
    ));
    server.thaw();
    assert_eq!(server.cli(&["PING"]), "PONG");
    server.freeze();
    server.restart();
    assert_eq!(server.cli(&["PING"]), "PONG");
}

#[test]
fn passwords_and_users_are_asked_for() {
    let server = RedisServer::builder()
        .password("se \"cret#")
        .user("app", "of its own", "~* +@all -flushall")
        .start();
    assert_eq!(server.cli(&["PING"]), "PONG");
    assert_eq!(server.cli(&["AUTH", "app", "of its own"]), "OK");
    let wrong = server.try_cli(&["AUTH", "app", "guess"], SHORT);
    assert!(matches!(wrong, Err(CliError::Server(text)) if text.starts_with("WRONGPASS")));
}

#[test]
fn roles_change_at_run_time() {
    let master = RedisServer::builder().password("pw").start();
    master.cli(&["SET", "a", "1"]);
    let replica = RedisServer::builder().replica_of(&master).start();
    let other = RedisServer::start();
    other.make_replica_of(&master);
    for server in [&replica, &other] {
        server.wait_synced();
        assert!(server.cli(&["ROLE"]).starts_with("slave"));
        assert_eq!(server.cli(&["GET", "a"]), "1");
        let refused = server.try_cli(&["SET", "a", "2"], SHORT);
        assert!(matches!(refused, Err(CliError::Server(text)) if text.starts_with("READONLY")));
    }
    assert!(master.clients().is_empty());
    other.make_master();
    assert!(other.cli(&["ROLE"]).starts_with("master"));
    assert_eq!(other.cli(&["SET", "a", "2"]), "OK");
}

#[test]
fn a_loading_server_says_so_and_then_serves() {
    let server = RedisServer::start();
    server.cli(&["SET", "a", "1"]);
    let start = Instant::now();
    server.restart_loading(Duration::from_millis(600));
    let refused = server.try_cli(&["GET", "a"], SHORT);
    assert!(matches!(refused, Err(CliError::Server(text)) if text.starts_with("LOADING")));
    while server.try_cli(&["GET", "a"], SHORT).is_err() {
        assert!(start.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(5));
    }
    assert!(start.elapsed() >= Duration::from_millis(600));
    assert_eq!(server.cli(&["GET", "a"]), "1");
}

#[test]
fn the_newest_redis_is_handled_like_the_systems() {
    let newest = || RedisServer::builder().newest().password("pw");
    let master = newest().start();
    assert!(
        master
            .cli(&["INFO", "server"])
            .contains("redis_version:8.2.3")
    );
    let replica = newest().replica_of(&master).start();
    replica.wait_synced();
    assert_eq!((master.clients().len(), replica.clients().len()), (0, 0));
    replica.kill();
    assert!(replica.try_cli(&["PING"], SHORT).is_err());
    replica.restart();
    replica.wait_synced();
    let other = newest().start();
    other.restart_loading(Duration::from_millis(300));
    let refused = other.try_cli(&["GET", "a"], SHORT);
    assert!(matches!(refused, Err(CliError::Server(text)) if text.starts_with("LOADING")));
}

#[test]
fn clients_are_seen_from_outside() {
    let server = RedisServer::start();
    assert!(server.clients().is_empty());
    let held = std::net::TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let clients = server.clients();
    assert_eq!(clients.len(), 1, "{clients:?}");
    assert!(clients[0].contains(&format!(" addr={} ", held.local_addr().unwrap())));
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let first = RedisServer::start();
    let taken = RedisServer::builder().port(first.port()).try_start();
    let text = taken.unwrap_err().to_string();
    assert!(text.contains("ended at once"), "{text}");
    assert!(text.contains("Address already in use"), "{text}");
    let typo = RedisServer::builder()
        .config("no-such-directive", "1")
        .try_start();
    let text = typo.unwrap_err().to_string();
    assert!(text.contains("no-such-directive"), "{text}");
}
