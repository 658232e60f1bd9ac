//! What one subscription promises whoever holds it: how it begins, and how it ends.

use failover_core::nats::Subscription;

use crate::fleet::{BOUND, Fleet};

async fn next(subscription: &mut Subscription) -> Option<String> {
    let message = tokio::time::timeout(BOUND, subscription.next()).await;
    let message = message.expect("a message or the end")?;
    Some(String::from_utf8(message.payload.to_vec()).unwrap())
}

/// Streams may be read on after their end, by `select!` in a loop for one.
#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_group_is_an_end_for_good() {
    let fleet = Fleet::whole(1, "").await;
    let mut subscription = fleet.client.subscribe("load").await.unwrap();
    fleet.group.close().await;
    for _ in 0..3 {
        assert_eq!(next(&mut subscription).await, None);
    }
}
