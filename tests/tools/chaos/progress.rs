//! How a long run is getting on: a line on stderr every ten seconds. Standard output belongs to the report.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::args::Args;
use crate::harm::Scene;
use crate::targets::Target;
use crate::watch::Said;

const EVERY: Duration = Duration::from_secs(10);

/// Prints until it is aborted.
pub(crate) fn start<T: Target>(args: &Args, scene: Arc<Scene<T>>, said: Said) -> JoinHandle<()> {
    let (name, length) = (args.target.name(), args.length / 1_000_000);
    let kinds: Vec<_> = args.kinds.iter().map(|kind| kind.name()).collect();
    eprintln!(
        "chaos {name}: {length} s, seed {}, faults {}",
        args.seed,
        kinds.join(",")
    );
    tokio::spawn(async move {
        let mut before = 0;
        loop {
            tokio::time::sleep(EVERY).await;
            let at = scene.course.clock.now() / 1_000_000;
            let total = scene.course.logs.total();
            let rate = (total - before) / EVERY.as_secs();
            before = total;
            let (faults, now) = {
                let done = scene
                    .done
                    .lock()
                    .unwrap_or_else(|broken| broken.into_inner());
                (done.begun, done.active)
            };
            let (moves, active) = {
                let heard = said.lock();
                let active = heard.active.map(usize::from);
                (
                    heard.moves.len(),
                    active.map_or("nobody", |active| T::MEMBERS[active]),
                )
            };
            eprintln!(
                "{at:>4} s: {total} operations ({rate}/s), {faults} faults ({now} now), {moves} moves, active {active}"
            );
        }
    })
}
