//! TLS, credentials, and what happens when they are taken away.

use failover_core::nats::Nats;
use failover_core::{ErrorKind, EventKind, Failover, Reason};
use failover_testkit::server::{Certificates, NatsServer};
use failover_testkit::wait_until;

use crate::fleet::BOUND;

async fn open(member: &str) -> Result<Failover<Nats>, failover_core::Error> {
    Failover::<Nats>::open_toml(&format!("[[member]]\nname = \"east\"\n{member}\n")).await
}

async fn works(member: &str) {
    let group = open(member)
        .await
        .unwrap_or_else(|error| panic!("{member}: {error}"));
    group.client().flush().await.unwrap();
    group.close().await;
}

async fn fails(member: &str, kind: ErrorKind, words: &str) {
    let error = open(member).await.expect_err(member);
    let text = error.to_string();
    assert!(text.contains(words), "{text}");
    assert!(!text.contains("hunter"), "{text}");
    assert_eq!(error.kind(), ErrorKind::Startup);
    let _ = kind;
}

// N55
#[tokio::test(flavor = "multi_thread")]
async fn users_and_tokens() {
    let server = NatsServer::builder().user("app", "hunter2", "").start();
    let port = server.port();
    works(&format!("url = \"nats://app:hunter2@127.0.0.1:{port}\"")).await;
    works(&format!(
        "url = \"nats://127.0.0.1:{port}\"\nusername = \"app\"\npassword = \"hunter2\""
    ))
    .await;
    fails(
        &format!("url = \"nats://app:hunter3@127.0.0.1:{port}\""),
        ErrorKind::Auth,
        "does not accept the credentials",
    )
    .await;
    fails(
        &format!("url = \"nats://127.0.0.1:{port}\""),
        ErrorKind::Auth,
        "does not accept the credentials",
    )
    .await;
    let server = NatsServer::builder().token("hunter2").start();
    works(&format!(
        "url = \"{}\"\ntoken = \"hunter2\"",
        server.address()
    ))
    .await;
}

// N55
#[tokio::test(flavor = "multi_thread")]
async fn nkeys_and_credentials_files() {
    let key = nkeys::KeyPair::new_user();
    let seed = key.seed().unwrap();
    let server = NatsServer::builder().nkey(&key.public_key(), "").start();
    works(&format!(
        "url = \"{}\"\nnkey = \"{seed}\"",
        server.address()
    ))
    .await;
    let other = nkeys::KeyPair::new_user().seed().unwrap();
    fails(
        &format!("url = \"{}\"\nnkey = \"{other}\"", server.address()),
        ErrorKind::Auth,
        "does not accept",
    )
    .await;

    let trust = Trust::new();
    let server = NatsServer::builder()
        .config("operator", &format!("{:?}", trust.operator_jwt))
        .config("resolver", "MEMORY")
        .config(
            "resolver_preload",
            &format!("{{ {}: {:?} }}", trust.account, trust.account_jwt),
        )
        .start();
    let file = server.folder().join("app.creds");
    std::fs::write(&file, &trust.credentials).unwrap();
    works(&format!(
        "url = \"{}\"\ncredentials_file = {:?}",
        server.address(),
        file.display().to_string()
    ))
    .await;
    fails(
        &format!(
            "url = \"{}\"\ncredentials_file = \"/nowhere\"",
            server.address()
        ),
        ErrorKind::Auth,
        "credentials file /nowhere",
    )
    .await;
}

/// An operator, an account and a user, as the tools of NATS make them.
struct Trust {
    operator_jwt: String,
    account: String,
    account_jwt: String,
    credentials: String,
}

