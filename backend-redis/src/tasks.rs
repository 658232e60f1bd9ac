//! The tasks of one connection: whatever moves its bytes or looks after it, ended together.

use std::sync::{Mutex, PoisonError};

use tokio::task::{AbortHandle, JoinSet};

/// Open until it is ended; then nothing starts any more.
pub(crate) struct Tasks(Mutex<Option<JoinSet<()>>>);

impl Default for Tasks {
    fn default() -> Self {
        Self(Mutex::new(Some(JoinSet::new())))
    }
}

impl Tasks {
    /// Runs a task that ends with the connection at the latest. `None` once that is over.
    pub(crate) fn spawn(
        &self,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> Option<AbortHandle> {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let tasks = tasks.as_mut()?;
        // Those that ended are let go of here, or a busy pool of dedicated sockets would pile them up.
        while tasks.try_join_next().is_some() {}
        Some(tasks.spawn(task))
    }

    /// Nothing starts any more. What is under way is for the caller to wait for or to end; `None` where that was done before.
    pub(crate) fn close(&self) -> Option<JoinSet<()>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Ends all of them, and waits until they are dropped and their sockets with them. Bounded: no driver blocks.
    pub(crate) async fn end(&self) {
        if let Some(mut tasks) = self.close() {
            tasks.shutdown().await;
        }
    }
}
