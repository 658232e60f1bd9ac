//! The check `lag-aware` against a REST interface that the test plays, by HTTP and by TLS.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use backend_api::{Backend, Error, ErrorKind};
use backend_redis::{Redis, RedisBuilder, Settings};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::proofs::check;
use crate::server::Server;
use crate::stand_in::{Link, StandIn};

type Answers = Arc<dyn Fn(usize, &str) -> (u16, String) + Send + Sync>;

/// A cluster's REST interface. `answer` gets the number of the request and its path.
struct Interface {
    port: u16,
    /// Head of every request.
    asked: Arc<Mutex<Vec<String>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Interface {
    async fn start(
        tls: Option<TlsAcceptor>,
        answer: impl Fn(usize, &str) -> (u16, String) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (log, answer): (_, Answers) = (asked.clone(), Arc::new(answer));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, log, answer) = (tls.clone(), log.clone(), answer.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, log, answer).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, log, answer).await;
                            }
                        }
                    }
                });
            }
        });
        Self { port, asked, task }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The paths asked for, the list of databases as `list`.
    fn paths(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        let paths = asked.iter().map(|head| head.split(' ').nth(1).unwrap());
        paths
            .map(|path| match path {
                "/v1/bdbs?fields=uid,endpoints" => "list".to_owned(),
                path => path.split('?').next().unwrap().to_owned(),
            })
            .collect()
    }
}

impl Drop for Interface {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    log: Arc<Mutex<Vec<String>>>,
    answer: Answers,
) {
    let mut head = Vec::new();
    loop {
        let Ok(byte) = stream.read_u8().await else {
            return;
        };
        head.push(byte);
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        let text = String::from_utf8(std::mem::take(&mut head)).unwrap();
        let path = text.split(' ').nth(1).unwrap().to_owned();
        let number = {
            let mut log = log.lock().unwrap();
            log.push(text);
            log.len() - 1
        };
        let (status, body) = answer(number, &path);
        if status == 0 {
            std::future::pending::<()>().await;
        }
        let location = match status {
            300..400 => "location: /elsewhere\r\n",
            _ => "",
        };
        let length = body.len();
        let text =
            format!("HTTP/1.1 {status} x\r\n{location}content-length: {length}\r\n\r\n{body}");
        stream.write_all(text.as_bytes()).await.unwrap();
    }
}

/// A list in which the database at `port` has this number.
fn list(uid: u64, port: u16) -> String {
    format!(
        "[{{\"uid\": 99, \"endpoints\": [{{\"addr\": [\"127.0.0.1\"], \"port\": 1}}]}},\n\
          {{\"uid\": {uid}, \"endpoints\": [{{\"addr\": [\"127.0.0.1\"], \"port\": {port}}}]}}]"
    )
}

async fn connected(builder: RedisBuilder, settings: Settings) -> (StandIn, Link) {
    let (mut engine, _client) = StandIn::new(builder);
    let link = engine.connect("east", settings).await.unwrap();
    (engine, link)
}

async fn ask<B: Backend<Settings = Settings>>(
    engine: &StandIn<B>,
    link: &Link<B::Connection>,
) -> Result<(), Error> {
    check(engine, link, "lag-aware").await
}

// P160: only 200 is healthy; the number of the database is asked for once.
#[tokio::test]
async fn two_hundred_is_healthy_and_nothing_else() {
    let server = Server::start().await;
    let port = server.port;
    for status in [200, 204, 206, 301, 307, 400, 401, 403] {
        let rest = Interface::start(None, move |_, path| match path.contains("fields") {
            true => (200, list(7, port)),
            false => (status, String::new()),
        })
        .await;
        let settings = server.settings().rest_url(rest.url());
        let (engine, link) = connected(Redis::builder(), settings).await;
        for _ in 0..2 {
            let answer = ask(&engine, &link).await;
            match status {
                200 => answer.unwrap(),
                _ => {
                    let error = answer.unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Unhealthy);
                    assert!(error.message().contains(&status.to_string()), "{error}");
                }
            }
        }
        let availability = "/v1/bdbs/7/availability";
        assert_eq!(
            rest.paths(),
            ["list", availability, availability],
            "{status}"
        );
        let head = rest.asked.lock().unwrap()[1].clone();
        assert!(
            head.contains("?extend_check=lag&availability_lag_tolerance_ms=5000 "),
            "{head}"
        );
        assert!(!head.to_lowercase().contains("authorization"), "{head}");
    }
}

// P160
#[tokio::test]
async fn tolerance_and_the_nodes_own_answer_are_options() {
    let server = Server::start().await;
    let port = server.port;
    let rest = Interface::start(None, move |_, path| match path.contains("fields") {
        true => (200, list(7, port)),
        false => (200, String::new()),
    })
    .await;
    let builder = Redis::builder()
        .rest_local(true)
        .rest_lag_tolerance(Duration::from_millis(250));
    let (engine, link) = connected(builder, server.settings().rest_url(rest.url())).await;
    ask(&engine, &link).await.unwrap();
    let head = rest.asked.lock().unwrap()[1].clone();
    let path = "/v1/local/bdbs/7/endpoint/availability?extend_check=lag&availability_lag_tolerance_ms=250 ";
    assert!(head.contains(path), "{head}");
}

