//! The harness keeps its promises about nats-servers and their clusters: what it starts answers, what it hurts is hurt,
//! and nothing that it started is left behind.
//!
//! Over the text protocol on a plain socket: what a client library does when a server is hurt is the question of other
//! tests, not their ground.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use failover_testkit::server::{Certificates, Flavour, NatsCluster, NatsServer};

const SHORT: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(10);

fn alive(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[track_caller]
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// One connection that speaks the protocol line by line.
struct Client {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Client {
    /// Connects, and logs in with these members of CONNECT's JSON. What follows says whether the server lets it in.
    /// Newer servers follow up with another INFO, about this client.
    fn open(server: &NatsServer, credentials: &str) -> Self {
        let stream = TcpStream::connect(server.address()).unwrap();
        let mut client = Self {
            stream,
            received: Vec::new(),
        };
        assert!(client.line().starts_with("INFO "));
        client.say(&format!(
            "CONNECT {{\"verbose\":false,\"protocol\":1{credentials}}}"
        ));
        client
    }

    fn connect(server: &NatsServer) -> Self {
        Self::log_in(server, "")
    }

    /// Connects, is let in, and has heard all that the server says about that.
    fn log_in(server: &NatsServer, credentials: &str) -> Self {
        let mut client = Self::open(server, credentials);
        client.ping();
        client.ping();
        client
    }

    fn say(&mut self, line: &str) {
        self.stream
            .write_all(format!("{line}\r\n").as_bytes())
            .unwrap();
    }

    /// Subscribes; the server has it when this returns.
    fn subscribe(&mut self, subject: &str) {
        self.say(&format!("SUB {subject} 1"));
        self.ping();
    }

    fn publish(&mut self, subject: &str, payload: &str) {
        self.say(&format!("PUB {subject} {}\r\n{payload}", payload.len()));
    }

    /// A round trip, past whatever the server says of its own accord meanwhile.
    #[track_caller]
    fn ping(&mut self) {
        self.say("PING");
        self.wait_for("PONG");
    }

    /// The first line that begins so.
    #[track_caller]
    fn wait_for(&mut self, start: &str) -> String {
        loop {
            let line = self.line();
            if line.starts_with(start) {
                return line;
            }
            assert!(!line.starts_with("-ERR"), "{line}");
        }
    }

    #[track_caller]
    fn line(&mut self) -> String {
        self.try_line(LONG).expect("a line").expect("not the end")
    }

    /// The next line; none is the end of the connection.
    fn try_line(&mut self, timeout: Duration) -> std::io::Result<Option<String>> {
        self.stream.set_read_timeout(Some(timeout))?;
        let mut buffer = [0; 4096];
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                return Ok(Some(String::from_utf8(line).unwrap().trim_end().to_owned()));
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return Ok(None),
                Ok(count) => self.received.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// Everything up to the end of the connection.
    fn rest(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.try_line(LONG).unwrap()).collect()
    }
}

#[test]
fn a_server_answers_and_ends_with_its_value() {
    for flavour in [Flavour::Newest, Flavour::V2_9] {
        let server = NatsServer::builder().flavour(flavour).start();
        let (pid, folder) = (server.pid(), server.folder().to_owned());
        let version = match flavour {
            Flavour::Newest => "\"version\":\"2.15.1\"",
            Flavour::V2_9 => "\"version\":\"2.9.10\"",
        };
        assert!(server.info().contains(version), "{}", server.info());
        assert!(server.info().contains(&server.server_id()));
        assert!(
            server
                .info()
                .contains(&format!("\"server_name\":\"{}\"", server.name()))
        );
        assert_eq!(server.url(), format!("nats://{}", server.address()));
        assert_eq!(server.connections(), 0);
        let mut client = Client::connect(&server);
        client.subscribe("a");
        client.publish("a", "hello");
        assert_eq!(client.wait_for("MSG"), "MSG a 1 5");
        assert_eq!(client.line(), "hello");
        assert_eq!(server.connections(), 1);
        drop(server);
        assert!(!alive(pid));
        assert!(!folder.exists());
    }
}

#[test]
fn a_panicking_test_leaves_no_node() {
    let mut pids = Vec::new();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let cluster = NatsCluster::start(2);
        pids = cluster.nodes().iter().map(|node| node.pid()).collect();
        cluster[1].freeze(); // a stopped process must go as well
        panic!("on purpose");
    }));
    assert!(panicked.is_err());
    assert!(pids.len() == 2 && !pids.into_iter().any(alive));
}

