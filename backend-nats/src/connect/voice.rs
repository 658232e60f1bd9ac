//! What the client says about its connection, and how the engine hears of it.
//!
//! The client's channel of events holds 128 and drops what does not fit, so everything here is quick: a few flags, and
//! signals, which never block.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::{Event, ServerError};
use backend_api::{Error, ErrorKind, Signals};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Notify, broadcast, watch};

use crate::config::Settings;

/// What is known of a connection, for everybody who works on it.
pub(crate) struct State {
    /// It was opened: before that its end is the dial's, which may try elsewhere.
    opened: AtomicBool,
    /// The client's task was told to end, or has ended.
    ended: AtomicBool,
    /// The engine is about to end it.
    retiring: watch::Sender<bool>,
    /// Somebody needs it to be over.
    hurry: Notify,
    /// The engine ended it.
    retired: AtomicBool,
    /// Messages that were dropped because a reader was too slow.
    dropped: AtomicU64,
    /// The task is gone, and its socket with it.
    gone: watch::Sender<bool>,
    /// What the server forbids, as it says so.
    forbidden: broadcast::Sender<Arc<str>>,
    lame_duck: AtomicBool,
}

/// So many refusals are kept for who is about to look. A flood of them is not a probe's.
const FORBIDDEN: usize = 16;

impl Default for State {
    fn default() -> Self {
        Self {
            opened: AtomicBool::default(),
            ended: AtomicBool::default(),
            retiring: watch::Sender::new(false),
            hurry: Notify::default(),
            retired: AtomicBool::default(),
            dropped: AtomicU64::default(),
            gone: watch::Sender::new(false),
            forbidden: broadcast::Sender::new(FORBIDDEN),
            lame_duck: AtomicBool::default(),
        }
    }
}

impl State {
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// The engine is about to end it: nothing more comes of it.
    pub(crate) fn retiring(&self) {
        self.retiring.send_replace(true);
    }

    /// It has ended, or is about to be.
    pub(crate) fn is_going(&self) -> bool {
        self.has_ended() || *self.retiring.borrow()
    }

    /// Resolves when it is.
    pub(crate) async fn going(&self) {
        let mut retiring = self.retiring.subscribe();
        tokio::select! {
            // An error would mean that the sender is dropped, which `self` owns.
            _ = retiring.wait_for(|retiring| *retiring) => {}
            () = self.gone() => {}
        }
    }

    /// Whoever ends it is not to wait for anything any more.
    pub(crate) fn hurry(&self) {
        self.hurry.notify_one();
    }

    /// Resolves when somebody needs it to be over.
    pub(crate) async fn hurried(&self) {
        self.hurry.notified().await;
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }

    /// From here on what ends is not lost: it is wanted. What had ended by itself stays lost.
    pub(crate) fn retire(&self) {
        if !self.ended.swap(true, Ordering::AcqRel) {
            self.retired.store(true, Ordering::Release);
        }
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(crate) fn is_lame_duck(&self) -> bool {
        self.lame_duck.load(Ordering::Relaxed)
    }

    /// The member announced its shutdown: whoever found that out.
    pub(crate) fn lame_duck(&self, signals: &Signals<Settings>) {
        self.lame_duck.store(true, Ordering::Relaxed);
        signals.lame_duck();
    }

    /// Resolves when the client's task is gone.
    pub(crate) async fn gone(&self) {
        // An error would mean that the sender is dropped, which `self` owns.
        let _ = self.gone.subscribe().wait_for(|gone| *gone).await;
    }

    /// Resolves when the server forbids to publish to exactly this subject, from this call on, with its words.
    pub(crate) fn forbids(&self, subject: &str) -> impl Future<Output = String> + use<> {
        // Here and not when it is first polled: by then the answer may have come.
        let mut forbidden = self.forbidden.subscribe();
        let subject = subject.to_owned();
        async move {
            loop {
                match forbidden.recv().await {
                    Ok(words) if is_of_publishing(&words, &subject) => return words.to_string(),
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => std::future::pending().await,
                }
            }
        }
    }
}

/// Whether it is about publishing to this subject. It stands there in quotation marks, so that another that begins or ends
/// like it is another.
fn is_of_publishing(words: &str, subject: &str) -> bool {
    const PUBLISH: &str = "permissions violation for publish to ";
    // The same length, byte for byte.
    let at = words.to_ascii_lowercase().find(PUBLISH);
    at.is_some_and(|at| words[at + PUBLISH.len()..].starts_with(&format!("{subject:?}")))
}

/// Turns events into signals.
pub(crate) struct Voice {
    signals: Signals<Settings>,
    address: String,
    state: Arc<State>,
    /// Why the server is about to end the connection, if it said so.
    reason: Arc<Mutex<Option<Error>>>,
}

impl Voice {
    pub(crate) fn new(signals: Signals<Settings>, address: String, state: Arc<State>) -> Self {
        Self {
            signals,
            address,
            state,
            reason: Arc::default(),
        }
    }

