//! From a member's settings to what a dial needs: addresses, and one way of authentication.
//!
//! Settings that parse here can be dialled; nothing is looked up or read. Addresses are shown without their user and
//! password.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::{ServerAddr, Subject};
use backend_api::{Error, ErrorKind};

use crate::config::Settings;

/// One server.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// Without user and password.
    pub(crate) server: ServerAddr,
}

impl Address {
    pub(crate) fn host_and_port(&self) -> (String, u16) {
        let host = self.server.host();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        (host.to_owned(), self.server.port())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (host, port) = self.host_and_port();
        if host.contains(':') {
            write!(f, "[{host}]:{port}")
        } else {
            write!(f, "{host}:{port}")
        }
    }
}

/// As whom.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Auth {
    Nobody,
    CredentialsFile(PathBuf),
    Token(String),
    User(String, String),
    Nkey(String),
}

/// Where to, and how.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) addresses: Vec<Address>,
    pub(crate) auth: Auth,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) certificate: Option<(PathBuf, PathBuf)>,
    pub(crate) tls_first: bool,
    pub(crate) client_name: Option<String>,
    pub(crate) probe_subject: Subject,
    pub(crate) inbox_prefix: Option<String>,
    pub(crate) ping_interval: Duration,
}

const PROBE_SUBJECT: &str = "_FAILOVER.PROBE";
const PING_INTERVAL: Duration = Duration::from_secs(1);

impl Target {
    pub(crate) fn parse(settings: &Settings) -> Result<Self, Error> {
        let urls: Vec<&String> = settings.url.iter().chain(&settings.urls).collect();
        if urls.is_empty() {
            return Err(refuse(
                "there is no url: give it `url = \"nats://host:4222\"`",
            ));
        }
        let mut in_url = None;
        let mut addresses = Vec::new();
        for url in urls {
            let (address, auth) = parse_url(url)?;
            if auth.is_some() && in_url.is_some() && auth != in_url {
                return Err(refuse(
                    "the urls of one member name different users: write the user beside them",
                ));
            }
            in_url = auth.or(in_url);
            if addresses.contains(&address) {
                return Err(refuse(format!("{address} is there twice")));
            }
            addresses.push(address);
        }
        Ok(Self {
            addresses,
            auth: auth(settings, in_url)?,
            ca_file: settings.ca_file.clone(),
            certificate: match (&settings.cert_file, &settings.key_file) {
                (Some(cert), Some(key)) => Some((cert.clone(), key.clone())),
                (None, None) => None,
                _ => {
                    return Err(refuse(
                        "cert_file and key_file belong together: give both or none",
                    ));
                }
            },
            tls_first: settings.tls_first,
            client_name: settings.client_name.clone(),
            probe_subject: subject(
                "probe_subject",
                settings.probe_subject.as_deref(),
                PROBE_SUBJECT,
            )?
            .into(),
            inbox_prefix: match &settings.inbox_prefix {
                Some(prefix) => Some(subject("inbox_prefix", Some(prefix), "")?),
                None => None,
            },
            ping_interval: match settings.ping_interval {
                Some(zero) if zero.is_zero() => {
                    return Err(refuse(
                        "ping_interval is zero: give it a time such as \"1s\"",
                    ));
                }
                interval => interval.unwrap_or(PING_INTERVAL),
            },
        })
    }

    /// All addresses, for errors and Debug.
    pub(crate) fn shown(&self) -> String {
        let all: Vec<String> = self.addresses.iter().map(Address::to_string).collect();
        all.join(", ")
    }
}

