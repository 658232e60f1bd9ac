//! Asking a server whether it can carry traffic: PING, ROLE, and what their answers mean.
//!
//! Both are needed. A replica whose master is gone answers PONG, and a server that is loading says that it is a master.
//!
//! Nothing here has a deadline: `timeouts.prove` and `health.timeout` are the engine's, which drops what takes longer.

use backend_api::{Error, ErrorKind};
use redis::{Cmd, RedisError, ServerErrorKind, Value};

use crate::connection::Connection;
use crate::error;

/// PING and ROLE in one round trip.
pub(crate) async fn ping_and_role(
    connection: &Connection,
    allow_replicas: bool,
) -> Result<(), Error> {
    let mut pipeline = redis::pipe();
    pipeline.cmd("PING").cmd("ROLE");
    let answers = connection
        .unbounded()
        .pipeline(&pipeline, 0, 2)
        .await
        .map_err(|error| silence(connection, &error))?;
    let [pong, role] = <[Value; 2]>::try_from(answers)
        .map_err(|_other| Error::new(ErrorKind::Protocol, "two answers were expected"))?;
    judge_ping(&pong)?;
    judge_role(connection, role, allow_replicas).await
}

pub(crate) async fn ping(connection: &Connection) -> Result<(), Error> {
    judge_ping(&ask(connection, &redis::cmd("PING")).await?)
}

pub(crate) async fn role(connection: &Connection, allow_replicas: bool) -> Result<(), Error> {
    let answer = ask(connection, &redis::cmd("ROLE")).await?;
    judge_role(connection, answer, allow_replicas).await
}

async fn ask(connection: &Connection, command: &Cmd) -> Result<Value, Error> {
    connection
        .unbounded()
        .command(command)
        .await
        .map_err(|error| silence(connection, &error))
}

/// No answer at all.
fn silence(connection: &Connection, error: &RedisError) -> Error {
    if error.is_timeout() {
        Error::new(
            ErrorKind::Timeout,
            format!("{} does not answer", connection.address()),
        )
    } else {
        connection.interrupted()
    }
}

fn judge_ping(answer: &Value) -> Result<(), Error> {
    match answer {
        Value::SimpleString(text) if text == "PONG" => Ok(()),
        Value::BulkString(bytes) if bytes == b"PONG" => Ok(()),
        Value::ServerError(error) => Err(refusal("PING", error)),
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
    connection: &Connection,
    answer: Value,
    allow_replicas: bool,
) -> Result<(), Error> {
    let role = match &answer {
        Value::Array(fields) => fields.first().and_then(text).map(str::to_owned),
        Value::ServerError(error) if not_permitted(error) => {
            // Managed services forbid ROLE to their users, and answer the same question here.
            let mut info = redis::cmd("INFO");
            info.arg("replication");
            match ask(connection, &info).await? {
                Value::ServerError(error) => return Err(refusal("ROLE and INFO", &error)),
                answer => text(&answer).and_then(role_in_info).map(str::to_owned),
            }
        }
        Value::ServerError(error) => return Err(refusal("ROLE", error)),
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

fn not_permitted(error: &redis::ServerError) -> bool {
    error.kind() == Some(ServerErrorKind::NoPerm)
        || error
            .details()
            .is_some_and(|details| details.starts_with("unknown command"))
}

fn role_in_info(info: &str) -> Option<&str> {
    info.lines()
        .find_map(|line| line.strip_prefix("role:"))
        .map(str::trim)
}

fn refusal(command: &str, error: &redis::ServerError) -> Error {
    if let Some(kind) = error::state(error) {
        return error::condemnation(kind, error);
    }
    match error.code() {
        "NOAUTH" => Error::new(ErrorKind::Auth, "a password is needed"),
        code => Error::new(
            ErrorKind::Unhealthy,
            format!(
                "{command} was answered {code} {}",
                error.details().unwrap_or_default()
            ),
        ),
    }
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => Some(text),
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}

/// What kind of answer it was, without its content.
fn shape(value: &Value) -> &'static str {
    match value {
        Value::Nil => "nil",
        Value::Int(_) => "a number",
        Value::SimpleString(_) | Value::BulkString(_) | Value::VerbatimString { .. } => {
            "another text"
        }
        Value::Okay => "OK",
        Value::Array(_) => "an array",
        Value::ServerError(_) => "an error",
        _ => "something else",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // P150
    #[test]
    fn only_pong_is_healthy() {
        assert!(judge_ping(&Value::SimpleString("PONG".into())).is_ok());
        assert!(judge_ping(&Value::BulkString(b"PONG".to_vec())).is_ok());
        for other in [
            Value::Okay,
            Value::Nil,
            Value::SimpleString("PING".into()),
            Value::Array(vec![]),
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
