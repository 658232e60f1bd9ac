//! What leaving a subscription builds on: how servers and the client understand a maximum of too many digits.

use std::time::Duration;

use failover_testkit::server::{Flavour, NatsServer};
use failover_testkit::wait_until;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::task::unconstrained;

use crate::fleet::{BOUND, plain};

/// The server unsubscribes at once, and everything before the next answer is delivered all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_maximum_of_many_digits_is_an_exact_end() {
    for flavour in [Flavour::Newest, Flavour::V2_9] {
        let server = NatsServer::builder().flavour(flavour).start();
        let (client, publisher) = (plain(&server).await, plain(&server).await);
        let mut subscriber = client.subscribe("load").await.unwrap();
        let _ = client.request("nobody", "".into()).await;
        for number in 0..1000 {
            publisher
                .publish("load", number.to_string().into())
                .await
                .unwrap();
        }
        let _ = publisher.request("nobody", "".into()).await;
        subscriber.unsubscribe_after(u64::MAX).await.unwrap();
        let _ = client.request("nobody", "".into()).await;
        wait_until(BOUND, "the server has unsubscribed", || {
            server.subscriptions("load") == 0
        })
        .await;
        publisher.publish("load", "late".into()).await.unwrap();
        let _ = publisher.request("nobody", "".into()).await;
        // After the answer everything is here, without waiting.
        for number in 0..1000 {
            // Without the runtime's budget, which would make this wait now and then.
            let message = unconstrained(subscriber.next())
                .now_or_never()
                .flatten()
                .unwrap_or_else(|| panic!("{flavour:?}: {number} is not here"));
            assert_eq!(
                message.payload,
                number.to_string().as_bytes(),
                "{flavour:?}"
            );
        }
        let more = tokio::time::timeout(Duration::from_millis(100), subscriber.next()).await;
        assert!(more.is_err(), "{flavour:?}: {more:?}");
    }
}
