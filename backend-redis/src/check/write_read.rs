//! `write-read`: what is written can be read.
//!
//! Finds what a PING does not: a server that is full, that refuses writes because it cannot save, or that is a replica.

use backend_api::{Error, ErrorKind, Health, HealthCheck, Probe, async_trait};

use tokio::time::timeout;

use super::driver::{Driver, verdict};
use crate::check::driver::Watched as _;
use crate::probe::{self, Ask as _, Said};

/// `write-read`: writes [`check_key`](crate::Options::check_key) and reads it back, in one transaction. A read-only replica
/// fails it even where replicas are allowed, and so does a server that is out of memory.
///
/// It writes into the member's database, and the key is there for ten seconds after the last probe.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteReadCheck;

const LIFE: &str = "10000";

#[async_trait]
impl<D: Driver> HealthCheck<D> for WriteReadCheck {
    fn name(&self) -> &str {
        "write-read"
    }

    async fn check(&self, probe: Probe<'_, D>) -> Health {
        match probe.connection.several(probe.timeout / 2).await {
            None => verdict(write_and_read(probe).await),
            Some(Health::Healthy) => within_several(probe).await,
            Some(health) => health,
        }
    }
}

/// Of a member that is several servers and was well just now: what came in between is its own business, and the next probe
/// sees what became of it.
async fn within_several<D: Driver>(probe: Probe<'_, D>) -> Health {
    let asked = timeout(probe.timeout / 4, write_and_read(probe)).await;
    let reason = match asked {
        Ok(Ok(())) => return Health::Healthy,
        Ok(Err(reason)) if reason.kind() == ErrorKind::Unhealthy => reason,
        Ok(Err(_moved)) => return Health::Inconclusive,
        Err(_late) => Error::new(ErrorKind::Timeout, "the write was not answered in time"),
    };
    match probe.connection.several(probe.timeout / 8).await {
        Some(Health::Healthy) | None => Health::Unhealthy(reason),
        Some(health) => health,
    }
}

async fn write_and_read<D: Driver>(probe: Probe<'_, D>) -> Result<(), Error> {
    let key = &probe.backend.options().check_key;
    let key = key.replace("{member}", probe.member.name.as_str());
    // Other processes write the same key: a transaction reads back its own value.
    let value = format!("{:?}", std::time::SystemTime::now());
    // Written to the shared socket as one: nobody else's commands come in between.
    let questions: [&[&str]; 4] = [
        &["MULTI"],
        &["SET", &key, &value, "PX", LIFE],
        &["GET", &key],
        &["EXEC"],
    ];
    let mut answers = probe.connection.ask(&questions).await?;
    let last = match answers.pop() {
        Some(Said::List(inside)) => {
            answers = inside;
            answers.pop()
        }
        other => other,
    };
    match last {
        Some(Said::Text(read)) if read == value => return Ok(()),
        Some(refused @ Said::Refused(..)) => answers.push(refused),
        _ => {}
    }
    Err(refused(&answers).unwrap_or_else(|| {
        Error::new(
            ErrorKind::Unhealthy,
            "what was just written was not what could be read",
        )
    }))
}

/// Of a transaction that was not run, what was refused says more than that it was not run, which comes last.
#[cold]
fn refused(answers: &[Said]) -> Option<Error> {
    answers.iter().find_map(|said| match said {
        Said::Refused(code, details) => Some(probe::refusal("SET", code, details.as_deref())),
        _ => None,
    })
}
