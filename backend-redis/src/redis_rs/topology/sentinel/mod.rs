//! A member that is whatever server the sentinels call the master of a name.
//!
//! ```text
//!  ask        one question to one sentinel: where is the master, and as of which epoch
//!  sentinels  all of them: in order, the one that answers first in front, and kept
//!  reach      a server that they tell of, connected and asked whether it is a master
//!  steward    the task that leaves a socket and finds the next one, within the connection
//! ```
//!
//! A master that moves inside the member is no failover of the group. The group moves when the member could not help
//! itself within `member_failover`: then, and only then, the connection says that it is lost.
//!
//! A sentinel may be behind the others, or cut off from them. Its word counts only if its *epoch*, which grows with each
//! failover, is no older than what was known; and a server is used only if it says itself that it is a master.

mod ask;
mod reach;
mod sentinels;
mod steward;

use backend_api::Error;

use crate::options::Options;
use crate::place::sentinel::NamedMaster;
use crate::redis_rs::connection::{Connection, Terms};
use crate::redis_rs::line::Line;
use crate::redis_rs::link::Link;
use reach::Reach;
use sentinels::Sentinels;
use steward::{Bounds, Steward};

/// Asks for the master, connects there, and has a task look after it from then on. No deadline of its own.
pub(crate) async fn connect(
    place: NamedMaster,
    options: &Options,
    terms: Terms,
) -> Result<Connection, Error> {
    let count = u32::try_from(place.sentinels.len()).unwrap_or(u32::MAX);
    // Each of them must have had its turn within the dial, and the master too.
    let each = terms.operation.min(terms.dial / count.saturating_add(1));
    let mut sentinels = Sentinels::new(place.sentinels, place.master.clone(), options, each);
    let reach = Reach {
        server: place.server,
        tls: place.tls,
        options: options.clone(),
        operation: terms.operation,
        bound: terms.dial.min(terms.operation * 2),
    };
    let found = reach.find(&mut sentinels, None).await?;
    let (signals, prove) = (terms.signals.clone(), terms.prove);
    let db = reach.server.db;
    let address = found.connector.target.address.clone();
    let link = Link::One(found.link);
    let line = Line::new(link, address, Some(found.connector), true);
    let connection = Connection::over(line, db, None, terms);
    let steward = Steward::new(
        place.master,
        &connection,
        signals,
        sentinels,
        reach,
        found.told,
        Bounds {
            prove,
            failover: options.member_failover,
        },
    );
    steward.start(&connection, found.driver);
    Ok(connection)
}
