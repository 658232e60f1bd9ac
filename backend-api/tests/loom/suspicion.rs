//! Said once is enough, and never is not: what happens after the engine took a signal is told again.
//!
//! The measure is the same everywhere. Whoever has trouble writes it down and then speaks. The engine takes what it hears
//! and then looks. In the end everything written down was seen by a look, or there is still something to hear.

use backend_api::engine::{Heard, SignalSource, signal_channel};
use backend_api::{Error, ErrorKind, Generation, Member, Outcome, Signal, Signals};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

use super::{explore, number, slot};

/// What went wrong so far. Relaxed: that a look sees it must follow from the signals.
type Trouble = Arc<AtomicU64>;

fn voice() -> (
    SignalSource<()>,
    Signals<()>,
    impl FnMut() -> Option<Heard<()>>,
) {
    let (source, mut heard) = signal_channel();
    let signals = source.signals("east".into(), Generation(1));
    (source, signals, move || heard.try_recv().ok())
}

/// Two who speak, and an engine that takes while they do. Catches a word that is held back although nobody will look any
/// more: marked as unsaid before it is heard, say, or marked as said after it was sent.
fn no_word_is_lost(say: impl Fn(&Signals<()>) + Sync + Send + Copy + 'static) {
    explore(move || {
        let (_source, signals, mut heard) = voice();
        let trouble = Trouble::new(AtomicU64::new(0));
        let speakers = [(); 2].map(|()| {
            let (signals, trouble) = (signals.clone(), trouble.clone());
            thread::spawn(move || {
                trouble.fetch_add(1, Ordering::Relaxed);
                say(&signals);
            })
        });
        let mut seen = 0;
        let mut listen = || {
            while let Some(heard) = heard() {
                heard.take();
                seen = trouble.load(Ordering::Relaxed);
            }
        };
        listen();
        for speaker in speakers {
            speaker.join().unwrap();
        }
        listen();
        assert_eq!(seen, 2, "trouble that nobody looked at");
    });
}

#[test]
fn no_suspicion_of_a_connection_is_lost() {
    no_word_is_lost(Signals::suspect);
}

#[test]
fn no_condemnation_is_lost() {
    no_word_is_lost(|signals| signals.condemned(Error::new(ErrorKind::Unhealthy, "loading")));
}

#[test]
fn no_list_of_members_is_lost() {
    no_word_is_lost(|signals| signals.discovered(vec![Member::new("west", ())]));
}

/// Catches an older list that is taken after a newer one, or instead of it, and one that is told twice.
#[test]
fn the_latest_list_of_members_is_the_last_that_is_taken() {
    explore(|| {
        let (_source, signals, mut heard) = voice();
        let speaker = thread::spawn(move || {
            for count in 1..=2 {
                signals.discovered(vec![Member::new("west", ()); count]);
            }
        });
        let mut taken = Vec::new();
        let mut listen = || {
            while let Some(heard) = heard() {
                let Signal::Discovered(members) = heard.take().2 else {
                    panic!("it said something else")
                };
                taken.push(members.len());
            }
        };
        listen();
        speaker.join().unwrap();
        listen();
        assert!(matches!(taken[..], [2] | [1, 2]), "{taken:?}");
    });
}

/// Catches an end that is told twice, or not at all.
#[test]
fn an_end_is_told_exactly_once() {
    explore(|| {
        let (_source, signals, mut heard) = voice();
        let speakers = [(); 2].map(|()| {
            let signals = signals.clone();
            thread::spawn(move || signals.lost(Error::new(ErrorKind::Lost, "reset")))
        });
        let early = heard().map(Heard::take);
        for speaker in speakers {
            speaker.join().unwrap();
        }
        let late = heard().map(Heard::take);
        let (Some((_, _, signal)), None) = (early.or(late), heard()) else {
            panic!("not once")
        };
        assert!(matches!(signal, Signal::Lost(_)));
    });
}

/// The whole way of a failed operation, as engines build it: the lease tells the connection's voice, the engine takes the
/// signal, listens, and looks. Catches listening before taking, and everything that the turn's own mark can get wrong.
#[test]
fn a_failure_after_the_engine_listened_is_told() {
    explore(|| {
        let (mut owner, slot) = slot();
        let (_source, signals, mut heard) = voice();
        let (tally, _) = owner.activate(&"east".into(), number("east"), &"east", move || {
            signals.suspect();
        });
        let trouble = Trouble::new(AtomicU64::new(0));
        let clients = [(); 2].map(|()| {
            let (slot, trouble) = (slot.clone(), trouble.clone());
            thread::spawn(move || {
                let lease = slot.try_lease().unwrap();
                trouble.fetch_add(1, Ordering::Relaxed);
                lease.finish(Outcome::Failure);
            })
        });
        let mut seen = 0;
        let mut listen = || {
            while let Some(heard) = heard() {
                heard.take();
                tally.listen();
                seen = trouble.load(Ordering::Relaxed);
            }
        };
        listen();
        for client in clients {
            client.join().unwrap();
        }
        listen();
        assert_eq!(seen, 2, "a failure that nobody looked at");
        assert_eq!(tally.totals(), (0, 2));
    });
}
