//! A runtime for one connection to a cluster.
//!
//! redis-rs spawns the task of a cluster connection itself and gives nobody a handle on it: an idle clone would keep it,
//! and it dials nodes again and again. Ending its runtime ends it and every socket, whoever still holds a clone. That is
//! worth a thread for each connection, of which a group has few.
//!
//! The runtime's thread also knows where it belongs: redis-rs opens the sockets of nodes through a function without any
//! argument of ours, so what that needs to know is left here.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use backend_api::{Error, ErrorKind};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;

use crate::options::Options;
use crate::redis_rs::commands::Commands;
use crate::target::Target;

/// How long ending may take. Nothing in it blocks, so this is for a machine that stands still.
const END: Duration = Duration::from_secs(1);

thread_local! {
    static CONTEXT: RefCell<Option<Arc<Context>>> = const { RefCell::new(None) };
}

/// What every node of a cluster has in common.
pub(super) struct Context {
    /// Everything about a node but where it is.
    pub(super) server: Target,
    pub(super) tls: bool,
    pub(super) options: Options,
    pub(super) commands: Arc<Commands>,
    /// A socket ended.
    pub(super) ends: Arc<Notify>,
    /// How long one command may take.
    pub(super) operation: Duration,
    /// How long opening one socket may take.
    pub(super) bound: Duration,
}

/// What the present thread's connection is about.
pub(super) fn context() -> Option<Arc<Context>> {
    CONTEXT.with_borrow(Clone::clone)
}

/// Ends its tasks when it is dropped, also inside another runtime.
pub(super) struct Own(Option<Runtime>);

impl Own {
    pub(super) fn start(member: &str, context: Arc<Context>) -> Result<Self, Error> {
        // The system cuts a thread's name at 15 bytes.
        let name = format!("redis {member}");
        Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name(name)
            .on_thread_start(move || CONTEXT.set(Some(context.clone())))
            .enable_io()
            .enable_time()
            .build()
            .map(|runtime| Self(Some(runtime)))
            .map_err(|error| {
                let text = "no thread can be started for the connection";
                Error::new(ErrorKind::Other, text).with_source(Arc::new(error))
            })
    }

    pub(super) fn handle(&self) -> &Handle {
        let runtime = self.0.as_ref();
        runtime.expect("there until it is ended").handle()
    }

    /// Blocks until every task is dropped.
    pub(super) fn end(mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_timeout(END);
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
