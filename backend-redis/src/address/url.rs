//! Reading a member's URL: `redis://[user[:password]@]host[:port][/db]` and its kin.
//!
//! What it says about a URL that cannot be read is a fixed text: the URL may hold a password, so nothing of it is quoted.

use std::borrow::Cow;
use std::net::IpAddr;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use url::{Host, Url};

use super::Address;

const PORT: u16 = 6379;

/// What a URL says.
pub(crate) struct Found {
    pub(crate) address: Address,
    pub(crate) db: i64,
    pub(crate) username: Option<String>,
    pub(crate) password: Option<String>,
}

/// The scheme is one of the known ones already, and `tls` is what it says.
pub(crate) fn read(url: &str, tls: bool) -> Result<Found, String> {
    let explain = |text: &str| {
        format!("the url cannot be used: {text} (redis://[user:password@]host[:port][/db])")
    };
    parse(url, tls).map_err(explain)
}

fn parse(url: &str, tls: bool) -> Result<Found, &'static str> {
    let url = Url::parse(url).map_err(|_| "Redis URL did not parse")?;
    let query = |wanted: &str| -> Option<Cow<'_, str>> {
        url.query_pairs()
            .find(|(name, _)| name == wanted)
            .map(|(_, value)| value)
    };
    // Both are understood and neither is a choice: RESP3 is spoken wherever the server knows it.
    if query("protocol")
        .is_some_and(|protocol| !["2", "3", "resp2", "resp3"].contains(&protocol.as_ref()))
    {
        return Err("Invalid protocol version");
    }
    if url.scheme().ends_with("unix") {
        return Ok(Found {
            address: Address::Unix(path(&url)?),
            db: query("db").map_or(Ok(0), |db| number(&db))?,
            username: query("user").map(Cow::into_owned),
            password: query("pass").map(Cow::into_owned),
        });
    }
    let host = host(&url)?;
    let port = url.port().unwrap_or(PORT);
    Ok(Found {
        address: Address::new(tls, host, port),
        db: match url.path().trim_matches('/') {
            "" => 0,
            db => number(db)?,
        },
        username: match url.username() {
            "" => None,
            name => Some(decoded(name).ok_or("Username is not valid UTF-8 string")?),
        },
        password: match url.password() {
            None => None,
            Some(word) => Some(decoded(word).ok_or("Password is not valid UTF-8 string")?),
        },
    })
}

/// Without the brackets of an IPv6 address.
fn host(url: &Url) -> Result<String, &'static str> {
    let host = match url.host() {
        Some(Host::Domain(name)) => name.to_owned(),
        Some(Host::Ipv4(address)) => address.to_string(),
        Some(Host::Ipv6(address)) => address.to_string(),
        None => return Err("Missing hostname"),
    };
    if host
        .parse::<IpAddr>()
        .is_ok_and(|address| address.is_unspecified())
    {
        return Err("Cannot connect to a wildcard address (0.0.0.0 or ::)");
    }
    Ok(host)
}

fn path(url: &Url) -> Result<PathBuf, &'static str> {
    url.to_file_path().map_err(|()| "Missing path")
}

fn number(db: &str) -> Result<i64, &'static str> {
    db.parse().map_err(|_| "Invalid database number")
}

fn decoded(text: &str) -> Option<String> {
    let text = percent_decode_str(text).decode_utf8().ok()?;
    Some(text.into_owned())
}
