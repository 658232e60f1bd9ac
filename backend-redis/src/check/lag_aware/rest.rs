//! One question to a REST interface: HTTP/1.1 on a socket of our own, by TLS where the url says so.
//!
//! hyper's connection alone, without a client around it: there is one server, one question at a time, and the socket has to end
//! with the connection to the member. Redirects are therefore not followed: nobody is there who could. The credentials are in
//! [`Rest`] and in the header of a request, and in nothing that is shown.

use backend_api::{Error, ErrorKind};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::client::conn::http1::handshake;
use hyper::header::{ACCEPT, AUTHORIZATION, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::session::Line;
use crate::address::Rest;
use crate::check::driver::Watched;

/// More than the list of a cluster's databases ever is.
const LARGEST: usize = 8 << 20;

impl Rest {
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
