//! The handle that applications hold.
//!
//! It talks to the driver only for control operations. What operations of the application need, the client, goes to the
//! slot directly.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use backend_api::{Backend, Error, ErrorKind, FromOptions, MemberName, Slot, Weight};
use tokio::sync::{broadcast, mpsc, oneshot};

use crate::builder::Builder;
use crate::config::{NewMember, Rules};
use crate::driver::{Call, Control, Core, Moved, lock};
use crate::event::{Event, Events};
use crate::machine::End;
use crate::status::Status;

/// A group of members, one of them active. Cheap to clone; the group closes when the last handle and the last client are
/// dropped, or with [`close`](Self::close).
///
/// Every control operation is answered once. Dropping its future gives up the answer, not the operation: a move is whole
/// or not at all.
pub struct Failover<B: Backend> {
    inner: Arc<Inner<B>>,
}

/// What all handles of a group share.
pub(crate) struct Inner<B: Backend> {
    pub(crate) group: Arc<str>,
    pub(crate) backend: Arc<B>,
    pub(crate) client: B::Client,
    pub(crate) slot: Slot<B::Connection>,
    pub(crate) core: Arc<Mutex<Core<B>>>,
    pub(crate) rules: Arc<Rules>,
    pub(crate) calls: mpsc::UnboundedSender<Call<B>>,
    /// Weak, so that readers see the end of the events when the driver has ended.
    pub(crate) events: broadcast::WeakSender<Event>,
}

impl<B: Backend> Clone for Failover<B> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
        }
    }
}

impl<B: Backend> Failover<B> {
    /// Opens a group from a TOML file: see [`Builder::open_file`].
    ///
    /// # Errors
    /// As there.
    pub async fn open_file(path: impl AsRef<Path>) -> Result<Self, Error>
    where
        B: FromOptions,
    {
        Self::builder().open_file(path).await
    }

    /// Opens a group from a TOML text: see [`Builder::open_toml`].
    ///
    /// # Errors
    /// As there.
    pub async fn open_toml(text: &str) -> Result<Self, Error>
    where
        B: FromOptions,
    {
        Self::builder().open_toml(text).await
    }

    /// For a group with checks, pools or callbacks of your own, or one that is configured in code.
    pub fn builder() -> Builder<B> {
        Builder::new()
    }

