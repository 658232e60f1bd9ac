//! Proofs and checks of a member that is several servers: what fails on one of them is the member's own business, until it
//! has had the time to help itself.
//!
//! The engine moves the traffic on the word of a proof or a check. So while the member looks for its next master
//! (`member_failover`), the active is not condemned by either: a proof passes for what it was, a check says nothing. When
//! the time is over the connection says that it is lost. A standby gets no such credit: it is not proven, so that nothing
//! is promoted onto a member in that state.

use std::time::Duration;

use backend_api::{Error, ErrorKind, Health};

use crate::probe;
use crate::redis_rs::connection::Connection;
use crate::redis_rs::line::Mood;
#[cfg(feature = "cluster")]
use crate::redis_rs::link::Link;

/// For the engine's proof of exactly this connection.
pub(crate) async fn prove(connection: &Connection) -> Result<(), Error> {
    match look(connection, connection.prove()).await {
        Err(_) if connection.feed().is_heard() && !connection.is_retired() => Ok(()),
        // Never `ReadOnly`: the member as a whole is no replica.
        Err(reason) => Err(unsettled(&reason)),
        Ok(()) => Ok(()),
    }
}

/// For `ping` and `role`, which are one here.
pub(crate) async fn check(connection: &Connection, bound: Duration) -> Health {
    match look(connection, bound).await {
        Ok(()) => Health::Healthy,
        Err(_) if connection.feed().is_heard() => Health::Inconclusive,
        Err(reason) => Health::Unhealthy(unsettled(&reason)),
    }
}

fn unsettled(reason: &Error) -> Error {
    let text = format!("its master is being looked for: {}", reason.message());
    Error::new(ErrorKind::Unhealthy, text)
}

/// Looks at the present socket, in less than `bound`: after that the engine would say that it is dead. Whoever finds
/// something wrong makes the member look at it too.
async fn look(connection: &Connection, bound: Duration) -> Result<(), Error> {
    let line = connection.line();
    if line.phase().mood == Mood::Gone {
        return Err(connection.interrupted());
    }
    let asked = async {
        #[cfg(feature = "cluster")]
        if let Link::Many(mut servers) = connection.shared() {
            return servers.look(&connection.address()).await;
        }
        probe::ping_and_role(connection, false).await
    };
    let asked = tokio::time::timeout(bound / 4 * 3, asked).await;
    let answer = asked.unwrap_or_else(|_late| {
        let text = format!("{} does not answer", connection.address());
        Err(Error::new(ErrorKind::Timeout, text))
    });
    if answer.is_err() {
        line.doubt();
    }
    answer
}
