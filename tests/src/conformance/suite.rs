//! How one behaviour is tried: bounded, alone, and without taking the others along when it panics.
//!
//! Here also stand the few words in which behaviours say what went wrong. No behaviour stands here.

use std::fmt::Display;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use failover_core::Error;
use tokio::time::{Instant, sleep, timeout};

use super::Harness;
use super::report::{Line, Report, Verdict};

/// No behaviour takes nearly as long; one that does hangs.
const HANGS: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(2);

/// Why a behaviour is not `ok`.
#[derive(Debug)]
pub(super) enum Problem {
    Failed(String),
    NotApplicable(String),
}

pub(super) type Check<T = ()> = Result<T, Problem>;

pub(super) fn failed(why: impl Display) -> Problem {
    Problem::Failed(why.to_string())
}

pub(super) fn not_applicable(why: impl Display) -> Problem {
    Problem::NotApplicable(why.to_string())
}

/// An answer that has to be a success for the behaviour to hold.
pub(super) trait Must<T> {
    fn must(self, what: &str) -> Check<T>;
}

impl<T> Must<T> for Result<T, Error> {
    fn must(self, what: &str) -> Check<T> {
        self.map_err(|error| failed(format_args!("{what} failed: {error}")))
    }
}

/// What a future answers, which it must do within `bound`.
pub(super) async fn within<T>(
    bound: Duration,
    what: &str,
    future: impl Future<Output = T>,
) -> Check<T> {
    timeout(bound, future)
        .await
        .map_err(|_elapsed| failed(format_args!("{what} did not end within {bound:?}")))
}

/// Waits until a look finds what it looks for.
pub(super) async fn until<F>(bound: Duration, what: &str, mut look: impl FnMut() -> F) -> Check
where
    F: Future<Output = bool>,
{
    let deadline = Instant::now() + bound;
    while !look().await {
        if Instant::now() >= deadline {
            return Err(failed(format_args!("{what}: not within {bound:?}")));
        }
        sleep(POLL).await;
    }
    Ok(())
}

fn uncounted() -> Problem {
    not_applicable("the harness cannot count connections as the member sees them")
}

/// The member sees that something is open: a count that is always zero would find nothing left behind.
pub(super) async fn sees_some<H: Harness>(harness: &H, member: &H::Member) -> Check {
    match harness.connections(member).await {
        None => Err(uncounted()),
        Some(0) => Err(failed(
            "the harness counts no connection although one is open and proven",
        )),
        Some(_) => Ok(()),
    }
}

/// Waits until the member sees exactly `count` connections.
pub(super) async fn sees<H: Harness>(
    harness: &H,
    member: &H::Member,
    count: usize,
    bound: Duration,
) -> Check {
    let deadline = Instant::now() + bound;
    loop {
        let Some(seen) = harness.connections(member).await else {
            return Err(uncounted());
        };
        if seen == count {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(failed(format_args!(
                "after {bound:?} the member still sees {seen} connections instead of {count}"
            )));
        }
        sleep(POLL).await;
    }
}

/// A run over one harness.
pub(super) struct Suite<'h, H> {
    pub(super) harness: &'h H,
    report: Report,
}

impl<'h, H: Harness> Suite<'h, H> {
    pub(super) fn new(harness: &'h H) -> Self {
        Self {
            harness,
            report: Report::default(),
        }
    }

    pub(super) fn into_report(self) -> Report {
        self.report
    }

    /// Tries one behaviour and writes its line.
    pub(super) async fn check(
        &mut self,
        behaviour: &'static str,
        trial: impl Future<Output = Check>,
    ) {
        let began = Instant::now();
        let verdict = match timeout(HANGS, caught(trial)).await {
            Ok(Ok(())) => Verdict::Ok,
            Ok(Err(Problem::Failed(why))) => Verdict::Failed(why),
            Ok(Err(Problem::NotApplicable(why))) => Verdict::NotApplicable(why),
            Err(_elapsed) => Verdict::Failed(format!("it was not over after {HANGS:?}")),
        };
        self.report.add(Line {
            behaviour,
            verdict,
            took: began.elapsed(),
        });
    }
}

/// A panic of the backend is one failed behaviour, and not the end of the report.
async fn caught(trial: impl Future<Output = Check>) -> Check {
    let mut trial = pin!(trial);
    poll_fn(|context| {
        catch_unwind(AssertUnwindSafe(|| trial.as_mut().poll(context))).unwrap_or_else(|panic| {
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("(no text)");
            Poll::Ready(Err(failed(format_args!("it panicked: {text}"))))
        })
    })
    .await
}
