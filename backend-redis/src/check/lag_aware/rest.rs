//! One question to a REST interface: HTTP/1.1 on a socket of our own, by TLS where the url says so.
//!
//! hyper's connection alone, without a client around it: there is one server, one question at a time, and the socket has to end
//! with the connection to the member. Redirects are therefore not followed: nobody is there who could. The credentials are in
//! this value and in the header of a request, and in nothing that is shown.

use std::fmt;
use std::path::PathBuf;

use backend_api::{Error, ErrorKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, AUTHORIZATION, HOST, HeaderValue};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::probe::Watched;
use crate::settings::Settings;

/// The port on which Redis Enterprise has its REST interface.
const PORT: u16 = 9443;

/// More than the list of a cluster's databases ever is.
const LARGEST: usize = 8 << 20;

/// An open socket to the REST interface, idle.
pub(super) type Line = SendRequest<Empty<Bytes>>;

/// Where the REST interface is, and as whom it is asked. No Debug: it holds a password.
#[derive(Clone)]
pub(crate) struct Rest {
    tls: bool,
    host: String,
    port: u16,
    prefix: String,
    authorization: Option<HeaderValue>,
    ca_file: Option<PathBuf>,
}

/// Without anything secret.
impl fmt::Display for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the REST interface at {}:{}", self.host, self.port)
    }
}

impl Rest {
    /// `None` where the settings have no `rest_url`. The error never quotes it: there may be a password in it.
    pub(crate) fn of(settings: &Settings) -> Result<Option<Self>, &'static str> {
        let Some(url) = &settings.rest_url else {
            let alone = settings.rest_username.is_some()
                || settings.rest_password.is_some()
                || settings.rest_ca_file.is_some();
            return match alone {
                true => Err("rest_username, rest_password and rest_ca_file need rest_url"),
                false => Ok(None),
            };
        };
        const URL: &str = "rest_url cannot be used: write https://host or https://host:port";
        let uri: Uri = url.parse().map_err(|_quotes| URL)?;
        let tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(URL),
        };
        let authority = uri.authority().ok_or(URL)?;
        if authority.as_str().contains('@') {
            return Err("rest_url has a user in it: use rest_username and rest_password");
        }
        if uri.query().is_some() {
            return Err("rest_url has a query (?..): write https://host or https://host:port");
        }
        if settings.rest_ca_file.is_some() && !tls {
            return Err("rest_ca_file is for TLS: rest_url must begin with https://");
        }
        let authorization = match (&settings.rest_username, &settings.rest_password) {
            (None, None) => None,
            (Some(name), Some(_)) if name.contains(':') => {
                return Err("rest_username has a colon, which HTTP's credentials cannot have");
            }
            (Some(name), Some(password)) => {
                let text = format!("Basic {}", STANDARD.encode(format!("{name}:{password}")));
                let value = HeaderValue::from_str(&text).map_err(|_quotes| URL)?;
                Some(value).map(|mut value| {
                    value.set_sensitive(true);
                    value
                })
            }
            _ => return Err("rest_username and rest_password go together"),
        };
        let host = authority.host();
        Ok(Some(Self {
            tls,
            host: host.trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(PORT),
            prefix: uri.path().trim_end_matches('/').to_owned(),
            authorization,
            ca_file: settings.rest_ca_file.clone(),
        }))
    }

    /// Asks once. `line` is used where it still lives, and left open for the next.
    pub(super) async fn get(
        &self,
        connection: &impl Watched,
        line: &mut Option<Line>,
        path: &str,
    ) -> Result<(StatusCode, Vec<u8>), Error> {
        // Between two probes the server may have closed it, which shows only now: that is no failure of the server.
        if let Some(mut open) = line.take()
            && open.ready().await.is_ok()
            && let Ok(answer) = self.say(&mut open, path).await
        {
            *line = Some(open);
            return Ok(answer);
        }
        let mut open = self.open(connection).await?;
        let answer = self.say(&mut open, path).await?;
        *line = Some(open);
        Ok(answer)
    }

    async fn say(&self, line: &mut Line, path: &str) -> Result<(StatusCode, Vec<u8>), Error> {
        let host = match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        };
        let mut request = Request::get(format!("{}{path}", self.prefix))
            .header(HOST, host)
            .header(ACCEPT, "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(Empty::new()).map_err(|_quotes| {
            self.failed(ErrorKind::Config, "cannot be asked: rest_url is odd")
        })?;
        let failed = |error: hyper::Error| {
            let text = format!("did not answer: {error}");
            self.failed(ErrorKind::Lost, &text)
        };
        let answer = line.send_request(request).await.map_err(failed)?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), LARGEST).collect().await;
        let body = body.map_err(|error| {
            self.failed(
                ErrorKind::Protocol,
                &format!("broke its answer off: {error}"),
            )
        })?;
        Ok((status, body.to_bytes().to_vec()))
    }

    async fn open(&self, connection: &impl Watched) -> Result<Line, Error> {
        let stream = TcpStream::connect((self.host.as_str(), self.port))
            .await
            .map_err(|error| {
                self.failed(ErrorKind::Refused, &format!("cannot be reached: {error}"))
            })?;
        if !self.tls {
            return self.start(connection, stream).await;
        }
        let stream = crate::stream::tls::over(&self.host, stream, self.ca_file.clone())
            .await
            .map_err(|text| self.failed(ErrorKind::Tls, &format!("cannot be trusted: {text}")))?;
        self.start(connection, stream).await
    }

    /// The task that moves its bytes belongs to the connection to the member, and ends with it.
    async fn start<S>(&self, connection: &impl Watched, stream: S) -> Result<Line, Error>
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let (line, driver) = handshake(TokioIo::new(stream)).await.map_err(|error| {
            self.failed(
                ErrorKind::Protocol,
                &format!("does not speak HTTP: {error}"),
            )
        })?;
        let moving = async move {
            // How it ended is told to whoever waits for an answer.
            let _ended = driver.await;
        };
        match connection.run(moving) {
            true => Ok(line),
            false => Err(connection.ended()),
        }
    }

    fn failed(&self, kind: ErrorKind, text: &str) -> Error {
        Error::new(kind, format!("{self} {text}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // P160
    #[test]
    fn a_url_that_cannot_be_used_is_refused_without_being_quoted() {
        let plain = || Settings::new("redis://h");
        for (settings, expected) in [
            (plain().rest_url("hunter2"), "cannot be used"),
            (plain().rest_url("ftp://hunter2"), "cannot be used"),
            (plain().rest_url("https://a:hunter2@h"), "has a user in it"),
            (plain().rest_url("https://h/?hunter2"), "has a query"),
            (plain().rest_credentials("a", "hunter2"), "need rest_url"),
            (
                plain()
                    .rest_url("https://h")
                    .rest_credentials("a:b", "hunter2"),
                "has a colon",
            ),
            (
                plain().rest_url("http://h").rest_ca_file("/ca"),
                "is for TLS",
            ),
        ] {
            let text = Rest::of(&settings).err().expect(expected);
            assert!(text.contains(expected), "{text}");
            assert!(!text.contains("hunter") && !format!("{settings:?}").contains("hunter"));
        }
        let rest = Rest::of(&plain().rest_url("https://h/prefix/"))
            .unwrap()
            .unwrap();
        assert_eq!((rest.port, rest.prefix.as_str()), (9443, "/prefix"));
        let rest = Rest::of(&plain().rest_url("https://[::1]:1"))
            .unwrap()
            .unwrap();
        assert_eq!((rest.host.as_str(), rest.port), ("::1", 1));
    }
}
