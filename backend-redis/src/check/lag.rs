//! `lag`: how far a replica is behind its master, by the offsets that both tell.
//!
//! See [`LagCheck`] for what is compared with what.

use std::time::Duration;

use backend_api::{Error, ErrorKind, Health, HealthCheck, Probe, async_trait};
use tokio::time::timeout;

use super::driver::{Driver, verdict};
use crate::check::driver::Watched as _;
use crate::replication;

/// `lag`: the member is no replica, or one that follows its master closely enough.
///
/// - A master passes, and so do members that are independent databases: each is a master, and nothing is compared. (How far
///   databases are apart that something else than Redis' own replication keeps alike cannot be told from offsets; for Redis
///   Enterprise there is `lag-aware`.)
/// - A replica fails while it copies everything anew, and when it has been without its master for longer than
///   [`lag_time`](crate::Options::lag_time).
/// - Where the master is a connected member of the group and checked by `lag` too, a replica fails if it has not yet what its
///   master had `lag_time` ago (as of the master's checks: to within `health.interval`), and if it is more than
///   [`lag_bytes`](crate::Options::lag_bytes) behind what its master has now; the master is asked first, so that the answer is
///   never better than the truth. A master that does not answer is taken to be where it last said that it was.
/// - A member that is several servers has a master as a whole: it passes as by `ping`.
/// - Where the master is nobody's member, only the state of the link between the two is known.
///
/// A replica becomes active only with `allow_replicas`. Without that the check tells people how a replica is; once somebody
/// makes it a master it passes, whatever it lacks: for that there is
/// [`wait_for_replication`](crate::Options::wait_for_replication).
#[derive(Clone, Copy, Debug, Default)]
pub struct LagCheck;

#[async_trait]
impl<D: Driver> HealthCheck<D> for LagCheck {
    fn name(&self) -> &str {
        "lag"
    }

    async fn check(&self, probe: Probe<'_, D>) -> Health {
        match probe.connection.several(probe.timeout).await {
            Some(health) => health,
            None => verdict(close_enough(probe).await),
        }
    }
}

async fn close_enough<D: Driver>(probe: Probe<'_, D>) -> Result<(), Error> {
    let (options, board) = (probe.backend.options(), probe.backend.board());
    let connection = probe.connection;
    let said = replication::ask(connection).await?.ok_or_else(|| {
        unhealthy("it does not tell of its replication (INFO replication)".to_owned())
    })?;
    if said.is_master {
        board.write(&said, connection.link());
        return Ok(());
    }
    if said.copies {
        return Err(unhealthy(
            "the replica copies its master's data anew".to_owned(),
        ));
    }
    if let Some(seconds) = said.alone
        && Duration::from_secs(seconds) > options.lag_time
    {
        return Err(unhealthy(match seconds {
            u64::MAX => "the replica has never been connected to its master".to_owned(),
            seconds => format!("the replica has been without its master for {seconds}s"),
        }));
    }
    let master = ask_master(probe, &said.id).await;
    if let Some(then) = board.place(&said.id, options.lag_time)
        && said.offset < then
    {
        let (bytes, time) = (then - said.offset, options.lag_time);
        return Err(unhealthy(format!(
            "the replica lacks {bytes} bytes of what its master had {time:?} ago"
        )));
    }
    let (Some(most), Some(now)) = (options.lag_bytes, master) else {
        return Ok(());
    };
    // The master was asked first. Asked again, the replica has had the time of a round trip more, and not less.
    let own = replication::ask(connection).await.ok().flatten();
    let own = own.filter(|own| own.id == said.id).unwrap_or(said);
    match now.saturating_sub(own.offset) {
        bytes if bytes > most => Err(unhealthy(format!(
            "the replica is {bytes} bytes behind its master (lag_bytes is {most})"
        ))),
        _ => Ok(()),
    }
}

/// Where the master of a history is now, or last said that it was. A master that is silent must not make its replica time out.
async fn ask_master<D: Driver>(probe: Probe<'_, D>, id: &str) -> Option<u64> {
    let board = probe.backend.board();
    let link = board.master(id)?;
    let answer = timeout(probe.timeout / 3, replication::ask(&link)).await;
    match answer {
        Ok(Ok(Some(said))) if said.is_master && said.id == id => {
            board.write(&said, link);
            Some(said.offset)
        }
        _ => board.place(id, Duration::ZERO),
    }
}

fn unhealthy(text: String) -> Error {
    Error::new(ErrorKind::Unhealthy, text)
}
