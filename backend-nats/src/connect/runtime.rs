//! A runtime for one connection.
//!
//! The client spawns its task itself and gives nobody a handle on it. A task whose socket takes no more bytes cannot be
//! told anything, does not end when every handle is dropped, and would hold socket and memory for seconds. Ending its
//! runtime ends it at once, whatever it waits for. That is worth one thread for each connection, of which a group has few.

use std::sync::Arc;
use std::thread;

use backend_api::{Error, ErrorKind};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Ends its tasks when it is dropped, also inside another runtime.
pub(crate) struct Own {
    handle: Handle,
    /// Dropped, it ends the thread.
    _end: oneshot::Sender<()>,
}

impl Own {
    pub(crate) fn start(member: &str) -> Result<Self, Error> {
        let refused = |error| {
            let text = "no thread can be started for the connection";
            Error::new(ErrorKind::Other, text).with_source(Arc::new(error))
        };
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(refused)?;
        let (handle, (end, ended)) = (runtime.handle().clone(), oneshot::channel());
        let runtime = Ends(Some(runtime));
        // The system cuts a thread's name at 15 bytes.
        let thread = thread::Builder::new().name(format!("nats {member}"));
        let run = move || {
            if let Ends(Some(runtime)) = &runtime {
                let _ = runtime.block_on(ended);
            }
        };
        thread.spawn(run).map_err(refused)?;
        Ok(Self { handle, _end: end })
    }

    /// Nothing comes of it if it has ended.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.handle.spawn(task)
    }
}

/// Ends without waiting for anything, also where it was never run because there is no thread for it.
struct Ends(Option<Runtime>);

impl Drop for Ends {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
