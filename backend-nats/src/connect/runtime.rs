//! A runtime for one connection.
//!
//! The client spawns its task itself and gives nobody a handle on it. A task whose socket takes no more bytes cannot be
//! told anything, does not end when every handle is dropped, and would hold socket and memory for seconds. Ending its
//! runtime ends it at once, whatever it waits for. That is worth one thread for each connection, of which a group has few.

use std::sync::Arc;

use backend_api::{Error, ErrorKind};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

/// Ends its tasks when it is dropped, also inside another runtime.
pub(crate) struct Own(Option<Runtime>);

impl Own {
    pub(crate) fn start(member: &str) -> Result<Self, Error> {
        // The system cuts a thread's name at 15 bytes.
        let name = format!("nats {member}");
        Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name(name)
            .enable_io()
            .enable_time()
            .build()
            .map(|runtime| Self(Some(runtime)))
            .map_err(|error| {
                Error::new(
                    ErrorKind::Other,
                    "no thread can be started for the connection",
                )
                .with_source(Arc::new(error))
            })
    }

    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Result<JoinHandle<T>, Error> {
        self.handle()
            .map(|handle| handle.spawn(task))
            .ok_or_else(|| Error::new(ErrorKind::Retired, "the connection is ended"))
    }

    fn handle(&self) -> Option<&Handle> {
        self.0.as_ref().map(Runtime::handle)
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