fn parse_url(text: &str) -> Result<(Address, Option<Auth>), Error> {
    let explain = |why: &str| {
        refuse(format!(
            "a url cannot be used: {why} (nats://[user:password@]host[:port])"
        ))
    };
    // The parser's own words may quote the URL.
    let parsed: ServerAddr = text
        .parse()
        .map_err(|_| explain("it does not parse as a NATS address"))?;
    let url = parsed.into_inner();
    if !matches!(url.scheme(), "nats" | "tls") {
        return Err(explain("only nats:// and tls:// are known"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(explain("there is no host"));
    }
    if !url.path().trim_matches('/').is_empty() || url.query().is_some() || url.fragment().is_some()
    {
        return Err(explain("something follows the port"));
    }
    let decoded =
        |part: &str| percent_decoded(part).ok_or_else(|| explain("user or password is not UTF-8"));
    let auth = match (url.username(), url.password()) {
        ("", None) => None,
        (token, None) => Some(Auth::Token(decoded(token)?)),
        (user, Some(password)) => Some(Auth::User(decoded(user)?, decoded(password)?)),
    };
    let mut bare = url.clone();
    // Both fail only for URLs without a host.
    let _ = bare.set_username("");
    let _ = bare.set_password(None);
    let _ = bare.set_port(url.port().or(Some(4222)));
    let server = ServerAddr::from_url(bare).map_err(|_| explain("it is no NATS address"))?;
    Ok((Address { server }, auth))
}

/// What a URL writes as `%2F`.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
        out.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(out).ok()
}

fn auth(settings: &Settings, in_url: Option<Auth>) -> Result<Auth, Error> {
    let user = match (&settings.username, &settings.password) {
        (Some(user), Some(password)) => Some(Auth::User(user.clone(), password.clone())),
        (None, None) => None,
        (Some(_), None) => return Err(refuse("there is a username without a password")),
        (None, Some(_)) => return Err(refuse("there is a password without a username")),
    };
    let beside: Vec<Auth> = [
        settings.credentials_file.clone().map(Auth::CredentialsFile),
        settings.token.clone().map(Auth::Token),
        user,
        settings.nkey.clone().map(Auth::Nkey),
    ]
    .into_iter()
    .flatten()
    .collect();
    match beside.len() {
        0 => Ok(in_url.unwrap_or(Auth::Nobody)),
        // Beside the URL wins, as with the other backends.
        1 => Ok(beside.into_iter().next().unwrap_or(Auth::Nobody)),
        _ => Err(refuse(
            "one way of authentication: credentials_file, token, username with password, or nkey",
        )),
    }
}

fn subject(key: &str, given: Option<&str>, default: &str) -> Result<String, Error> {
    let text = given.unwrap_or(default);
    let bad_token = |token: &str| token.is_empty() || token == "*" || token == ">";
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) || text.split('.').any(bad_token) {
        return Err(refuse(format!(
            "{key} is no subject that one can publish to: no blanks, no wildcards, no empty part"
        )));
    }
    Ok(text.to_owned())
}

fn refuse(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Config, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Target, Error> {
        Target::parse(&Settings::new(url))
    }

    fn problem(settings: &Settings) -> String {
        let error = Target::parse(settings).err().expect("it was taken");
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(!format!("{error:?}").contains("hunter"), "{error:?}");
        error.message().to_owned()
    }

    #[test]
    fn urls_become_addresses() {
        assert_eq!(parse("nats://h").unwrap().shown(), "h:4222");
        assert_eq!(parse("h:5000").unwrap().shown(), "h:5000");
        assert_eq!(parse("nats://[::1]:5000").unwrap().shown(), "[::1]:5000");
        let target = parse("nats://a:s%20t@h").unwrap();
        assert!(target.auth == Auth::User("a".into(), "s t".into()));
        assert_eq!(target.addresses[0].server.username(), None);
        assert!(parse("nats://s3cret@h").unwrap().auth == Auth::Token("s3cret".into()));
        let several = Target::parse(&Settings::of_urls(["nats://a", "tls://b"])).unwrap();
        assert_eq!(several.shown(), "a:4222, b:4222");
    }

    #[test]
    fn beside_the_url_wins() {
        let settings = Settings::new("nats://a:b@h").user("c", "d");
        let target = Target::parse(&settings).unwrap();
        assert!(target.auth == Auth::User("c".into(), "d".into()));
    }

    #[test]
    fn what_cannot_be_used_is_explained_without_its_secret() {
        for (settings, expected) in [
            (Settings::default(), "there is no url"),
            (Settings::new("http://u:hunter2@h"), "cannot be used"),
            (Settings::new("ws://u:hunter2@h"), "only nats://"),
            (Settings::new("nats://u:hunter2@h:port"), "does not parse"),
            (Settings::new("nats://u:hunter2@h/path"), "follows the port"),
            (Settings::of_urls(["nats://h", "nats://h:4222"]), "twice"),
            (
                Settings::of_urls(["nats://a:hunter2@g", "nats://b:hunter3@h"]),
                "different users",
            ),
            (
                Settings::new("h").token("hunter2").nkey("hunter3"),
                "one way of authentication",
            ),
            (
                Settings {
                    password: Some("hunter2".into()),
                    ..Settings::new("h")
                },
                "without a username",
            ),
            (
                Settings {
                    cert_file: Some("/c".into()),
                    ..Settings::new("h")
                },
                "belong together",
            ),
            (
                Settings::new("h").probe_subject("a.*"),
                "probe_subject is no subject",
            ),
            (
                Settings::new("h").ping_interval(Duration::ZERO),
                "ping_interval is zero",
            ),
        ] {
            let text = problem(&settings);
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn a_server_that_is_told_of_equals_the_configured_one() {
        let teller = Settings::new("nats://app:pw@a:4222");
        let told = teller.at("nats://b:4222".into());
        assert!(told == Settings::new("nats://app:pw@b"));
        assert!(told == Settings::new("b").user("app", "pw"));
        assert!(told != Settings::new("b").user("app", "other"));
        assert!(told != Settings::new("c").user("app", "pw"));
    }

    #[test]
    fn debug_shows_no_secret() {
        let settings = Settings::new("nats://app:hunter2@h").token("hunter3");
        let text = format!("{settings:?}");
        assert!(
            !text.contains("hunter") && text.contains("h:4222"),
            "{text}"
        );
    }
}
