//! Why a server could not be connected, in the contract's kinds.

use std::io;
use std::time::Duration;

use async_nats::{ConnectError, ConnectErrorKind};
use backend_api::{Error, ErrorKind};

use crate::target::Address;

pub(super) fn silent(address: &Address, time: Duration) -> Error {
    Error::new(
        ErrorKind::Timeout,
        format!("{address} did not answer within {time:?}"),
    )
    .with_operation("connect")
}

pub(super) fn explain(address: &Address, error: &ConnectError) -> Error {
    let cause = std::error::Error::source(error);
    let io = cause.and_then(|cause| cause.downcast_ref::<io::Error>());
    let detail = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
    let (kind, text) = match error.kind() {
        ConnectErrorKind::AuthorizationViolation => (
            ErrorKind::Auth,
            format!("{address} does not accept the credentials"),
        ),
        ConnectErrorKind::Authentication => (
            ErrorKind::Auth,
            format!(
                "the credentials for {address} cannot be used: the nkey or the JWT does not sign"
            ),
        ),
        ConnectErrorKind::TimedOut => (
            ErrorKind::Timeout,
            format!("{address} did not answer in time"),
        ),
        ConnectErrorKind::Tls => (ErrorKind::Tls, format!("no TLS with {address}{detail}")),
        ConnectErrorKind::Dns => (
            ErrorKind::Refused,
            format!("the name of {address} does not resolve{detail}"),
        ),
        ConnectErrorKind::ServerParse => (ErrorKind::Config, format!("{address} is no address")),
        ConnectErrorKind::Io => match io.map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => {
                (ErrorKind::Refused, format!("{address} refuses connections"))
            }
            // How rustls speaks through an I/O error.
            Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) => {
                (ErrorKind::Tls, format!("no TLS with {address}{detail}"))
            }
            Some(io::ErrorKind::TimedOut) => (
                ErrorKind::Timeout,
                format!("{address} did not answer{detail}"),
            ),
            _ => (
                ErrorKind::Lost,
                format!("{address} ended the connection while it was opened{detail}"),
            ),
        },
        ConnectErrorKind::MaxReconnects => {
            (ErrorKind::Refused, format!("{address} cannot be connected"))
        }
    };
    Error::new(kind, text).with_operation("connect")
}

/// One error for all addresses of a member. Its kind is theirs where they agree, or else the one an operator can do most
/// about: the credentials.
pub(super) fn together(mut reasons: Vec<Error>) -> Error {
    if reasons.len() == 1 {
        return reasons.remove(0);
    }
    let kind = |kind| reasons.iter().any(|reason| reason.kind() == kind);
    let kind = match reasons.first() {
        None => ErrorKind::Config,
        Some(_) if kind(ErrorKind::Auth) => ErrorKind::Auth,
        Some(first) => first.kind(),
    };
    let all: Vec<&str> = reasons.iter().map(Error::message).collect();
    Error::new(kind, all.join("; ")).with_operation("connect")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_addresses_are_named() {
        let of = |kind, text: &str| Error::new(kind, text);
        let error = together(vec![
            of(ErrorKind::Refused, "a:4222 refuses connections"),
            of(ErrorKind::Auth, "b:4222 does not accept the credentials"),
        ]);
        assert_eq!(error.kind(), ErrorKind::Auth);
        assert!(error.message().contains("a:4222") && error.message().contains("b:4222"));
    }
}
