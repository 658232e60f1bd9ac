//! What a server says instead of an answer, in the words of the contract.
//!
//! Every driver hands its server errors in here as their first word and the rest of the line, so that a server is judged
//! the same through each of them; no driver's types here. Decisions are made on the first word, with the exceptions that
//! Redis leaves no word for (marked below). Nothing here may quote arguments, URLs or credentials.

use backend_api::{Error, ErrorKind};

use crate::address::Address;

/// The state in which a server says that it serves nobody, with the kind that condemns it.
pub(crate) fn state(code: &str, details: Option<&str>) -> Option<ErrorKind> {
    match code {
        "READONLY" => Some(ErrorKind::ReadOnly),
        "LOADING" | "MASTERDOWN" | "CLUSTERDOWN" => Some(ErrorKind::Unhealthy),
        // EXEC itself was refused: `Transaction discarded because of: READONLY ..`.
        "EXECABORT" => {
            let (_, reason) = details?.split_once("because of: ")?;
            match reason.trim_start_matches('-').split(' ').next()? {
                "EXECABORT" => None,
                word => state(word, None),
            }
        }
        // Blocked clients of a master that becomes a replica; CLIENT UNBLOCK has the same code, only the text differs.
        "UNBLOCKED" => details?
            .contains("state changed")
            .then_some(ErrorKind::ReadOnly),
        _ => None,
    }
}

/// The kind of an answer that is an error about the command alone.
pub(crate) fn kind(code: &str) -> ErrorKind {
    match code {
        "NOAUTH" | "WRONGPASS" => ErrorKind::Auth,
        "READONLY" => ErrorKind::ReadOnly,
        _ => ErrorKind::Other,
    }
}

/// The error that condemns a member which answered like this.
pub(crate) fn condemnation(kind: ErrorKind, code: &str) -> Error {
    let text = match kind {
        ErrorKind::ReadOnly => "the server is a read-only replica",
        _ => "the server cannot serve",
    };
    Error::new(kind, format!("{text} ({code})"))
}

/// Why a server refused the handshake.
pub(crate) fn of_handshake(
    code: &str,
    details: &str,
    address: &Address,
    with_password: bool,
) -> Error {
    let (kind, text) = match code {
        "NOAUTH" => (ErrorKind::Auth, "a password is needed".to_owned()),
        "WRONGPASS" => (
            ErrorKind::Auth,
            "refused the user name or password".to_owned(),
        ),
        // The old way to say it has no code of its own.
        _ if with_password && details.contains("without any password") => (
            ErrorKind::Auth,
            "refused the password: it has none configured".to_owned(),
        ),
        "NOPERM" => (
            ErrorKind::Auth,
            "does not permit this user to connect (NOPERM)".to_owned(),
        ),
        _ if state(code, Some(details)).is_some() => (
            ErrorKind::Unhealthy,
            format!("cannot serve: {}", line(code, details)),
        ),
        _ => (
            ErrorKind::Unhealthy,
            format!("refused the handshake: {}", line(code, details)),
        ),
    };
    Error::new(kind, format!("{address} {text}")).with_operation("connect")
}

/// A server's own text. It may quote what we sent (never a secret: AUTH and HELLO are not quoted), so only its first
/// line is used.
fn line(code: &str, details: &str) -> String {
    let first = details.lines().next().unwrap_or_default();
    match code {
        "" | "ERR" => first.to_owned(),
        code => format!("{code} {first}"),
    }
}

/// Whether the user may not use a command, or the server does not have it.
pub(crate) fn is_withheld(code: &str, details: Option<&str>) -> bool {
    code == "NOPERM" || details.is_some_and(|details| details.starts_with("unknown command"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// As it stands on the wire, without the minus.
    fn split(line: &str) -> (&str, &str) {
        line.split_once(' ').unwrap()
    }

    /// What servers say of themselves, and what that means: also for whoever takes the words from a driver's answer.
    pub(crate) const STATES: &[(&str, Option<ErrorKind>)] = &[
        ("READONLY You can't write", Some(ErrorKind::ReadOnly)),
        ("LOADING Redis is loading", Some(ErrorKind::Unhealthy)),
        ("MASTERDOWN Link", Some(ErrorKind::Unhealthy)),
        ("CLUSTERDOWN Hash slot", Some(ErrorKind::Unhealthy)),
        (
            "EXECABORT Transaction discarded because of: READONLY You",
            Some(ErrorKind::ReadOnly),
        ),
        (
            "EXECABORT Transaction discarded because of previous errors.",
            None,
        ),
        (
            "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)",
            Some(ErrorKind::ReadOnly),
        ),
        ("UNBLOCKED client unblocked via CLIENT UNBLOCK", None),
        ("WRONGTYPE Operation", None),
        ("ERR unknown command", None),
    ];

    // P156
    #[test]
    fn states_are_told_from_words() {
        for (line, expected) in STATES {
            let (code, details) = split(line);
            assert_eq!(state(code, Some(details)), *expected, "{line}");
        }
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
            let (code, details) = split(line);
            let error = of_handshake(code, details, &address, true);
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.message().contains(text), "{error}");
        }
    }
}