#[test]
fn a_cluster_forwards_and_tells_its_nodes() {
    for flavour in [Flavour::Newest, Flavour::V2_9] {
        let cluster = NatsServer::builder().flavour(flavour).start_cluster(3);
        for node in cluster.nodes() {
            let told =
                |other: &NatsServer| node.info().contains(&format!("\"{}\"", other.address()));
            assert!(
                cluster.nodes().iter().all(|other| told(other)),
                "{}",
                node.info()
            );
        }
        let routes = match flavour {
            Flavour::Newest => "\"num_routes\": 8,", // a pool for each other node
            Flavour::V2_9 => "\"num_routes\": 2,",
        };
        let all = |node: &NatsServer| node.monitor("/routez").contains(routes);
        assert!(cluster.nodes().iter().all(|node| all(node)));
        let mut receiver = Client::connect(&cluster[2]);
        receiver.subscribe("a.b");
        assert_eq!(cluster[2].subscriptions("a.b"), 1);
        assert_eq!(cluster[0].subscriptions("a.b"), 0);
        eventually("interest", || cluster[0].has_interest("a.b"));
        assert!(!cluster[0].has_interest("a.c"));
        Client::connect(&cluster[0]).publish("a.b", "over");
        assert_eq!(receiver.wait_for("MSG"), "MSG a.b 1 4");
        drop(receiver);
        eventually("no interest", || !cluster[0].has_interest("a.b"));
    }
}

#[test]
fn nodes_come_and_go() {
    let mut cluster = NatsCluster::start(2);
    let mut watcher = Client::connect(&cluster[0]);
    let third = cluster.add_node();
    assert_eq!(third.name(), "n2");
    assert!(watcher.wait_for("INFO ").contains(&third.address()));
    let address = cluster[1].address();
    cluster.remove(1);
    assert_eq!(cluster.nodes().len(), 2);
    assert_eq!(cluster[1].name(), "n2");
    assert!(!cluster[0].info().contains(&address));
    assert_eq!(cluster.add_node().name(), "n3");
    assert_eq!(cluster.urls().len(), 3);
}

#[test]
fn nodes_tell_nothing_where_they_must_not() {
    let cluster = NatsServer::builder().no_routes_advertise().start_cluster(2);
    assert!(!cluster[0].info().contains(&cluster[1].address()));
    // And the harness waits for all their routes without that help.
    let routes = cluster[0].monitor("/routez");
    assert!(routes.contains("\"num_routes\": 4,"), "{routes}");
    let advertised = NatsServer::builder()
        .client_advertise("127.0.0.1:9")
        .start();
    assert!(
        !advertised
            .info()
            .contains(&format!("\"{}\"", advertised.address()))
    );
    assert!(
        advertised.info().contains("\"127.0.0.1:9\"") || advertised.info().contains("\"port\":9")
    );
}

#[test]
fn a_killed_node_refuses_and_comes_back_on_its_port() {
    let cluster = NatsCluster::start(3);
    let node = &cluster[1];
    let (address, id) = (node.address(), node.server_id());
    let mut client = Client::connect(node);
    node.kill();
    node.kill(); // does nothing
    assert!(!node.is_running());
    assert!(client.rest().is_empty());
    assert!(TcpStream::connect(&address).is_err());
    cluster.wait_formed();
    assert!(!cluster[0].info().contains(&address));
    node.restart();
    assert_eq!(node.address(), address);
    assert_ne!(node.server_id(), id);
    cluster.wait_formed();
    assert!(cluster[0].info().contains(&address));
    node.restart(); // also from alive
    Client::connect(node);
}