    pub(crate) fn new(inner: Inner<B>) -> Self {
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The group's name.
    pub fn name(&self) -> &str {
        &self.inner.group
    }

    /// A client: it always works on whichever member is active.
    pub fn client(&self) -> B::Client {
        self.inner.client.clone()
    }

    /// The backend that serves this group.
    pub fn backend(&self) -> &B {
        &self.inner.backend
    }

    /// The active slot, for whoever brings a client of its own.
    pub fn slot(&self) -> Slot<B::Connection> {
        self.inner.slot.clone()
    }

    /// How the group stands now.
    pub fn status(&self) -> Status {
        let core = lock(&self.inner.core);
        core.directory
            .status(self.inner.group.clone(), &core.machine)
    }

    /// What happens from now on. A reader that falls behind is told how much it missed.
    pub fn events(&self) -> Events {
        let sender = self.inner.events.upgrade();
        Events::new(
            self.inner.group.clone(),
            sender.map(|sender| sender.subscribe()),
        )
    }

    /// Moves the traffic to the best standby: proven and promoted first, and the old connection ended as soon as its
    /// operations are done, at most `switch_grace` later. Traffic does not go back by itself until
    /// [`release`](Self::release), or until the new active fails.
    ///
    /// # Errors
    /// [`ErrorKind::NotEligible`] without a standby, [`ErrorKind::Aborted`] if it failed its proof or its promotion; the
    /// active is untouched then.
    pub async fn switch_to_passive(&self) -> Result<Moved, Error> {
        self.call(Control::SwitchToPassive { end: End::Steal })
            .await
    }

    /// Moves the traffic to a member, as [`switch_to_passive`](Self::switch_to_passive) does. Grace does not matter to a
    /// manual move. If the member is active already, nothing happens.
    ///
    /// # Errors
    /// Also [`ErrorKind::UnknownMember`], and [`ErrorKind::NotEligible`] for a member that is disabled, unhealthy, broken
    /// or a lame duck.
    pub async fn switch_to(&self, member: impl Into<MemberName>) -> Result<Moved, Error> {
        self.move_to(member.into(), End::Steal, false).await
    }

    /// The same, also to a member that is held back by checks, breaker or mark. It must still pass its proof.
    pub async fn force_switch_to(&self, member: impl Into<MemberName>) -> Result<Moved, Error> {
        self.move_to(member.into(), End::Steal, true).await
    }

    /// Moves new traffic to the best standby and lets the old connection finish for at most `window`. It returns when
    /// traffic has moved; the end of the drain is an event.
    ///
    /// # Errors
    /// As for [`switch_to_passive`](Self::switch_to_passive).
    pub async fn drain_to_passive(&self, window: Duration) -> Result<Moved, Error> {
        self.call(Control::SwitchToPassive {
            end: End::Drain(window),
        })
        .await
    }

    /// Moves new traffic to a member and lets the old connection finish for at most `window`.
    ///
    /// # Errors
    /// As for [`switch_to`](Self::switch_to).
    pub async fn drain_to(
        &self,
        member: impl Into<MemberName>,
        window: Duration,
    ) -> Result<Moved, Error> {
        self.move_to(member.into(), End::Drain(window), false).await
    }

    /// No failback until [`release`](Self::release). A failing active is still left.
    pub async fn pin(&self) -> Result<(), Error> {
        self.done(Control::Pin).await
    }

    /// Ends a pin, and the suspension of failback after a manual move.
    pub async fn release(&self) -> Result<(), Error> {
        self.done(Control::Release).await
    }

    /// Adds a member while the group runs: it is connected, checked, and takes part.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] or [`ErrorKind::DuplicateMember`]; the group is unchanged then.
    pub async fn add(&self, member: NewMember<B::Settings>) -> Result<(), Error> {
        let member = member.under(&self.inner.rules.member)?;
        self.done(Control::Add(Box::new(member))).await
    }

    /// Removes a member; if it is active its traffic moves away first, and it drains.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownMember`], [`ErrorKind::LastMember`], or [`ErrorKind::NotEligible`] if there is nowhere to
    /// go; the group is unchanged then.
    pub async fn remove(&self, member: impl Into<MemberName>) -> Result<(), Error> {
        self.done(Control::Remove(member.into())).await
    }

    /// Changes a weight. What follows from it follows as usual: failback, if another member is heavier now.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownMember`].
    pub async fn set_weight(
        &self,
        member: impl Into<MemberName>,
        weight: Weight,
    ) -> Result<(), Error> {
        self.done(Control::SetWeight(member.into(), weight)).await
    }

    /// Lets a disabled member take part.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownMember`].
    pub async fn enable(&self, member: impl Into<MemberName>) -> Result<(), Error> {
        self.done(Control::Enable(member.into())).await
    }

    /// Keeps a member out without forgetting it; if it is active its traffic moves away first.
    ///
    /// # Errors
    /// As for [`remove`](Self::remove).
    pub async fn disable(&self, member: impl Into<MemberName>) -> Result<(), Error> {
        self.done(Control::Disable(member.into())).await
    }

    /// Marks a member as about to shut down, for planned maintenance of one that does not announce it. The configured
    /// lame-duck action follows; only [`clear_lame_duck`](Self::clear_lame_duck) takes the mark away.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownMember`].
    pub async fn mark_lame_duck(&self, member: impl Into<MemberName>) -> Result<(), Error> {
        self.done(Control::MarkLameDuck(member.into())).await
    }

    /// Takes a lame-duck mark away, the operator's or an announced one.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownMember`].
    pub async fn clear_lame_duck(&self, member: impl Into<MemberName>) -> Result<(), Error> {
        self.done(Control::ClearLameDuck(member.into())).await
    }

    /// Replaces the standbys by fresh connections, and returns at once. The best of several is replaced last, when
    /// another one stands by again. With a single one the group is without a standby until it is connected anew.
    pub async fn rehome_standby(&self) -> Result<(), Error> {
        self.done(Control::RehomeStandby).await
    }

    /// Closes the group: operations fail with [`ErrorKind::Closed`], and when this returns no task and no socket of the
    /// group is left. Again is no error.
    ///
    /// The one exception is a backend whose `retire` hangs: after a bound of some ten seconds this returns all the same,
    /// says so in the log, and leaves that task, with its connection, behind.
    pub async fn close(&self) {
        let _ = self.done(Control::Close).await;
        // The driver drops its end of the channel with everything else that it owns.
        self.inner.calls.closed().await;
    }

    async fn move_to(&self, to: MemberName, end: End, force: bool) -> Result<Moved, Error> {
        self.call(Control::SwitchTo { to, end, force }).await
    }

    async fn done(&self, what: Control<B>) -> Result<(), Error> {
        self.call(what).await.map(drop)
    }

    async fn call(&self, what: Control<B>) -> Result<Moved, Error> {
        let closed = || Error::new(ErrorKind::Closed, "the group is closed");
        let (reply, answer) = oneshot::channel();
        self.inner
            .calls
            .send(Call { what, reply })
            .map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}

impl<B: Backend> std::fmt::Debug for Failover<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Failover")
            .field("group", &self.inner.group)
            .finish_non_exhaustive()
    }
}
