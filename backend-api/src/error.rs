//! The one error type of contract and engine.
//!
//! An error says what happened, to which member, in which operation, and what is known of the fate of the
//! operation. Decisions read [`ErrorKind`], never text. Errors are cheap to clone, because one reason answers
//! all who wait for it. Texts must be free of secrets: backends describe an address, never a URL with its
//! password.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use crate::MemberName;

/// What went wrong, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The configuration is not usable. Nothing was changed.
    Config,
    /// The member refused the connection, or its name does not resolve: it answered "no" at once.
    Refused,
    /// No answer within the time allowed.
    Timeout,
    /// The connection ended.
    Lost,
    /// The member does not accept the credentials.
    Auth,
    /// TLS could not be agreed.
    Tls,
    /// The member answered something that its protocol does not allow here.
    Protocol,
    /// The member is there and says that it cannot serve (loading, no master, a failing check).
    Unhealthy,
    /// The member is a read-only replica: never promoted, not even as a last resort.
    ReadOnly,
    /// The group has no active member.
    NoActive,
    /// The connection was retired by the engine while the operation was using it.
    Retired,
    /// The active changed under something that cannot go on elsewhere, like WATCH..EXEC.
    Moved,
    /// The operation does not fit this connection; the text says what to use.
    Unsupported,
    /// There is no member of that name.
    UnknownMember,
    /// There is a member of that name already.
    DuplicateMember,
    /// The member cannot be used for what was asked: unhealthy, disabled or not connected.
    NotEligible,
    /// The last member of a group cannot be removed or disabled.
    LastMember,
    /// A planned move was given up; the active is what it was before.
    Aborted,
    /// The startup policy cannot be met.
    Startup,
    /// The group is closed.
    Closed,
    /// A backend, a check or a callback panicked.
    Panicked,
    /// Anything else.
    Other,
}

impl ErrorKind {
    /// Whether the same thing may succeed on another member, or later, without anybody changing anything. It says nothing
    /// about what already happened: see [`Error::fate`].
    pub fn is_retryable(self) -> bool {
        use ErrorKind as K;
        match self {
            K::Refused
            | K::Timeout
            | K::Lost
            | K::Auth
            | K::Tls
            | K::Protocol
            | K::Unhealthy
            | K::ReadOnly
            | K::NoActive
            | K::Retired
            | K::Moved
            | K::NotEligible
            | K::Aborted
            | K::Startup
            | K::Panicked => true,
            K::Config
            | K::Unsupported
            | K::UnknownMember
            | K::DuplicateMember
            | K::LastMember
            | K::Closed
            | K::Other => false,
        }
    }
}

/// What is known about whether a failed operation took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fate {
    /// It certainly took no effect.
    NotApplied,
    /// It may have been applied: the request was sent, its answer never came.
    MayHaveBeenApplied,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotApplied => "it was not applied",
            Self::MayHaveBeenApplied => "it may have been applied",
        })
    }
}

/// What went wrong, where, and what became of the operation. Built with `new` and the `with_` methods.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    member: Option<MemberName>,
    operation: Option<String>,
    fate: Option<Fate>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// What operations of the contract answer.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of a kind. `message` says what happened, and where it helps what to do about it.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Arc::new(Inner {
            kind,
            message: message.into(),
            member: None,
            operation: None,
            fate: None,
            source: None,
        }))
    }

    /// The same error, naming the member it is about.
    #[must_use]
    pub fn with_member(self, member: &MemberName) -> Self {
        self.with(|inner| inner.member = Some(member.clone()))
    }

    /// The same error, naming the operation that failed, such as `connect` or `GET`. Never its arguments.
    #[must_use]
    pub fn with_operation(self, operation: impl Into<String>) -> Self {
        let operation = operation.into();
        self.with(|inner| inner.operation = Some(operation))
    }

    /// The same error, saying whether the operation took effect.
    #[must_use]
    pub fn with_fate(self, fate: Fate) -> Self {
        self.with(|inner| inner.fate = Some(fate))
    }

    /// The same error with its cause.
    #[must_use]
    pub fn with_source(self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.with(|inner| inner.source = Some(Arc::new(source)))
    }

    fn with(self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = Arc::unwrap_or_clone(self.0);
        change(&mut inner);
        Self(Arc::new(inner))
    }

    /// What went wrong, for programs.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The text without member, operation and fate.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The member it is about.
    pub fn member(&self) -> Option<&MemberName> {
        self.0.member.as_ref()
    }

    /// The operation that failed.
    pub fn operation(&self) -> Option<&str> {
        self.0.operation.as_deref()
    }

    /// What is known about whether the operation took effect; `None` where it could have none.
    pub fn fate(&self) -> Option<Fate> {
        self.0.fate
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.0.member, &self.0.operation) {
            (Some(member), Some(operation)) => write!(f, "{member}: {operation}: ")?,
            (Some(member), None) => write!(f, "{member}: ")?,
            (None, Some(operation)) => write!(f, "{operation}: ")?,
            (None, None) => {}
        }
        f.write_str(&self.0.message)?;
        match self.0.fate {
            Some(fate) => write!(f, " ({fate})"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({:?}: {self})", self.0.kind)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0
            .source
            .as_ref()
            .map(|source| &**source as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_where_what_and_the_fate() {
        let error = Error::new(ErrorKind::Lost, "the connection ended")
            .with_member(&"east".into())
            .with_operation("INCR")
            .with_fate(Fate::MayHaveBeenApplied);
        assert_eq!(
            error.to_string(),
            "east: INCR: the connection ended (it may have been applied)"
        );
        assert_eq!(error.kind(), ErrorKind::Lost);
        assert_eq!(error.operation(), Some("INCR"));
        assert!(error.kind().is_retryable());
        assert_eq!(error.clone().fate(), Some(Fate::MayHaveBeenApplied));
    }
}
