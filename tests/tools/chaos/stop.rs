//! This process, stopped for a while: by a child, since who is stopped cannot go on by himself.
//!
//! Two children know how to end it, each by itself: the one that stops, and one that was started before. So the process
//! goes on even if one of them is killed meanwhile. Neither signals any other process than this one, and each ends by
//! itself.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Not longer, whatever is asked for.
const LONGEST: Duration = Duration::from_secs(2);
/// The stop begins so long after the children were started.
const LEAD: Duration = Duration::from_millis(100);

/// Stops this process for so long. Returns when it goes on and the children are gone.
pub(crate) async fn this_process(lasts: Duration) -> Result<(), String> {
    let stopped = tokio::task::spawn_blocking(move || both(lasts.min(LONGEST)));
    let stopped = stopped.await.map_err(|error| error.to_string())?;
    stopped.map_err(|error| format!("this process cannot be stopped: {error}"))
}

fn both(lasts: Duration) -> std::io::Result<()> {
    let me = std::process::id();
    let (lead, length) = (LEAD.as_secs_f64(), lasts.as_secs_f64());
    let latest = (LEAD + lasts + LEAD).as_secs_f64();
    // The one that only wakes comes first.
    let wakes = sh(&format!("sleep {latest}; kill -CONT {me}"))?;
    let stops = sh(&format!(
        "sleep {lead}; kill -STOP {me}; sleep {length}; kill -CONT {me}"
    ));
    for mut child in [Ok(wakes), stops] {
        child.as_mut().map(Child::wait).ok();
        child?;
    }
    Ok(())
}

fn sh(line: &str) -> std::io::Result<Child> {
    Command::new("sh")
        .args(["-c", line])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// It would hang if nobody woke it, and the thread that only watches the clock would see no gap without the stop.
    #[tokio::test]
    async fn a_stop_ends_and_is_seen_by_the_clock() {
        let watch = std::thread::spawn(|| {
            let (begun, mut last, mut gap) = (Instant::now(), Instant::now(), Duration::ZERO);
            while begun.elapsed() < Duration::from_secs(2) {
                std::thread::sleep(Duration::from_millis(2));
                gap = gap.max(last.elapsed());
                last = Instant::now();
            }
            gap
        });
        this_process(Duration::from_millis(500)).await.unwrap();
        assert!(watch.join().unwrap() >= Duration::from_millis(450));
    }
}
