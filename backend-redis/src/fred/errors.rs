//! What fred's errors mean. The one place that reads them: fred is coarse, so what a server said is judged by the first
//! word of the text, as [`server_errors`] does for every driver, and the rest by kind.

use ::fred::error::{Error as FredError, ErrorKind as FredKind};
use backend_api::{Error, ErrorKind};

use crate::address::Address;
use crate::failures::Cause;
use crate::server_errors;

/// Why a client could not be opened.
pub(super) enum DialError {
    /// It never came to fred.
    Ours(Error),
    Fred(FredError),
    /// The task of the client ended before it had connected.
    Ended,
}

impl From<FredError> for DialError {
    fn from(error: FredError) -> Self {
        Self::Fred(error)
    }
}

/// The words of a server inside an error: the first, which is in capitals, and the rest.
pub(super) fn said(error: &FredError) -> Option<(&str, Option<&str>)> {
    if matches!(
        error.kind(),
        FredKind::IO | FredKind::Canceled | FredKind::Timeout | FredKind::Backpressure
    ) {
        return None;
    }
    let (code, details) = match error.details().split_once(' ') {
        Some((code, details)) => (code, Some(details)),
        None => (error.details(), None),
    };
    let is_code = code.len() > 2
        && code
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    is_code.then_some((code, details))
}

/// What went wrong with a command. Where replicas are allowed, READONLY is an answer like any other.
pub(super) fn cause(error: &FredError, replicas: bool) -> Cause {
    if let Some((code, details)) = said(error) {
        // fred ends a client that hears CLUSTERDOWN, and answers everything that was in flight with it.
        if code == "CLUSTERDOWN" {
            return Cause::GivenUp;
        }
        return match server_errors::state(code, details) {
            Some(ErrorKind::ReadOnly) if replicas => Cause::Answered(code.to_owned()),
            Some(kind) => Cause::Condemned(kind, code.to_owned()),
            None => Cause::Answered(code.to_owned()),
        };
    }
    match error.kind() {
        FredKind::Timeout => Cause::Late,
        FredKind::Backpressure => Cause::Full,
        FredKind::IO | FredKind::Canceled | FredKind::Routing | FredKind::Protocol => {
            Cause::GivenUp
        }
        FredKind::Parse | FredKind::NotFound => Cause::Unread,
        // What becomes of commands whose client has no task any more has no kind of its own.
        FredKind::Unknown if TASKLESS.contains(&error.details()) => Cause::GivenUp,
        _ => Cause::Mistake,
    }
}

const TASKLESS: [&str; 5] = [
    "channel closed",
    "Client is not initialized.",
    "Failed to send command to router.",
    "Failed to route command.",
    "Too many failed write attempts.",
];

/// The server does not know HELLO.
pub(super) fn is_old(error: &DialError) -> bool {
    match error {
        DialError::Fred(error) => said(error).is_some_and(|(_, details)| {
            details.is_some_and(|details| details.starts_with("unknown command"))
        }),
        DialError::Ours(_) | DialError::Ended => false,
    }
}

/// Why a client could not be opened. fred keeps of the system's errors only what their `Debug` shows.
pub(super) fn of_setup(error: &FredError, address: &Address, with_password: bool) -> Error {
    if let Some((code, details)) = said(error) {
        return server_errors::of_handshake(
            code,
            details.unwrap_or_default(),
            address,
            with_password,
        );
    }
    let details = error.details();
    let holds = |words: &[&str]| words.iter().any(|word| details.contains(word));
    let (kind, text) = match error.kind() {
        FredKind::Timeout => (ErrorKind::Timeout, "does not answer"),
        FredKind::IO if holds(&["ConnectionRefused"]) => {
            (ErrorKind::Refused, "refused the connection")
        }
        FredKind::IO if holds(&["NotFound"]) => (ErrorKind::Refused, "does not exist"),
        FredKind::IO if holds(&["HostUnreachable", "NetworkUnreachable"]) => {
            (ErrorKind::Refused, "cannot be reached")
        }
        FredKind::IO if holds(&["lookup address", "Failed to resolve"]) => {
            (ErrorKind::Refused, "does not resolve")
        }
        FredKind::IO if holds(&["TimedOut"]) => (ErrorKind::Timeout, "does not answer"),
        // A refused certificate and the like are invalid data to the system.
        FredKind::IO if matches!(address, Address::Tls(..)) && holds(&["InvalidData"]) => {
            return Error::new(
                ErrorKind::Tls,
                format!("{address}: TLS failed: {}", certificate(details)),
            )
            .with_operation("connect");
        }
        FredKind::IO | FredKind::Canceled => {
            (ErrorKind::Lost, "ended the connection during the handshake")
        }
        _ => (ErrorKind::Protocol, "did not answer as a Redis server does"),
    };
    Error::new(kind, format!("{address} {text}")).with_operation("connect")
}

