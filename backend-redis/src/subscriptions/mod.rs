//! Pub/sub that goes on across switches.
//!
//! ```text
//!  Messages, Subscriptions       registry              feed                      keeper
//!  (the application's)    -->  what is wanted  <--  one connection's part  <--  its socket
//!                         <--  messages                                    <--
//! ```
//!
//! The socket speaks RESP2, whichever driver serves the commands: `socket` opens it, `wire` asks and hears on it, and `frames`
//! takes answers out of its bytes.
//!
//! The registry is the only truth: it lives as long as the group. Each connection that is, or was until just now, the
//! active one has a feed; its keeper makes the server agree with the registry, again and again.
//!
//! What a move does is decided here:
//!
//! - **Before traffic moves** everything is confirmed on the new active.
//! - **Where it cannot be**, subscriptions do not keep a group from leaving a member that does not serve: commands matter
//!   more than messages that Redis keeps for nobody. So the move goes on, an event `resubscribe_failed` says so, and it is
//!   tried again for as long as the member is active. There is one exception. While the old active is well heard, and the
//!   new one does not answer on a socket of its own, the move is off: it would silence what is heard now, in favour of a
//!   member that just did not answer. A *refusal* (a channel that is not permitted; too many clients, which shows as a
//!   socket that is closed at once) never stops a move.
//! - **After it**, the old active is left once the operations on it have ended and the new one has everything. The
//!   confirmations of UNSUBSCRIBE come behind the last message, so what it sent is passed on. All this is part of its drain.

mod agreement;
mod feed;
mod frames;
mod keeper;
mod listen;
mod messages;
mod notices;
mod registry;
mod socket;
mod topic;
mod trouble;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use backend_api::{Error, ErrorKind};

pub(crate) use agreement::Origin;
pub(crate) use feed::Feed;
pub(crate) use keeper::Keeper;
pub(crate) use listen::{Listen, Server};
pub use messages::{Messages, Subscriptions};
pub(crate) use registry::Registry;
pub use topic::{Delivery, Message};

/// The subscriptions' part of a promotion. `old_is_heard`: there is an old active, and its messages come in.
/// What `Ok` holds is to be told as an event.
pub(crate) async fn promote(
    to: &Arc<Feed>,
    old_is_heard: bool,
    bound: Duration,
) -> Result<Option<(&'static str, String)>, Error> {
    let notice = match to.promote(bound).await {
        Ok(()) => None,
        Err(error) if old_is_heard && error.kind() == ErrorKind::Timeout => {
            to.end();
            return Err(error);
        }
        Err(error) => Some((notices::RESUBSCRIBE_FAILED, error.message().to_owned())),
    };
    to.lead();
    Ok(notice)
}