    pub(crate) fn member(&self) -> &str {
        self.signals.member().as_str()
    }

    pub(crate) fn hear(&self, event: Event) {
        match event {
            Event::LameDuckMode => self.state.lame_duck(&self.signals),
            Event::Disconnected => self.lost(),
            Event::SlowConsumer(_) => {
                // A flood of them says no more than the first.
                if self.state.dropped.fetch_add(1, Ordering::Relaxed) == 0 {
                    let text = "messages were dropped: a subscription's reader is too slow for what arrives";
                    self.signals.notice("slow_consumer", text);
                }
            }
            Event::ServerError(error) => self.server_said(&error),
            Event::ClientError(_) | Event::Connected | Event::Draining | Event::Closed => {}
        }
    }

    fn server_said(&self, error: &ServerError) {
        let words = error.to_string();
        let lower = words.to_ascii_lowercase();
        let expired = lower.contains("expired") || lower.contains("revoked");
        if *error == ServerError::AuthorizationViolation || expired {
            let text = format!("{} ended the connection: {words}", self.address);
            *lock(&self.reason) = Some(Error::new(ErrorKind::Auth, text));
        } else if lower.contains("permissions violation") {
            self.signals
                .notice("forbidden", format!("the server forbids it: {words}"));
            // An error means that nobody waits for it.
            let _ = self.state.forbidden.send(words.into());
        } else {
            self.signals.notice("server_error", words);
        }
    }

    fn lost(&self) {
        self.state.ended.store(true, Ordering::SeqCst);
        if self.state.is_retired() || !self.state.opened.load(Ordering::SeqCst) {
            return;
        }
        let reason = lock(&self.reason).clone();
        self.signals.lost(reason.unwrap_or_else(|| {
            let text = format!("the connection to {} ended", self.address);
            Error::new(ErrorKind::Lost, text)
        }));
    }

    /// The connection is open. If it has ended already, that is told now.
    pub(super) fn opened(&self) {
        self.state.opened.store(true, Ordering::SeqCst);
        if self.state.ended.load(Ordering::SeqCst) {
            self.lost();
        }
    }

    /// Kept by the client's task and dropped with it.
    pub(super) fn end(self: &Arc<Self>) -> End {
        End(self.clone())
    }
}

/// The end of the client's task, told from inside it.
pub(super) struct End(Arc<Voice>);

impl End {
    /// The client wants to reconnect. Its events come in order and name the server's reason, if there is one; they are
    /// waited for a moment, but not longer: a flood can have pushed them out of their channel.
    pub(super) fn begins(&self) {
        self.0.state.ended.store(true, Ordering::Release);
        let voice = self.0.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            voice.lost();
        });
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // Also where the task ended otherwise, by a panic for one.
        self.0.lost();
        self.0.state.gone.send_replace(true);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use backend_api::Generation;
    use backend_api::engine::signal_channel;
    use futures_util::FutureExt as _;

    #[test]
    fn only_what_is_said_of_the_probe_and_after_it_speaks_against_it() {
        let (sender, _receiver) = signal_channel();
        let signals = sender.signals("east".into(), Generation(1));
        let state = Arc::<State>::default();
        let voice = Voice::new(signals, "h:4222".to_owned(), state.clone());
        let said = |words: &str| {
            voice.hear(Event::ServerError(ServerError::Other(words.to_owned())));
        };
        let probe = "Permissions Violation for Publish to \"health\"";
        said(probe);
        let mut asked = state.forbids("health").boxed();
        for other in [
            "Permissions Violation for Publish to \"health.check\"",
            "Permissions Violation for Publish to \"my.health\"",
            "Permissions Violation for Publish to \"Health\"",
            "Permissions Violation for Publish with Reply of \"health\"",
            "Permissions Violation for Subscription to \"health\"",
            "Permissions Violation for Subscription to \"health\" using queue \"q\"",
        ] {
            said(other);
            assert_eq!((&mut asked).now_or_never(), None, "{other}");
        }
        // Before it is looked at, behind it, and as other servers write it.
        for words in [probe, "permissions violation for publish to \"health\""] {
            let asked = state.forbids("health");
            said(words);
            said("Permissions Violation for Publish to \"health.check\"");
            let told = asked.now_or_never().expect("it is the probe");
            assert!(told.contains(words), "{told}");
        }
    }
}