#[test]
fn a_frozen_node_is_silent_until_thawed() {
    let cluster = NatsCluster::start(3);
    let node = &cluster[0];
    let mut client = Client::connect(node);
    node.freeze();
    assert!(node.is_running());
    client.say("PING");
    let silent = client.try_line(SHORT).unwrap_err();
    assert_eq!(silent.kind(), ErrorKind::WouldBlock);
    // Only the others are asked; one that is new cannot reach the frozen one.
    cluster[1].restart();
    cluster.wait_formed();
    node.thaw();
    client.wait_for("PONG");
    cluster.wait_formed();
    assert!(cluster[1].monitor("/routez").contains("\"num_routes\": 8,"));
    node.freeze();
    node.restart();
    Client::connect(node);
}

#[test]
fn a_lame_duck_says_so_and_goes() {
    for flavour in [Flavour::Newest, Flavour::V2_9] {
        let cluster = NatsServer::builder().flavour(flavour).start_cluster(2);
        let node = &cluster[0];
        let mut client = Client::connect(node);
        let start = Instant::now();
        node.lame_duck();
        let notice = client.wait_for("INFO ");
        assert!(notice.contains("\"ldm\":true"), "{notice}");
        assert!(!notice.contains(&node.address()), "{notice}");
        assert!(notice.contains(&cluster[1].address()), "{notice}");
        client.ping(); // served until it is sent away
        assert!(TcpStream::connect(node.address()).is_err());
        client.rest();
        assert!(start.elapsed() >= Duration::from_millis(100));
        eventually("the end of the process", || !node.is_running());
        node.restart();
        cluster.wait_formed();
    }
}

#[test]
fn jetstream_keeps_its_messages_in_the_servers_folder() {
    assert!(!NatsServer::start().info().contains("\"jetstream\":true"));
    let server = NatsServer::builder()
        .jetstream()
        .system_user("system", "pw") // an account of its own, beside which JetStream must still be there for all
        .start();
    assert!(server.info().contains("\"jetstream\":true"));
    let mut client = Client::connect(&server);
    client.subscribe("inbox");
    let stream = r#"{"name":"S","subjects":["s"]}"#;
    client.say(&format!(
        "PUB $JS.API.STREAM.CREATE.S inbox {}\r\n{stream}",
        stream.len()
    ));
    client.wait_for("MSG inbox");
    client.say("PUB s inbox 1\r\n1");
    client.wait_for("MSG inbox");
    assert!(client.line().contains("\"seq\":1"));
    assert!(server.folder().join("jetstream").exists());
    server.restart();
    assert!(
        server.monitor("/jsz").contains("\"messages\": 1"),
        "{}",
        server.monitor("/jsz")
    );
}

#[test]
fn a_cluster_with_jetstream_serves_when_it_has_started() {
    for flavour in [Flavour::Newest, Flavour::V2_9] {
        let cluster = NatsServer::builder()
            .flavour(flavour)
            .jetstream()
            .start_cluster(3);
        let mut client = Client::connect(&cluster[1]);
        client.subscribe("inbox");
        let stream = r#"{"name":"S","subjects":["s"],"num_replicas":3}"#;
        client.say(&format!(
            "PUB $JS.API.STREAM.CREATE.S inbox {}\r\n{stream}",
            stream.len()
        ));
        client.wait_for("MSG inbox");
        let answer = client.line();
        assert!(
            answer.contains("\"num_replicas\":3") && !answer.contains("\"error\""),
            "{answer}"
        );
    }
}