// P160: 408, 429 and 5xx are asked exactly once more, whatever was asked; nothing else is.
#[tokio::test]
async fn what_could_not_be_answered_just_now_is_asked_once_more() {
    let server = Server::start().await;
    let port = server.port;
    for status in [408, 429, 500, 502, 503, 504] {
        for (bad, healthy, asked) in [
            (0..1, true, 3),
            (1..2, true, 3),
            (1..3, false, 3),
            (0..2, false, 2),
        ] {
            let rest = Interface::start(None, move |number, path| {
                match (bad.contains(&number), path.contains("fields")) {
                    (true, _) => (status, String::new()),
                    (false, true) => (200, list(7, port)),
                    (false, false) => (200, String::new()),
                }
            })
            .await;
            let settings = server.settings().rest_url(rest.url());
            let (engine, link) = connected(Redis::builder(), settings).await;
            assert_eq!(ask(&engine, &link).await.is_ok(), healthy, "{status}");
            assert_eq!(rest.paths().len(), asked, "{status}: {:?}", rest.paths());
        }
    }
}

// P160
#[tokio::test]
async fn an_unknown_database_fails_and_a_number_that_is_gone_is_looked_up_again() {
    let server = Server::start().await;
    let port = server.port;
    let rest = Interface::start(None, |_, _| (200, "[]".to_owned())).await;
    let settings = server.settings().rest_url(rest.url());
    let (engine, link) = connected(Redis::builder(), settings).await;
    let error = ask(&engine, &link).await.unwrap_err();
    assert!(
        error.message().contains("knows no database at 127.0.0.1"),
        "{error}"
    );
    // Made anew between the second probe and the third, under another number.
    let uid = Arc::new(Mutex::new(7));
    let now = uid.clone();
    let rest = Interface::start(None, move |_, path| {
        let uid = *now.lock().unwrap();
        match path.contains("fields") {
            true => (200, list(uid, port)),
            false if path.contains(&format!("/{uid}/")) => (200, String::new()),
            false => (404, String::new()),
        }
    })
    .await;
    let settings = server.settings().rest_url(rest.url());
    let (engine, link) = connected(Redis::builder(), settings).await;
    ask(&engine, &link).await.unwrap();
    *uid.lock().unwrap() = 8;
    ask(&engine, &link).await.unwrap();
    let expected = [
        "list",
        "/v1/bdbs/7/availability",
        "/v1/bdbs/7/availability",
        "list",
        "/v1/bdbs/8/availability",
    ];
    assert_eq!(rest.paths(), expected);
}

// P160: a silent interface takes no longer than the probe may, and neither does its socket outlive the connection.
#[tokio::test]
async fn silence_is_bounded_and_no_socket_is_left() {
    silence(Redis::new()).await;
    let server = Server::start().await;
    let unreachable = server.settings().rest_url("http://127.0.0.1:1");
    let (engine, link) = connected(Redis::builder(), unreachable).await;
    assert_eq!(
        ask(&engine, &link).await.unwrap_err().kind(),
        ErrorKind::Refused
    );
    let (engine, link) = connected(Redis::builder(), server.settings()).await;
    assert_eq!(
        ask(&engine, &link).await.unwrap_err().kind(),
        ErrorKind::Config
    );
}

// P160
#[cfg(feature = "fred")]
#[tokio::test]
async fn through_fred_silence_is_bounded_and_no_socket_is_left() {
    silence(backend_redis::Fred::new()).await;
}

async fn silence<B: Backend<Settings = Settings>>(backend: B) {
    let server = Server::start().await;
    let port = server.port;
    let silent = Arc::new(Mutex::new(true));
    let now = silent.clone();
    let rest = Interface::start(None, move |_, path| match *now.lock().unwrap() {
        true => (0, String::new()),
        false if path.contains("fields") => (200, list(7, port)),
        false => (200, String::new()),
    })
    .await;
    let settings = server.settings().rest_url(rest.url());
    let (mut engine, _client) = StandIn::of(backend);
    let link = engine.connect("east", settings).await.unwrap();
    let began = Instant::now();
    let error = ask(&engine, &link).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(began.elapsed() < Duration::from_millis(1500));
    *silent.lock().unwrap() = false;
    ask(&engine, &link).await.unwrap();
    engine.retire(&link).await;
    let error = ask(&engine, &link).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Retired, "{error}");
    drop(rest);
}

fn acceptor(folder: &Path) -> TlsAcceptor {
    let chain = CertificateDer::pem_file_iter(folder.join("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join("key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.map(Result::unwrap).collect(), key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

// P160: by TLS with a private authority, as a user whose password nobody sees.
#[tokio::test]
async fn certificates_are_verified_and_credentials_stay_secret() {
    let folder: PathBuf =
        std::env::temp_dir().join(format!("backend-redis-rest-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    crate::tls::certificates(&folder);
    let server = Server::start().await;
    let port = server.port;
    let rest = Interface::start(Some(acceptor(&folder)), move |number, path| {
        match (number, path.contains("fields")) {
            (0, _) => (401, "hunter2".to_owned()),
            (_, true) => (200, list(7, port)),
            (_, false) => (200, String::new()),
        }
    })
    .await;
    let settings = server
        .settings()
        .rest_url(format!("https://127.0.0.1:{}", rest.port))
        .rest_credentials("probe", "hunter2");
    assert!(!format!("{settings:?}").contains("hunter2"));
    let (engine, link) = connected(Redis::builder(), settings.clone()).await;
    let error = ask(&engine, &link).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tls, "{error}");
    let trusting = settings.rest_ca_file(folder.join("ca.pem"));
    let (engine, link) = connected(Redis::builder(), trusting).await;
    let error = ask(&engine, &link).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Auth);
    assert!(
        !format!("{error:?}{link:?}").contains("hunter2"),
        "{error:?}"
    );
    ask(&engine, &link).await.unwrap();
    let asked = rest.asked.lock().unwrap();
    assert!(
        asked
            .iter()
            .all(|head| head.to_lowercase().contains("authorization: basic "))
    );
    assert!(
        asked[0].contains("Basic cHJvYmU6aHVudGVyMg=="),
        "{}",
        asked[0]
    );
    drop(asked);
    std::fs::remove_dir_all(folder).unwrap();
}
