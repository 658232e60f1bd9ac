//! What happens to subscriptions when connections come, are promoted, are drained and go.

use std::sync::Arc;
use std::time::Duration;

use backend_api::{Error, Generation};

use super::delivery::Delivery;
use super::entry::Entry;
use super::registry::{Registry, Role};
use crate::connection::Connection;
use crate::echo;

/// How long a connection may take to be left that is neither the old active nor the new one, and how long it waits for the new
/// one: it was promoted in vain.
const BESIDE: Duration = Duration::from_millis(50);
/// How often a client that takes no command is asked again.
const AGAIN: Duration = Duration::from_millis(1);

impl Registry {
    /// A connection was opened.
    pub(crate) fn opened(&self, connection: &Connection) {
        self.insert(connection);
    }

    /// The connection stands by: what is mirrored is on it when this returns, and nothing else.
    pub(crate) async fn arm(&self, connection: &Connection) -> Result<(), Error> {
        self.set(connection, Role::Armed);
        let generation = connection.generation();
        let strays = self.passing(generation);
        if !strays.is_empty() {
            // A promotion that was called off, or a subscriber who was late, brought them while it was being left.
            leave(connection, &strays).await?;
        }
        self.attach_all(connection, |entry| entry.delivery().is_mirrored())
            .await
            .map(drop)
    }

    /// Brings all subscriptions to `to`, before the traffic moves there, and proves it. Dropped without [`Promotion::done`],
    /// `from` has everything; what came to `to` goes again when it is retired, drained or armed.
    ///
    /// Those that are delivered at most once come last, where they are on a connection that still delivers: they leave that
    /// first, exactly, and are on neither for the time of two round trips.
    pub(crate) async fn promote<'a>(
        &'a self,
        to: &'a Connection,
        from: Option<&'a Connection>,
    ) -> Result<Promotion<'a>, Error> {
        let before = self.role(to.generation()).unwrap_or(Role::Idle);
        let from = from.filter(|from| !from.is_going() && from.generation() != to.generation());
        let role = from.map_or(Role::Taking, |_| Role::Promoting);
        self.set(to, role);
        let promotion = Promotion {
            registry: self,
            to,
            from,
            before,
            done: false,
        };
        let asked = self
            .attach_all(to, |entry| {
                entry.delivery() != Delivery::AtMostOnce || !self.is_elsewhere(entry, to)
            })
            .await?;
        if !asked {
            // Where the old one was lost it may not have been proven before. Otherwise nobody waits for this.
            to.round_trip().await?;
        }
        Ok(promotion)
    }

    /// Whether it is on another connection, and more can come of that.
    fn is_elsewhere(&self, entry: &Entry, to: &Connection) -> bool {
        let connections = self.connections();
        let mut others = connections
            .iter()
            .filter(|other| other.generation() != to.generation() && !other.is_going());
        others.any(|other| entry.is_on(other.generation()))
    }

    /// The traffic has moved away: subscriptions end here once the new active has them for sure and what is under way has
    /// come. Cancel-safe; begins again where it was.
    pub(crate) async fn leave(
        &self,
        connection: &Connection,
        overlap: Duration,
    ) -> Result<(), Error> {
        self.moved_from(connection);
        let generation = connection.generation();
        let entries = self.passing(generation);
        if entries.is_empty() {
            return Ok(());
        }
        // The new connection's server knows of them; the others of the cluster hear of it in a moment.
        tokio::join!(tokio::time::sleep(overlap), self.known_elsewhere());
        leave(connection, &entries).await
    }

    /// What is on this connection for as long as it is, or is to be, the active.
    fn passing(&self, generation: Generation) -> Vec<Arc<Entry>> {
        self.entries_where(|entry| !entry.delivery().is_mirrored() && entry.is_on(generation))
    }

    /// The connection is about to be retired. What its server has still sent to it comes, where it was being left and that was
    /// not waited for.
    pub(crate) async fn farewell(&self, connection: &Connection) {
        let generation = connection.generation();
        if self.role(generation) != Some(Role::Leaving) {
            return;
        }
        let mut entries = self.passing(generation);
        entries.extend(self.entries_where(|entry| entry.is_leaving(generation)));
        if !entries.is_empty() {
            // It fails with the connection only.
            let _ = leave(connection, &entries).await;
        }
    }

    /// The connection is retired. What it delivered before is still read. Returns the one that keeps the traffic, where the
    /// retired one was promoted and never got it.
    pub(crate) fn forget(&self, connection: &Connection) -> Option<Connection> {
        let kept = self.remove_side(connection.generation());
        for entry in self.entries() {
            entry.forget(connection.generation());
        }
        if let Some(kept) = &kept {
            self.attach_again(kept);
        }
        kept
    }

    /// A promotion came to nothing: everything is where it was.
    fn attach_again(&self, connection: &Connection) {
        let (connection, entries) = (connection.clone(), self.entries());
        connection.clone().spawn(async move {
            for entry in entries {
                // It fails only with the connection, and the next promotion subscribes.
                let _ = entry.attach(&connection).await;
            }
        });
    }

    /// Waits until there is an active, and the servers that the group is connected to know what its server knows. No longer
    /// than an operation may take.
    async fn known_elsewhere(&self) {
        let Some(active) = self.next_active().await else {
            return;
        };
        let known = async {
            let mut others = self.connections();
            others.retain(|other| {
                let elsewhere = other.server_info().server_id != active.server_info().server_id;
                let same_cluster = other.server_info().cluster == active.server_info().cluster;
                elsewhere && same_cluster && !other.has_ended()
            });
            let all = others.iter().map(|other| echo::arrives(&active, other));
            futures_util::future::join_all(all).await;
        };
        // One that does not answer holds up nobody.
        let _ = tokio::time::timeout(active.operation(), known).await;
    }

    /// Where a promotion was called off there is none for a moment. It is waited for as long as the engine's grace allows.
    async fn next_active(&self) -> Option<Connection> {
        let active = async {
            loop {
                match self.active() {
                    Some(active) => break active,
                    None => tokio::time::sleep(AGAIN).await,
                }
            }
        };
        tokio::time::timeout(BESIDE, active).await.ok()
    }

    /// Subscribes, and waits until the server has. Says whether there was anything to ask it.
    async fn attach_all(
        &self,
        connection: &Connection,
        which: impl Fn(&Entry) -> bool,
    ) -> Result<bool, Error> {
        let generation = connection.generation();
        let mut leaving = self.entries_where(|entry| entry.is_leaving(generation));
        let mut wanted = self.entries_where(which);
        if wanted.is_empty() && leaving.is_empty() {
            return Ok(false);
        }
        loop {
            for entry in &wanted {
                entry.take_over(connection).await?;
            }
            connection.round_trip().await?;
            // A drain that was given up can have had its last word meanwhile.
            wanted.retain(|entry| entry.is_leaving(generation) && !entry.is_on(generation));
            // The connection was being left when it was needed again: the answer is behind that, too.
            for entry in &leaving {
                entry.left(generation);
            }
            if wanted.is_empty() {
                return Ok(true);
            }
            leaving.clone_from(&wanted);
        }
    }
}

