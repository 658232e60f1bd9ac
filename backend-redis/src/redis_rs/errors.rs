//! What redis-rs says, in the words of the contract, and back. What the server means by its words stands in
//! [`server_errors`](crate::server_errors).

use std::error::Error as StdError;
use std::io;
use std::sync::Arc;

use backend_api::{Error, ErrorKind, Fate};
use redis::{RedisError, ServerError, ServerErrorKind};

use crate::address::Address;
use crate::failures::{self, Cause, Sent, Work};
use crate::server_errors;

/// Puts one of our errors into the driver's type, so that it passes through redis-rs's traits. Found again by [`cause`].
pub(crate) fn wrap(error: Error) -> RedisError {
    let kind = match error.kind() {
        ErrorKind::Timeout => io::ErrorKind::TimedOut,
        ErrorKind::Retired => io::ErrorKind::ConnectionAborted,
        ErrorKind::NoActive | ErrorKind::Closed => io::ErrorKind::NotConnected,
        ErrorKind::Unsupported => io::ErrorKind::Unsupported,
        ErrorKind::Moved => io::ErrorKind::Other,
        _ => io::ErrorKind::BrokenPipe,
    };
    io::Error::new(kind, error).into()
}

/// Our error inside a [`RedisError`]: two downcasts deep, since redis-rs holds foreign errors in an `Arc`.
pub(crate) fn cause(error: &RedisError) -> Option<&Error> {
    let held = error.source()?;
    let held = held
        .downcast_ref::<Arc<dyn StdError + Send + Sync>>()
        .map_or(held, |arc| &**arc);
    held.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref()
}

/// Ours out of the driver's wrapping, as it was before redis-rs handled it.
#[cfg(feature = "cluster")]
pub(crate) fn unveil(trouble: RedisError) -> RedisError {
    match cause(&trouble) {
        Some(cause) => wrap(cause.clone()),
        None => trouble,
    }
}

/// What became of an operation that failed like this. Only what is certain is called not applied.
pub(crate) fn fate(error: &RedisError) -> Option<Fate> {
    if let Some(ours) = cause(error) {
        return ours.fate();
    }
    let answered = || Cause::Answered(error.code().unwrap_or_default().to_owned());
    // Of a pipeline others were applied; only the error of a single command has a source.
    let single = error.source().and_then(|source| source.downcast_ref());
    let (cause, sent) = match error.kind() {
        redis::ErrorKind::Client | redis::ErrorKind::InvalidClientConfig => {
            (Cause::Mistake, Sent::Nothing)
        }
        // EXEC refused the whole.
        redis::ErrorKind::Server(ServerErrorKind::ExecAbort) => (answered(), Sent::Alone),
        _ if single.is_some_and(is_refusal) => (answered(), Sent::Alone),
        _ => (answered(), Sent::Perhaps),
    };
    failures::fate(&cause, sent, Work::Writes)
}

/// The codes with which Redis refuses a command, beside those that redis-rs knows by a kind.
const REFUSALS: [&str; 9] = [
    "WRONGTYPE",
    "OOM",
    "MISCONF",
    "NOREPLICAS",
    "NOAUTH",
    "BUSY",
    "BUSYKEY",
    "BUSYGROUP",
    "NOGROUP",
];

/// One command was refused. What a script answers is told by the place in it that the server adds (by its beginning, before
/// Redis 7): there is no code for that.
fn is_refusal(said: &ServerError) -> bool {
    let details = said.details().unwrap_or_default();
    let of_script = details.contains("script: ") || details.starts_with("Error running script");
    (said.kind().is_some() || REFUSALS.contains(&said.code())) && !of_script
}

/// Why a connection could not be opened.
pub(crate) fn of_setup(error: &RedisError, address: &Address, with_password: bool) -> Error {
    let (kind, text) = if error.is_timeout() {
        (ErrorKind::Timeout, "does not answer")
    } else if error.is_connection_refusal() {
        (ErrorKind::Refused, "refused the connection")
    } else if error.is_connection_dropped() {
        (ErrorKind::Lost, "ended the connection during the handshake")
    } else {
        let details = error.detail().unwrap_or_default();
        match (error.kind(), error.code()) {
            (redis::ErrorKind::AuthenticationFailed, None) => {
                return server_errors::of_handshake("WRONGPASS", details, address, with_password);
            }
            (_, Some(code)) => {
                return server_errors::of_handshake(code, details, address, with_password);
            }
            (redis::ErrorKind::Server(_) | redis::ErrorKind::Extension, None) => {
                return server_errors::of_handshake("", details, address, with_password);
            }
            _ => (ErrorKind::Protocol, "did not answer as a Redis server does"),
        }
    };
    Error::new(kind, format!("{address} {text}")).with_operation("connect")
}

/// The state in which a server says that it serves nobody, with the kind that condemns it.
pub(crate) fn state(error: &ServerError) -> Option<ErrorKind> {
    server_errors::state(error.code(), error.details())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server_error(line: &str) -> ServerError {
        let value = redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).unwrap();
        let redis::Value::ServerError(error) = value else {
            panic!("{value:?}")
        };
        error
    }

    // P156
    #[test]
    fn states_are_told_from_answers() {
        for (line, expected) in crate::server_errors::tests::STATES {
            assert_eq!(state(&server_error(line)), *expected, "{line}");
        }
    }

    #[test]
    fn our_error_is_found_inside_the_drivers() {
        let error = wrap(Error::new(ErrorKind::Moved, "start again"));
        assert_eq!(cause(&error).unwrap().kind(), ErrorKind::Moved);
        assert!(error.to_string().contains("start again"));
        assert!(cause(&server_error("ERR x").into()).is_none());
        let io: RedisError = io::Error::from(io::ErrorKind::BrokenPipe).into();
        assert!(cause(&io).is_none());
        assert!(wrap(Error::new(ErrorKind::Timeout, "late")).is_timeout());
        assert!(wrap(Error::new(ErrorKind::Lost, "gone")).is_connection_dropped());
    }

    // P161
    #[test]
    fn refusals_of_the_handshake_are_told_apart() {
        let address = Address::Tcp("h".into(), 1);
        for (line, kind, text) in [
            ("NOAUTH HELLO must", ErrorKind::Auth, "a password is needed"),
            (
                "WRONGPASS invalid",
                ErrorKind::Auth,
                "refused the user name or password",
            ),
            (
                "ERR AUTH <password> called without any password configured",
                ErrorKind::Auth,
                "has none configured",
            ),
            ("LOADING Redis is loading", ErrorKind::Unhealthy, "LOADING"),
            (
                "ERR max number of clients reached",
                ErrorKind::Unhealthy,
                "max number",
            ),
        ] {
            let error = of_setup(&server_error(line).into(), &address, true);
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.message().contains(text), "{error}");
        }
    }
}
