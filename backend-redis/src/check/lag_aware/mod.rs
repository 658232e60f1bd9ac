//! `lag-aware`: what the cluster of a Redis Enterprise database says about it.
//!
//! [`rest`] is one question over HTTP, [`database`] finds the database that a member is. [`session`] is what both need between
//! two probes, kept in the connection, so that retiring it ends the socket.

mod database;
mod rest;
pub(crate) mod session;

use backend_api::{Error, ErrorKind, Health, HealthCheck, Probe, async_trait};
use hyper::StatusCode;

use self::session::Kept;
use super::driver::{Driver, Watched, verdict};
use crate::address::{Address, Rest};

/// `lag-aware`: the cluster that the database belongs to calls it available, and not further behind than
/// [`rest_lag_tolerance`](crate::Options::rest_lag_tolerance), over its REST interface
/// ([`rest_url`](crate::Settings::rest_url)).
///
/// The database is found by the host of the member's url, and by its port where several databases share the host; one that the
/// cluster does not know fails the probe. Only 200 is healthy. 408, 429 and 5xx are asked once more, a redirect is not
/// followed. Redis Enterprise calls a database that is replicated to no other cluster unavailable when it is asked like this:
/// the check is for Active-Active databases and the like.
#[derive(Clone, Copy, Debug, Default)]
pub struct LagAwareCheck;

#[async_trait]
impl<D: Driver> HealthCheck<D> for LagAwareCheck {
    fn name(&self) -> &str {
        "lag-aware"
    }

    async fn check(&self, probe: Probe<'_, D>) -> Health {
        let connection = probe.connection;
        let target = connection.target();
        let Some((rest, address)) = target.and_then(|target| target.rest.zip(Some(target.address)))
        else {
            let text = "lag-aware needs rest_url in the member's settings";
            return Health::Unhealthy(Error::new(ErrorKind::Config, text));
        };
        // Dropped in the middle, the line is gone with the future, and the next probe opens another.
        let asking = available(probe, &rest, &address);
        let answer = tokio::time::timeout(probe.timeout, asking).await;
        verdict(answer.unwrap_or_else(|_elapsed| {
            let text = format!("{rest} did not answer within {:?}", probe.timeout);
            Err(Error::new(ErrorKind::Timeout, text))
        }))
    }
}

async fn available<D: Driver>(
    probe: Probe<'_, D>,
    rest: &Rest,
    address: &Address,
) -> Result<(), Error> {
    let connection = probe.connection;
    let mut kept = connection.rest().0.lock().await;
    let options = probe.backend.options();
    let known = kept.uid;
    loop {
        let uid = match kept.uid {
            Some(uid) => uid,
            None => {
                let uid = find(connection, rest, address, &mut kept).await?;
                *kept.uid.insert(uid)
            }
        };
        let tolerance = options.rest_lag_tolerance.as_millis();
        let place = match options.rest_local {
            true => format!("/v1/local/bdbs/{uid}/endpoint/availability"),
            false => format!("/v1/bdbs/{uid}/availability"),
        };
        let path = format!("{place}?extend_check=lag&availability_lag_tolerance_ms={tolerance}");
        let (status, _) = ask(connection, rest, &mut kept, &path).await?;
        match status {
            StatusCode::OK => return Ok(()),
            StatusCode::NOT_FOUND => {
                // A database that was made anew has another number.
                kept.uid = None;
                if known != Some(uid) {
                    return Err(unhealthy(rest, "does not know database", uid));
                }
            }
            status => {
                let text = format!("calls the database unavailable: {status}, database");
                return Err(unhealthy(rest, &text, uid));
            }
        }
    }
}

async fn find(
    connection: &impl Watched,
    rest: &Rest,
    address: &Address,
    kept: &mut Kept,
) -> Result<u64, Error> {
    let (status, body) = ask(connection, rest, kept, "/v1/bdbs?fields=uid,endpoints").await?;
    if status != StatusCode::OK {
        let kind = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ErrorKind::Auth,
            _ => ErrorKind::Unhealthy,
        };
        let text = format!("{rest} does not list its databases: {status}");
        return Err(Error::new(kind, text));
    }
    database::find(&body, address)
        .map_err(|text| Error::new(ErrorKind::Unhealthy, format!("{rest} {text}")))
}

/// One question, and the same once more where the server says that it could not answer just now.
async fn ask(
    connection: &impl Watched,
    rest: &Rest,
    kept: &mut Kept,
    path: &str,
) -> Result<(StatusCode, Vec<u8>), Error> {
    let answer = rest.get(connection, &mut kept.line, path).await?;
    match answer.0 {
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {}
        status if status.is_server_error() => {}
        _ => return Ok(answer),
    }
    rest.get(connection, &mut kept.line, path).await
}

fn unhealthy(rest: &Rest, what: &str, uid: u64) -> Error {
    Error::new(ErrorKind::Unhealthy, format!("{rest} {what} {uid}"))
}
