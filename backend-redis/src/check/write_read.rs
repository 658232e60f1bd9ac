//! `write-read`: what is written can be read.
//!
//! Finds what a PING does not: a server that is full, that refuses writes because it cannot save, or that is a replica.

use backend_api::{Error, ErrorKind, Health, HealthCheck, Probe, async_trait};
use redis::{FromRedisValue, RedisError, ServerError, ServerErrorKind, Value};

use super::verdict;
use crate::backend::Redis;
use crate::probe;

/// `write-read`: writes [`check_key`](crate::Options::check_key) and reads it back, in one transaction. A read-only replica
/// fails it even where replicas are allowed, and so does a server that is out of memory.
///
/// It writes into the member's database, and the key is there for ten seconds after the last probe.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteReadCheck;

const LIFE: u64 = 10_000;

#[async_trait]
impl HealthCheck<Redis> for WriteReadCheck {
    fn name(&self) -> &str {
        "write-read"
    }

    async fn check(&self, probe: Probe<'_, Redis>) -> Health {
        verdict(write_and_read(probe).await)
    }
}

async fn write_and_read(probe: Probe<'_, Redis>) -> Result<(), Error> {
    let connection = probe.connection;
    let key = &probe.backend.options().check_key;
    let key = key.replace("{member}", connection.signals().member().as_str());
    // Other processes write the same key: a transaction reads back its own value.
    let value = format!("{:?}", std::time::SystemTime::now());
    let mut pipeline = redis::pipe();
    pipeline.atomic();
    pipeline
        .cmd("SET")
        .arg(&key)
        .arg(&value)
        .arg("PX")
        .arg(LIFE);
    pipeline.cmd("GET").arg(&key);
    let answers = connection
        .unbounded()
        .send_packed_commands(&pipeline, pipeline.len() + 1, 1)
        .await
        .map_err(|error| refused(probe, &error))?;
    let read = match <[Value; 1]>::try_from(answers) {
        Ok([Value::Array(inside)]) if inside.len() == 2 => inside.into_iter().last(),
        Ok([Value::ServerError(error)]) => return Err(refused(probe, &error.into())),
        _ => None,
    };
    let read = read.map(Value::extract_error).transpose();
    let read = read.map_err(|error| refused(probe, &error))?;
    let read = read.and_then(|value| String::from_redis_value(value).ok());
    if read.as_ref() == Some(&value) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Unhealthy,
        "what was just written was not what could be read",
    ))
}

/// Of a transaction that was not run, what was refused says more than that it was not run.
#[cold]
fn refused(probe: Probe<'_, Redis>, error: &RedisError) -> Error {
    if error.is_io_error() || error.is_unrecoverable_error() {
        return probe::silence(probe.connection, error);
    }
    let said = error.clone().into_server_errors().unwrap_or_default();
    let aborted = |said: &ServerError| said.kind() == Some(ServerErrorKind::ExecAbort);
    let cause = said
        .iter()
        .find(|(_, said)| !aborted(said))
        .or(said.first());
    match cause {
        Some((_, said)) => probe::refusal("SET", said),
        None => Error::new(ErrorKind::Unhealthy, "the server refused to write"),
    }
}
