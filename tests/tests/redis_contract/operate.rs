//! An operation through redis-rs, the way applications do it.

use std::sync::atomic::{AtomicU64, Ordering};

use failover_core::redis::FailoverConnection;
use failover_core::{Error, ErrorKind};
use redis::{AsyncCommands, RedisError};

/// Counts what it writes.
#[derive(Default)]
pub(crate) struct Writer(AtomicU64);

impl Writer {
    /// A value that was never written before, so that an answer to somebody else's request is another value. It may be
    /// missing: between the two the traffic may move, and these servers do not replicate.
    pub(crate) async fn operate(&self, client: &FailoverConnection) -> Result<(), Error> {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        let key = format!("key {number}");
        let mut client = client.clone();
        let () = client.set(&key, number).await.map_err(|e| cause(&e))?;
        let read: Option<u64> = client.get(&key).await.map_err(|e| cause(&e))?;
        if read.is_none_or(|read| read == number) {
            return Ok(());
        }
        let text = format!("wrote {number} and read {read:?}");
        Err(Error::new(ErrorKind::Other, text))
    }
}

/// An operation fails with the contract's error inside the driver's.
fn cause(error: &RedisError) -> Error {
    FailoverConnection::cause(error)
        .cloned()
        .unwrap_or_else(|| Error::new(ErrorKind::Other, error.to_string()))
}
