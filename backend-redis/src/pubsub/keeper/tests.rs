//! What a keeper makes of its socket's answers, without a server.

use backend_api::engine::signal_channel;
use backend_api::{Generation, MemberName};

use super::*;
use crate::pubsub::feed::Origin;
use crate::pubsub::link::Moving;
use crate::pubsub::registry::Registry;
use crate::target::Address;

/// A socket whose PONG does not come in time; so many messages come meanwhile.
struct Busy {
    heard: Arc<AtomicU64>,
    messages: u64,
}

impl Link for Busy {
    async fn ask(
        &mut self,
        _word: fn(Kind) -> &'static str,
        topics: &[Topic],
    ) -> Result<Vec<Result<(), Refused>>, Broken> {
        Ok(topics.iter().map(|_| Ok(())).collect())
    }

    async fn ping(&mut self) -> Result<(), Broken> {
        self.heard.fetch_add(self.messages, Ordering::Relaxed);
        Err(Broken::Late)
    }
}

/// Opens none.
struct Closed;

impl Listen for Closed {
    type Link = Busy;

    fn address(&self) -> Address {
        Address::Tcp("home".to_owned(), 6379)
    }

    async fn listen(&self, _: Duration, _: OnMessage) -> Result<(Busy, Moving), Error> {
        Err(Error::new(ErrorKind::Refused, "nobody is there"))
    }
}

#[tokio::test]
async fn a_late_pong_behind_messages_is_an_answer_and_silence_is_none() {
    let (source, _heard) = signal_channel();
    let member = MemberName::from("east");
    let origin = Origin {
        member: member.clone(),
        generation: Generation(1),
    };
    let second = Duration::from_secs(1);
    let keeper = Keeper {
        feed: Arc::new(Feed::new(Arc::new(Registry::new(1)), origin, second)),
        connector: Arc::new(Closed),
        signals: source.signals(member, Generation(1)),
        open: second,
        operation: second,
        heartbeat: second,
    };
    let heard = Arc::<AtomicU64>::default();
    for (messages, stays) in [(1, true), (0, false), (1000, true)] {
        let heard = heard.clone();
        let counted = heard.clone();
        let mut link = Busy { heard, messages };
        let answer = keeper.ping(&mut link, &counted).await;
        assert_eq!(answer.is_ok(), stays, "{messages}: {answer:?}");
    }
}
