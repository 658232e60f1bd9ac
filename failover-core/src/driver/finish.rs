//! The end of the driver: whatever the reason, nothing of the group may be left, and nobody may wait for it any more.

use std::time::Duration;

use backend_api::Backend;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Driver;
use super::message::Answered;
use crate::event::EventKind;

/// How long the end waits for what should be over by now: connections that were opened at the last moment, and callbacks.
const LAST_WAIT: Duration = Duration::from_secs(1);

impl<B: Backend> Driver<B> {
    /// The engine itself panicked, which is a bug: the group cannot go on, but its connections must not stay.
    pub(super) fn dismantle(&mut self) {
        tracing::error!(
            group = &*self.group,
            "the engine panicked, see its message above; the group is closed"
        );
        for (_, line) in self.lines.drain() {
            let backend = self.backend.clone();
            self.retiring
                .spawn(async move { backend.retire(line.connection).await });
        }
    }

    /// The group is closed. A dial that was cancelled may have succeeded at the same moment: its connection is in the
    /// inbox, and goes too. A retirement that hangs is neither waited for for ever nor dropped.
    pub(super) async fn finish(mut self) {
        self.slot.close();
        #[cfg(feature = "watch")]
        self.watching.shutdown().await;
        let _ = timeout(LAST_WAIT, self.tasks.shutdown()).await;
        self.inbox.close();
        while let Some(answer) = self.inbox.recv().await {
            if let Answered::Connected(_, _, _, connection) = answer {
                let backend = self.backend.clone();
                self.retiring
                    .spawn(async move { backend.retire(connection).await });
            }
        }
        self.last_active = None;
        let _ = timeout(LAST_WAIT, all(&mut self.retiring)).await;
        if !self.retiring.is_empty() {
            tracing::warn!(
                group = &*self.group,
                left = self.retiring.len(),
                "retirements of connections have not returned; they are left behind"
            );
        }
        self.retiring.detach_all();
        self.emit(EventKind::Closed);
        let mut callbacks = std::mem::take(&mut self.callbacks);
        let calls = std::mem::replace(&mut self.calls, mpsc::unbounded_channel().1);
        // The end of the events ends the callbacks.
        drop(self);
        let _ = timeout(LAST_WAIT, all(&mut callbacks)).await;
        // This answers whoever waits for the close, so it is last.
        drop(calls);
    }
}

async fn all(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}
