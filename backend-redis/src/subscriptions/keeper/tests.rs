//! What a keeper makes of its socket's answers, without a server.

use backend_api::engine::signal_channel;
use backend_api::{Generation, MemberName};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::address::Address;
use crate::subscriptions::agreement::Origin;
use crate::subscriptions::listen::Server;
use crate::subscriptions::registry::Registry;

/// It leads nowhere: the test opens the socket.
struct Nowhere;

impl Listen for Nowhere {
    fn address(&self) -> Address {
        Address::Tcp("home".to_owned(), 6379)
    }

    fn server(&self) -> Result<Server, Error> {
        Err(Error::new(ErrorKind::Refused, "nobody is there"))
    }
}

/// One message on one channel, as a server pushes it.
const MESSAGE: &[u8] = b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n";

#[tokio::test]
async fn a_late_pong_behind_messages_is_an_answer_and_silence_is_none() {
    let (source, _heard) = signal_channel();
    let member = MemberName::from("east");
    let origin = Origin {
        member: member.clone(),
        generation: Generation(1),
    };
    let operation = Duration::from_millis(50);
    let keeper = Keeper {
        feed: Arc::new(Feed::new(Arc::new(Registry::new(1)), origin, operation)),
        connector: Arc::new(Nowhere),
        signals: source.signals(member, Generation(1)),
        open: operation,
        operation,
        heartbeat: operation,
    };
    for (messages, stays) in [(1, true), (0, false), (100, true)] {
        let heard = Arc::<AtomicU64>::default();
        let (mut server, client) = tokio::io::duplex(1 << 16);
        let (mut socket, moving) = socket::over(client, operation, keeper.listener(heard.clone()));
        // It hears the PING, has this much to deliver, and does not come to its PONG.
        let busy = async {
            let mut ping = [0; 14];
            server.read_exact(&mut ping).await.unwrap();
            server.write_all(&MESSAGE.repeat(messages)).await.unwrap();
            std::future::pending::<()>().await;
        };
        let answer = tokio::select! {
            answer = keeper.ping(&mut socket, &heard) => answer,
            _ = moving => panic!("the server has not hung up"),
            () = busy => unreachable!("it waits for ever"),
        };
        assert_eq!(answer.is_ok(), stays, "{messages} messages");
    }
}