#[test]
fn credentials_are_asked_for() {
    let server = NatsServer::builder().token("se \"cret#").start();
    let refused = Client::open(&server, "").rest().join("\n");
    assert!(
        refused.contains("-ERR 'Authorization Violation'"),
        "{refused}"
    );
    Client::open(&server, r#","auth_token":"se \"cret#""#).ping();

    let server = NatsServer::builder()
        .user("app", "pw", r#"publish: { deny: "secret.>" }"#)
        .system_user("system", "pw")
        .start();
    let wrong = Client::open(&server, r#","user":"app","pass":"guess""#)
        .rest()
        .join("\n");
    assert!(wrong.contains("-ERR 'Authorization Violation'"), "{wrong}");
    let mut client = Client::log_in(&server, r#","user":"app","pass":"pw""#);
    client.publish("secret.a", "x");
    let denied = client.line();
    assert!(
        denied.contains("Permissions Violation for Publish to \"secret.a\""),
        "{denied}"
    );
    let mut system = Client::open(&server, r#","user":"system","pass":"pw""#);
    system.subscribe("inbox");
    system.say("PUB $SYS.REQ.SERVER.PING inbox 0\r\n");
    system.wait_for("MSG inbox");

    // Signing the nonce is a client's business.
    let key = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";
    let server = NatsServer::builder().nkey(key, "").start();
    assert!(server.info().contains("\"nonce\":"), "{}", server.info());
}

#[test]
fn without_its_system_user_a_server_lets_everybody_in() {
    let server = NatsServer::builder().system_user("system", "pw").start();
    Client::connect(&server);
}

#[test]
fn a_reload_cuts_off_who_is_revoked() {
    for flavour in [Flavour::Newest, Flavour::V2_9] {
        let server = NatsServer::builder()
            .flavour(flavour)
            .user("stays", "pw", "")
            .user("goes", "pw", "")
            .start();
        let (stays, goes) = (
            r#","user":"stays","pass":"pw""#,
            r#","user":"goes","pass":"pw""#,
        );
        let mut kept = Client::log_in(&server, stays);
        let mut lost = Client::log_in(&server, goes);
        server.reload(); // changes nothing
        kept.ping();
        lost.ping();
        server.reload_with(|settings| settings.user("goes", "other", ""));
        let last = lost.rest().join("\n");
        assert!(last.contains("-ERR 'Authorization Violation'"), "{last}");
        let mut lost = Client::log_in(&server, r#","user":"goes","pass":"other""#);
        server.reload_with(|settings| settings.revoke("goes"));
        assert_eq!(lost.rest(), [""; 0]); // without a word
        kept.ping();
        server.restart();
        let still = Client::open(&server, goes).rest().join("\n");
        assert!(still.contains("-ERR"), "{still}");
        server.reload_with(|settings| settings.user("goes", "pw", ""));
        Client::open(&server, goes).ping();
    }
}

#[test]
fn tls_is_spoken_with_certificates_of_ones_own() {
    let certificates = Certificates::new();
    let folder = certificates.ca_file().parent().unwrap().to_owned();
    let server = NatsServer::builder().tls(&certificates).start();
    assert!(server.info().contains("\"tls_required\":true"));
    assert!(server.url().starts_with("tls://"));
    let strict = NatsServer::builder().mutual_tls(&certificates).start();
    assert!(strict.info().contains("\"tls_verify\":true"));
    let verify = |file: &Path| {
        let mut openssl = std::process::Command::new("openssl");
        let verify = openssl.args(["verify", "-verify_ip", "127.0.0.1", "-CAfile"]);
        verify
            .arg(certificates.ca_file())
            .arg(file)
            .output()
            .unwrap()
            .status
            .success()
    };
    assert!(verify(&certificates.server_file()) && verify(&certificates.client_file()));
    drop(certificates);
    strict.restart(); // the server keeps them
    drop((server, strict));
    assert!(!folder.exists());
}

#[test]
fn settings_reach_the_server() {
    let server = NatsServer::builder()
        .max_payload(1000)
        .write_deadline(Duration::from_millis(1500))
        .lame_duck_duration(Duration::from_secs(31))
        .lame_duck_grace_period(Duration::from_millis(50))
        .config("ping_interval", "\"2s\"")
        .start();
    assert!(server.info().contains("\"max_payload\":1000"));
    let all = server.monitor("/varz");
    assert!(all.contains("\"write_deadline\": 1500000000"), "{all}");
    assert!(all.contains("\"ping_interval\": 2000000000"), "{all}");
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let first = NatsServer::start();
    let taken = NatsServer::builder().port(first.port()).try_start();
    let text = taken.unwrap_err().to_string();
    assert!(text.contains("ended at once"), "{text}");
    assert!(text.contains("address already in use"), "{text}");
    let typo = NatsServer::builder()
        .config("no_such_setting", "1")
        .try_start();
    let text = typo.unwrap_err().to_string();
    assert!(text.contains("no_such_setting"), "{text}");
    let node = NatsServer::builder()
        .config("no_such_setting", "1")
        .try_start_cluster(2);
    let text = node.unwrap_err().to_string();
    assert!(text.contains("no_such_setting"), "{text}");
}