impl Trust {
    fn new() -> Self {
        let (operator, account, user) = (
            nkeys::KeyPair::new_operator(),
            nkeys::KeyPair::new_account(),
            nkeys::KeyPair::new_user(),
        );
        let operator_jwt = jwt(
            &operator,
            &operator.public_key(),
            r#"{"type":"operator","version":2}"#,
        );
        let limits = r#"{"type":"account","version":2,"limits":{"subs":-1,"data":-1,"payload":-1,"imports":-1,"exports":-1,"wildcards":true,"conn":-1,"leaf":-1}}"#;
        let account_jwt = jwt(&operator, &account.public_key(), limits);
        let user_jwt = jwt(
            &account,
            &user.public_key(),
            r#"{"type":"user","version":2,"subs":-1,"data":-1,"payload":-1,"pub":{},"sub":{}}"#,
        );
        let seed = user.seed().unwrap();
        let credentials = format!(
            "-----BEGIN NATS USER JWT-----\n{user_jwt}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        );
        Self {
            operator_jwt,
            account: account.public_key(),
            account_jwt,
            credentials,
        }
    }
}

fn jwt(issuer: &nkeys::KeyPair, subject: &str, claims: &str) -> String {
    let header = base64url(br#"{"typ":"JWT","alg":"ed25519-nkey"}"#);
    let body = format!(
        r#"{{"jti":"X","iat":1700000000,"iss":"{}","name":"test","sub":"{subject}","nats":{claims}}}"#,
        issuer.public_key()
    );
    let signed = format!("{header}.{}", base64url(body.as_bytes()));
    let signature = base64url(&issuer.sign(signed.as_bytes()).unwrap());
    format!("{signed}.{signature}")
}

fn base64url(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk
            .iter()
            .fold(0_u32, |word, byte| word << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            text.push(char::from(DIGITS[(word >> (18 - 6 * place) & 63) as usize]));
        }
    }
    text
}

// N55
#[tokio::test(flavor = "multi_thread")]
async fn tls_with_and_without_a_client_certificate() {
    let certificates = Certificates::new();
    let ca = format!(
        "ca_file = {:?}",
        certificates.ca_file().display().to_string()
    );
    let server = NatsServer::builder().tls(&certificates).start();
    let url = format!("url = \"tls://localhost:{}\"", server.port());
    works(&format!("{url}\n{ca}")).await;
    fails(&url, ErrorKind::Tls, "no TLS with localhost").await;
    let server = NatsServer::builder().mutual_tls(&certificates).start();
    let url = format!("url = \"tls://localhost:{}\"", server.port());
    let own = format!(
        "cert_file = {:?}\nkey_file = {:?}",
        certificates.client_file().display().to_string(),
        certificates.client_key_file().display().to_string()
    );
    works(&format!("{url}\n{ca}\n{own}")).await;
    assert!(open(&format!("{url}\n{ca}")).await.is_err());
}

// N51
#[tokio::test(flavor = "multi_thread")]
async fn revoked_credentials_are_told_once_and_others_are_tried() {
    let servers = [
        NatsServer::builder().user("app", "old", "").start(),
        NatsServer::builder().user("app", "old", "").start(),
    ];
    let member = |place: usize| {
        let (weight, port) = (2 - place, servers[place].port());
        format!(
            "[[member]]\nname = \"m{place}\"\nweight = {weight}\nurl = \"nats://app:old@127.0.0.1:{port}\"\n"
        )
    };
    let text = format!(
        "[group.reconnect]\ninitial = \"50ms\"\nmax = \"100ms\"\n{}{}",
        member(0),
        member(1)
    );
    let group = Failover::<Nats>::open_toml(&text).await.unwrap();
    wait_until(BOUND, "the group is whole", || {
        group.status().standbys().count() == 1
    })
    .await;
    let mut events = group.events();
    servers[0].reload_with(|settings| settings.user("app", "new", ""));
    let (mut lost, mut refused, mut moved) = (0, 0, false);
    while !moved || refused < 3 {
        let event = tokio::time::timeout(BOUND, events.next())
            .await
            .unwrap()
            .unwrap();
        match event.kind {
            EventKind::Lost {
                cause: Some(cause),
                member,
                ..
            } => {
                assert_eq!(
                    (member.as_str(), cause.kind()),
                    ("m0", ErrorKind::Auth),
                    "{cause}"
                );
                lost += 1;
            }
            EventKind::DialFailed {
                cause: Some(cause), ..
            } => {
                assert_eq!(cause.kind(), ErrorKind::Auth, "{cause}");
                refused += 1;
            }
            EventKind::Switched { to, reason, .. } => {
                assert_eq!((to.as_str(), reason), ("m1", Reason::Lost));
                moved = true;
            }
            _ => {}
        }
    }
    assert_eq!(lost, 1);
    group.client().flush().await.unwrap();
    // Dials to it stay spaced out.
    assert!(group.status().member("m0").unwrap().failures >= 3);
    group.close().await;
}
