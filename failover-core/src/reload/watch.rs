//! Watching the file of a group.
//!
//! It is looked at once a second, by content, instead of asking the system for notices: an editor that renames a new
//! file into place, a configuration that a cluster swaps behind two symbolic links, a network file system, a container's
//! bind mount all look alike that way, and nothing can be missed. A few kilobytes a second cost nothing. The secret files
//! that the configuration names are watched in the same way.

use std::sync::Arc;
use std::time::Duration;

use backend_api::{Backend, FromOptions};
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

use super::Origin;
use crate::config::Footprint;
use crate::driver::Call;

const INTERVAL: Duration = Duration::from_secs(1);

/// A file that is just being written is read when it has been the same for so long.
const QUIET: Duration = Duration::from_millis(200);

/// Reloads the configuration whenever it changed, for as long as the group is there. It holds nothing that would keep
/// the group open.
pub(crate) async fn watch<B: Backend + FromOptions>(
    origin: Arc<Origin>,
    backend: Arc<B>,
    calls: mpsc::WeakUnboundedSender<Call<B>>,
) {
    loop {
        sleep(INTERVAL).await;
        let seen = origin.seen();
        let mut found = look(&origin, &seen).await;
        while found != seen {
            sleep(QUIET).await;
            let again = look(&origin, &seen).await;
            if again == found {
                break;
            }
            found = again;
        }
        if found == seen {
            continue;
        }
        let (at, running) = (origin.clone(), backend.clone());
        let read = tokio::task::spawn_blocking(move || at.read_file(&*running));
        let (Ok(config), Some(calls)) = (read.await, calls.upgrade()) else {
            continue;
        };
        let (reply, answer) = oneshot::channel();
        let config = config.map(Box::new);
        if calls.send(Call::Reload { config, reply }).is_err() {
            return;
        }
        drop(calls);
        // What came of it is an event; the next look waits for it.
        let _ = answer.await;
    }
}

async fn look(origin: &Arc<Origin>, seen: &Footprint) -> Footprint {
    let (origin, before) = (origin.clone(), seen.clone());
    let look = tokio::task::spawn_blocking(move || match origin.path() {
        Ok(path) => before.now(path),
        Err(_) => before,
    });
    look.await.unwrap_or_else(|_| seen.clone())
}