/// Ends entries on a connection: UNSUB, and the answer to a request behind it. What the server sent before has been read
/// then, and nothing follows.
pub(crate) async fn leave(connection: &Connection, entries: &[Arc<Entry>]) -> Result<(), Error> {
    let generation = connection.generation();
    for entry in entries {
        while entry.leave(generation) == Some(false) {
            if connection.has_ended() {
                return Err(connection.interrupted());
            }
            tokio::time::sleep(AGAIN).await;
        }
    }
    connection.round_trip().await?;
    for entry in entries {
        entry.left(generation);
    }
    Ok(())
}

/// A promotion that is not final.
pub(crate) struct Promotion<'a> {
    registry: &'a Registry,
    to: &'a Connection,
    from: Option<&'a Connection>,
    before: Role,
    done: bool,
}

impl Promotion<'_> {
    /// The last step before the traffic moves. A server that does not answer within `patience` is left without its word.
    pub(crate) async fn take(&self, patience: Duration) -> Result<(), Error> {
        let leaving = self.from.map(|from| (from, Role::Leaving));
        self.registry.set_both((self.to, Role::Taking), leaving);
        let here = self.to.generation();
        let missing =
            |entry: &Entry| entry.delivery() == Delivery::AtMostOnce && !entry.is_on(here);
        let entries = self.registry.entries_where(missing);
        if entries.is_empty() {
            return Ok(());
        }
        for other in self.registry.connections() {
            let generation = other.generation();
            let mut on_it = entries.clone();
            on_it.retain(|entry| generation != here && entry.is_on(generation));
            if on_it.is_empty() {
                continue;
            }
            let patience = match self.from {
                _ if other.is_going() => Duration::ZERO,
                Some(from) if from.generation() == generation => patience,
                _ => BESIDE,
            };
            // Silent or at its end, the old side is no reason not to go to the new one.
            let left = tokio::time::timeout(patience, leave(&other, &on_it)).await;
            if !matches!(left, Ok(Ok(()))) {
                for entry in &on_it {
                    entry.cut(generation);
                }
            }
        }
        self.registry.attach_all(self.to, missing).await.map(drop)
    }

    /// The traffic moves.
    pub(crate) fn done(mut self) {
        self.done = true;
        self.registry
            .promoted(self.from.map(Connection::generation), self.to);
    }
}

impl Drop for Promotion<'_> {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        // The engine retires it, drains it or begins again.
        let back = self.from.map(|from| (from, Role::Active));
        self.registry.set_both((self.to, self.before), back);
        if let Some(from) = self.from {
            for entry in self.registry.entries() {
                if entry.delivery() == Delivery::AtMostOnce {
                    entry.cut(self.to.generation());
                }
            }
            self.registry.attach_again(from);
        }
    }
}
