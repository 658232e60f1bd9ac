//! What an author of a backend tells the suite: how members of its kind are started, hurt and looked at.
//!
//! The suite knows nothing of sockets, processes or protocols; everything of that kind stands behind this trait. What
//! must never come in: anything that only one kind of service has.

use std::time::Duration;

use failover_core::Error;
use failover_core::api::{Backend, async_trait};

/// Members of one kind, and the hand that hurts them.
///
/// Its methods return when what they say is so: after [`kill`](Self::kill) the address refuses connections, after
/// [`freeze`](Self::freeze) nothing is answered. The bounds of the suite count from there.
#[async_trait]
pub trait Harness: Send + Sync {
    /// The backend under test.
    type Backend: Backend;
    /// One running member: a process, a task. Dropping it ends it, whatever state it is in.
    type Member: Send + Sync;

    /// A fresh backend value, as for a new group. Timeouts of its own must not be longer than those in
    /// [`bounds`](Self::bounds): a client that waits a second for an answer cannot end within half of one.
    fn backend(&self) -> Self::Backend;

    /// Starts a member that serves. Each has an address of its own.
    async fn start(&self) -> Self::Member;

    /// The settings by which `member` is reached.
    fn settings(&self, member: &Self::Member) -> <Self::Backend as Backend>::Settings;

    /// Ends the member without a farewell, like SIGKILL: connections are reset, dials are refused.
    async fn kill(&self, member: &Self::Member);

    /// Starts a killed member again, at the same address.
    async fn restart(&self, member: &Self::Member);

    /// Stops the member without ending it, like SIGSTOP: connections stay open and nothing is answered, not even a
    /// handshake.
    async fn freeze(&self, member: &Self::Member);

    /// Lets a frozen member go on.
    async fn thaw(&self, member: &Self::Member);

    /// Makes the member announce its shutdown; it goes on serving. `false` if this harness cannot: the behaviours that
    /// need it are then not applicable.
    async fn announce_lame_duck(&self, member: &Self::Member) -> bool {
        let _ = member;
        false
    }

    /// How many connections are open, as the member sees them and without the harness's own. `None` if the member
    /// cannot tell: whether something is left behind is then not found.
    async fn connections(&self, member: &Self::Member) -> Option<usize> {
        let _ = member;
        None
    }

    /// One operation of an application, the way applications do it. It makes no attempt of its own beyond what the client
    /// does, and it checks the answer: a connection that hands one request's answer to another request is only found
    /// here. The best one writes something fresh and reads it back. Members that do not replicate may then have nothing,
    /// since the traffic may move between the two; what they must not have is something else.
    async fn operate(&self, client: &<Self::Backend as Backend>::Client) -> Result<(), Error>;

    /// How long things may take.
    fn bounds(&self) -> Bounds {
        Bounds::default()
    }
}

/// How long things may take with this kind of member. The defaults suit a member on the same, busy machine. Change what
/// does not fit:
///
/// ```
/// # use std::time::Duration;
/// # use failover_testkit::conformance::Bounds;
/// let mut bounds = Bounds::default();
/// bounds.lost = Duration::from_millis(500); // the driver only looks twice a second
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bounds {
    /// What a dial is given, handshake included. Default: 500 ms.
    pub connect: Duration,
    /// How soon a dial to a dead member must have failed: it was refused, there is nothing to wait for. Default: 200 ms.
    pub refused: Duration,
    /// What a proof, an arming or a promotion is given. Default: 500 ms.
    pub prove: Duration,
    /// What one operation is given (`timeouts.operation`). Default: 500 ms.
    pub operation: Duration,
    /// How soon a connection must have said what its socket knows: the death of its member, its announced shutdown.
    /// Default: 100 ms.
    pub lost: Duration,
    /// How long retiring may take, also from a member that does not answer. Default: 500 ms.
    pub retire: Duration,
    /// How long others may need to notice that something has ended: a member a closed connection, an operation the end
    /// of its connection, a drain the last lease. Default: 500 ms.
    pub notice: Duration,
    /// How long silence is listened to before it counts as silence. Default: 300 ms.
    pub quiet: Duration,
    /// How long the engine may need until operations work again, or members stand by again. Default: 5 s.
    pub failover: Duration,
    /// What a busy machine may add to any of them. Default: 100 ms.
    pub slack: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        let ms = Duration::from_millis;
        Self {
            connect: ms(500),
            refused: ms(200),
            prove: ms(500),
            operation: ms(500),
            lost: ms(100),
            retire: ms(500),
            notice: ms(500),
            quiet: ms(300),
            failover: ms(5000),
            slack: ms(100),
        }
    }
}
