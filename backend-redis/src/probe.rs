//! Asking a server whether it can carry traffic: PING, ROLE, and what their answers mean.
//!
//! Both are needed. A replica whose master is gone answers PONG, and a server that is loading says that it is a master.
//! Each driver says how a question is put ([`Ask`]); what is asked and how it is judged stands here, once.
//!
//! Nothing here has a deadline: `timeouts.prove` and `health.timeout` are the engine's, which drops what takes longer.

use backend_api::{Error, ErrorKind};

use crate::server_errors;

/// What a server answered, as far as it matters here.
#[derive(Debug)]
pub(crate) enum Said {
    Text(String),
    /// An array or another list.
    List(Vec<Said>),
    /// An error: its first word and the rest.
    Refused(String, Option<String>),
    /// What kind of answer it was, without its content.
    Other(&'static str),
}

/// A connection on which questions can be put, all in one round trip. No answer at all is an error.
pub(crate) trait Ask: Sync {
    fn ask(&self, questions: &[&[&str]]) -> impl Future<Output = Result<Vec<Said>, Error>> + Send;
}

const PING: &[&str] = &["PING"];
const ROLE: &[&str] = &["ROLE"];
pub(crate) const INFO: &[&str] = &["INFO", "replication"];

/// PING and ROLE in one round trip.
pub(crate) async fn ping_and_role(
    connection: &impl Ask,
    allow_replicas: bool,
) -> Result<(), Error> {
    let answers = connection.ask(&[PING, ROLE]).await?;
    let [pong, role] = <[Said; 2]>::try_from(answers)
        .map_err(|_other| Error::new(ErrorKind::Protocol, "two answers were expected"))?;
    judge_ping(&pong)?;
    judge_role(connection, role, allow_replicas).await
}

pub(crate) async fn ping(connection: &impl Ask) -> Result<(), Error> {
    judge_ping(&one(connection, PING).await?)
}

pub(crate) async fn role(connection: &impl Ask, allow_replicas: bool) -> Result<(), Error> {
    let answer = one(connection, ROLE).await?;
    judge_role(connection, answer, allow_replicas).await
}

pub(crate) async fn one(connection: &impl Ask, question: &[&str]) -> Result<Said, Error> {
    let mut answers = connection.ask(&[question]).await?;
    answers
        .pop()
        .ok_or_else(|| Error::new(ErrorKind::Protocol, "an answer was expected"))
}

fn judge_ping(answer: &Said) -> Result<(), Error> {
    match answer {
        Said::Text(text) if text == "PONG" => Ok(()),
        Said::Refused(code, details) => Err(refusal("PING", code, details.as_deref())),
        other => Err(Error::new(
            ErrorKind::Unhealthy,
            format!(
                "PING was answered by something else than PONG: {}",
                shape(other)
            ),
        )),
    }
}

async fn judge_role(
    connection: &impl Ask,
    answer: Said,
    allow_replicas: bool,
) -> Result<(), Error> {
    let role = match &answer {
        Said::List(fields) => match fields.first() {
            Some(Said::Text(role)) => Some(role.clone()),
            _ => None,
        },
        Said::Refused(code, details) if server_errors::is_withheld(code, details.as_deref()) => {
            // Managed services forbid ROLE to their users, and answer the same question here.
            match one(connection, INFO).await? {
                Said::Refused(code, details) => {
                    return Err(refusal("ROLE and INFO", &code, details.as_deref()));
                }
                Said::Text(info) => role_in_info(&info).map(str::to_owned),
                _ => None,
            }
        }
        Said::Refused(code, details) => return Err(refusal("ROLE", code, details.as_deref())),
        _ => None,
    };
    match role.as_deref() {
        Some("master") => Ok(()),
        Some("slave" | "replica") if allow_replicas => Ok(()),
        Some("slave" | "replica") => Err(Error::new(
            ErrorKind::ReadOnly,
            "the server is a read-only replica (allow_replicas permits it)",
        )),
        Some("sentinel") => Err(Error::new(
            ErrorKind::Unhealthy,
            "this is a sentinel, not a Redis that holds data",
        )),
        _ => Err(Error::new(
            ErrorKind::Unhealthy,
            format!("the server does not tell its role: {}", shape(&answer)),
        )),
    }
}

fn role_in_info(info: &str) -> Option<&str> {
    info.lines()
        .find_map(|line| line.strip_prefix("role:"))
        .map(str::trim)
}

pub(crate) fn refusal(command: &str, code: &str, details: Option<&str>) -> Error {
    if let Some(kind) = server_errors::state(code, details) {
        return server_errors::condemnation(kind, code);
    }
    match code {
        "NOAUTH" => Error::new(ErrorKind::Auth, "a password is needed"),
        code => Error::new(
            ErrorKind::Unhealthy,
            format!(
                "{command} was answered {code} {}",
                details.unwrap_or_default()
            ),
        ),
    }
}

fn shape(said: &Said) -> &'static str {
    match said {
        Said::Text(_) => "another text",
        Said::List(_) => "an array",
        Said::Refused(..) => "an error",
        Said::Other(shape) => shape,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // P150
    #[test]
    fn only_pong_is_healthy() {
        assert!(judge_ping(&Said::Text("PONG".into())).is_ok());
        for other in [
            Said::Text("PING".into()),
            Said::List(Vec::new()),
            Said::Other("nil"),
        ] {
            let error = judge_ping(&other).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unhealthy, "{other:?}");
        }
    }

    #[test]
    fn the_role_is_found_in_info() {
        assert_eq!(
            role_in_info("# Replication\r\nrole:slave\r\nx:y\r\n"),
            Some("slave")
        );
        assert_eq!(role_in_info("x:y"), None);
    }
}