/// `Custom { kind: InvalidData, error: InvalidCertificate(UnknownIssuer) }`, without what surrounds it.
fn certificate(details: &str) -> &str {
    details
        .split_once("error: ")
        .map_or(details, |(_, error)| error.trim_end_matches([' ', '}']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: FredKind, details: &str) -> FredError {
        FredError::new(kind, details.to_owned())
    }

    // P156, P164
    #[test]
    fn errors_are_judged_by_their_first_word_and_else_by_kind() {
        let rejected = |kind, code: &str| Cause::Condemned(kind, code.to_owned());
        let answered = |code: &str| Cause::Answered(code.to_owned());
        for (kind, details, expected) in [
            (
                FredKind::Unknown,
                "READONLY You can't write against a read only replica.",
                rejected(ErrorKind::ReadOnly, "READONLY"),
            ),
            (
                FredKind::Unknown,
                "LOADING Redis is loading the dataset in memory",
                rejected(ErrorKind::Unhealthy, "LOADING"),
            ),
            (
                FredKind::Unknown,
                "MASTERDOWN Link with MASTER is down",
                rejected(ErrorKind::Unhealthy, "MASTERDOWN"),
            ),
            (
                FredKind::Unknown,
                "EXECABORT Transaction discarded because of: READONLY You can't",
                rejected(ErrorKind::ReadOnly, "EXECABORT"),
            ),
            (
                FredKind::Unknown,
                "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)",
                rejected(ErrorKind::ReadOnly, "UNBLOCKED"),
            ),
            // It ends the client, and speaks for commands that may have been applied.
            (FredKind::Cluster, "CLUSTERDOWN Hash slot", Cause::GivenUp),
            (
                FredKind::Cluster,
                "MOVED 3999 127.0.0.1:6381",
                answered("MOVED"),
            ),
            (
                FredKind::Auth,
                "NOAUTH Authentication required.",
                answered("NOAUTH"),
            ),
            (
                FredKind::Unknown,
                "NOPERM this user has no",
                answered("NOPERM"),
            ),
            (
                FredKind::InvalidArgument,
                "WRONGTYPE Operation against",
                answered("WRONGTYPE"),
            ),
            (FredKind::Unknown, "ERR syntax error", answered("ERR")),
            (FredKind::IO, "Connection closed.", Cause::GivenUp),
            (FredKind::IO, "OS error", Cause::GivenUp),
            (
                FredKind::Canceled,
                "Connection closed unexpectedly.",
                Cause::GivenUp,
            ),
            (FredKind::Unknown, "channel closed", Cause::GivenUp),
            (
                FredKind::Unknown,
                "Client is not initialized.",
                Cause::GivenUp,
            ),
            (FredKind::Timeout, "Request timed out.", Cause::Late),
            (FredKind::Backpressure, "", Cause::Full),
            (FredKind::Parse, "Could not convert to u64", Cause::Unread),
            (FredKind::NotFound, "Cannot parse nil", Cause::Unread),
            (FredKind::InvalidArgument, "Missing keys", Cause::Mistake),
            (FredKind::Unknown, "the caller's own words", Cause::Mistake),
            (FredKind::Unknown, "", Cause::Mistake),
        ] {
            assert_eq!(cause(&error(kind, details), false), expected, "{details}");
        }
        let readonly = error(FredKind::Unknown, "READONLY You can't write");
        assert_eq!(cause(&readonly, true), answered("READONLY"));
    }

    // P161, P164
    #[test]
    fn what_kept_a_client_from_opening_is_told_apart() {
        let tcp = Address::Tcp("h".into(), 1);
        let tls = Address::Tls("h".into(), 1);
        for (kind, details, address, expected, text) in [
            (
                FredKind::IO,
                "Os { code: 111, kind: ConnectionRefused, message: \"Connection refused\" }",
                &tcp,
                ErrorKind::Refused,
                "refused",
            ),
            (
                FredKind::IO,
                "Custom { kind: Uncategorized, error: \"failed to lookup address information: Name\" }",
                &tcp,
                ErrorKind::Refused,
                "resolve",
            ),
            (
                FredKind::IO,
                "Custom { kind: InvalidData, error: InvalidCertificate(UnknownIssuer) }",
                &tls,
                ErrorKind::Tls,
                "InvalidCertificate(UnknownIssuer)",
            ),
            (
                FredKind::IO,
                "Os { code: 104, kind: ConnectionReset, message: \"reset\" }",
                &tcp,
                ErrorKind::Lost,
                "handshake",
            ),
            (
                FredKind::Timeout,
                "Request timed out.",
                &tcp,
                ErrorKind::Timeout,
                "answer",
            ),
            (
                FredKind::Auth,
                "NOAUTH HELLO must be called",
                &tcp,
                ErrorKind::Auth,
                "a password is needed",
            ),
            (
                FredKind::Auth,
                "WRONGPASS invalid username-password pair",
                &tcp,
                ErrorKind::Auth,
                "refused the user name or password",
            ),
            (
                FredKind::Unknown,
                "LOADING Redis is loading",
                &tcp,
                ErrorKind::Unhealthy,
                "LOADING",
            ),
            (
                FredKind::Protocol,
                "Decode Error",
                &tcp,
                ErrorKind::Protocol,
                "Redis",
            ),
        ] {
            let error = of_setup(&error(kind, details), address, true);
            assert_eq!(error.kind(), expected, "{error}");
            assert!(error.message().contains(text), "{error}");
        }
        assert!(is_old(&DialError::Fred(error(
            FredKind::Unknown,
            "ERR unknown command `HELLO`"
        ))));
    }
}
