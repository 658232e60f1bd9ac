//! The handle that applications hold.
//!
//! It talks to the driver only for control operations. What operations of the application need, the client, goes to the
//! slot directly.

use std::path::Path;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use backend_api::{Backend, Error, ErrorKind, FromOptions, MemberName, Slot, Weight};
use tokio::sync::{mpsc, oneshot};

use crate::builder::Builder;
use crate::config::{GroupConfig, NewMember};
use crate::driver::{Call, Control, Core, Moved, guarded, lock};
use crate::event::{Events, Sink};
use crate::machine::End;
use crate::reload::{Origin, Reloaded};
use crate::status::Status;

/// A group of members, one of them active. Cheap to clone; the group closes when the last handle and the last client are
/// dropped, or with [`close`](Self::close).
///
/// Every control operation is answered once. Dropping its future gives up the answer, not the operation: a move is whole
/// or not at all.
///
/// # Discovered members
///
/// The servers of a cluster tell of one another, and where the backend passes that on
/// ([`Capabilities::discovers_members`](backend_api::Capabilities::discovers_members)) the group follows it. Who is told
/// of and unknown joins, once startup is over: connected, checked, a target like any other, `discovered` in the
/// [`status`](Self::status), with the group's rules and at most 256 of them. Told with other settings, it gets another
/// connection as by [`apply`](Self::apply). It goes when the *active* tells of members and not of it, and no other
/// connection tells of it either (what it says of itself does not count): as patiently as a member that a configuration
/// leaves out. So servers that have lost sight of one another cannot empty a group, and nobody goes in an outage.
///
/// Whoever a configuration or [`add`](Self::add) names is never touched by discovery. A discovered member that becomes
/// configured is a member like any other; one that is taken out of the configuration while it is told of stays as a
/// discovered one. [`remove`](Self::remove) holds until the member is told of again: [`disable`](Self::disable) it to keep
/// it out.
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
    pub(crate) origin: Arc<Origin>,
    pub(crate) calls: mpsc::UnboundedSender<Call<B>>,
    /// Weak, so that readers see the end of the events when the driver has ended.
    pub(crate) events: Weak<Sink>,
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
        let sink = self.inner.events.upgrade();
        Events::new(self.inner.group.clone(), sink.as_deref())
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
    /// Also [`ErrorKind::UnknownMember`], and [`ErrorKind::NotEligible`] for a member that is disabled, unhealthy, broken,
    /// a lame duck, or without a connection after a dial that failed: then `status()` says when it is dialled next.
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
        let rules = lock(&self.inner.core).rules.clone();
        let member = member.under(&rules.member)?;
        self.done(Control::Add(Box::new(member))).await
    }

    /// Removes a member; if it is active its traffic moves away first, and it drains. One that other members tell of may
    /// come back: see [discovered members](Self#discovered-members).
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

    /// Reads the file again that the group was opened from, and applies what differs: see [`apply`](Self::apply).
    ///
    /// # Errors
    /// As there; also a file that cannot be read, and [`ErrorKind::Config`] for a group that was opened without a file.
    pub async fn reload(&self) -> Result<Reloaded, Error>
    where
        B: FromOptions,
    {
        self.inner.origin.path()?;
        let (origin, backend) = (self.inner.origin.clone(), self.inner.backend.clone());
        // A secret file may lie on a disk that does not answer.
        let read = tokio::task::spawn_blocking(move || origin.read_file(&*backend)).await;
        let config = read.unwrap_or_else(|_| {
            Err(Error::new(
                ErrorKind::Panicked,
                "the backend panicked while the configuration was read; see its message above",
            ))
        });
        self.reconfigure(config).await
    }

    /// Applies a configuration in a TOML text: see [`apply`](Self::apply).
    ///
    /// Its `[backend]` table has to say what it said when the group was opened; nothing, for a group that was opened with
    /// [`Builder::open`](crate::Builder::open). Relative secret files are looked for beside the group's file, if it has
    /// one.
    ///
    /// # Errors
    /// As there; errors in the text name line and column.
    pub async fn reload_toml(&self, text: &str) -> Result<Reloaded, Error>
    where
        B: FromOptions,
    {
        let read = || self.inner.origin.read_text(text, &*self.inner.backend);
        let config = guarded("the backend", read).and_then(|config| config);
        self.reconfigure(config).await
    }

    /// Makes the group what a configuration says, without a pause in its traffic.
    ///
    /// The whole configuration is checked first; then what differs from the group *as it is now* is applied: also what an
    /// operator changed meanwhile becomes what the configuration says, while a pin, a lame-duck mark and a suspended
    /// failback stay. It returns as soon as the difference is accepted, and
    /// [`EventKind::ConfigReloaded`](crate::EventKind::ConfigReloaded) says it too, unless nothing differs. How it goes on
    /// is told by events and [`status`](Self::status).
    ///
    /// - **New members** are connected, checked, and take part. Where they stand in the configuration among members of
    ///   the same weight matters at the next start only.
    /// - **Missing members** go as soon as the group can do without them: the active when its traffic has moved to a
    ///   healthy member that stays, and drained. Until then they serve on (`leaving` in the status). So all members of a
    ///   group can be exchanged at once. The same holds for members that are disabled.
    /// - **Other connection settings** (those of the backend, `timeouts.operation`, and whether a member is checked at
    ///   all) get a connection of their own beside the old one. When it is proven and passes its checks it takes over:
    ///   traffic moves to it, the old one drains ([`Reason::Reconfigured`](crate::Reason::Reconfigured),
    ///   [`EventKind::Replaced`](crate::EventKind::Replaced)). As long as it does not, the member goes on as before
    ///   (`replacing` in the status, [`EventKind::ReplacementFailed`](crate::EventKind::ReplacementFailed)), and the
    ///   new settings are tried on with backoff until the next configuration. A member that has no connection of use is
    ///   replaced at once.
    /// - **Weights and other rules** hold from now on; what is under way keeps the deadline that it was given. `startup` is
    ///   for the next start.
    ///
    /// # Errors
    /// [`ErrorKind::Config`], with all problems, for a configuration that is wrong, and for one that differs in what only a
    /// restart can change: `group.name`, `group.unavailable.wait`, and `[backend]`. Nothing is changed then, and
    /// [`EventKind::ReloadFailed`](crate::EventKind::ReloadFailed) says why. [`ErrorKind::Closed`] when the group is
    /// closing.
    ///
    /// # Cancellation
    /// Once it waits for its answer the configuration is on its way: dropping the future gives up the answer alone.
    /// Configurations that come at the same time are applied one after another.
    pub async fn apply(&self, config: GroupConfig<B::Settings>) -> Result<Reloaded, Error> {
        self.reconfigure(Ok(config)).await
    }

    /// Watches the file that the group was opened from, and [`reload`](Self::reload)s it when it changes, for as long as
    /// the group is there. Watching does not keep the group open; again is no error.
    ///
    /// Once a second the file, and the secret files that it names, are compared by content; a new content is read when it
    /// has been the same for a moment. Nothing depends on how a file is replaced: in place, by renaming, or behind a
    /// symbolic link, as Kubernetes does it. A broken content is reported once
    /// ([`EventKind::ReloadFailed`](crate::EventKind::ReloadFailed)) and changes nothing; the next good one is applied.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for a group that was opened without a file, [`ErrorKind::Closed`] if it is closed.
    #[cfg(feature = "watch")]
    pub fn watch(&self) -> Result<(), Error>
    where
        B: FromOptions,
    {
        let inner = &self.inner;
        inner.origin.path()?;
        let watcher = crate::reload::watch(
            inner.origin.clone(),
            inner.backend.clone(),
            inner.calls.downgrade(),
        );
        let watching = inner.calls.send(Call::Watch(Box::pin(watcher)));
        watching.map_err(|_| closed())
    }

    async fn reconfigure(
        &self,
        config: Result<GroupConfig<B::Settings>, Error>,
    ) -> Result<Reloaded, Error> {
        let (reply, answer) = oneshot::channel();
        let config = config.map(Box::new);
        self.inner
            .calls
            .send(Call::Reload { config, reply })
            .map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
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
        let (reply, answer) = oneshot::channel();
        self.inner
            .calls
            .send(Call::Control { what, reply })
            .map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the group is closed")
}

impl<B: Backend> std::fmt::Debug for Failover<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Failover")
            .field("group", &self.inner.group)
            .finish_non_exhaustive()
    }
}
