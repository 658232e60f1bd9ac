//! The whole engine over Redis, on real servers with real faults: what `backend-redis` pins against the contract is seen
//! here to come together. One target, so that it links once.
//!
//! Everything waits for a condition with a bound; no test hopes that some time is enough.

#![cfg(feature = "redis")]
#![cfg_attr(
    feature = "fred",
    expect(
        clippy::duplicate_mod,
        reason = "the tests of pub/sub run through each driver"
    )
)]

mod checks;
mod fleet;
#[cfg(feature = "fred")]
mod fred;
mod leaks;
mod loss;
mod moves;
mod places;
mod replication;
mod roles;
#[cfg(feature = "fred")]
#[path = "."]
mod through_fred {
    //! What holds through each driver, through fred.

    pub(crate) use failover_core::redis::Fred as Driver;
    use failover_core::redis::FredClient;
    use fred::interfaces::PubsubInterface;

    mod pubsub;

    /// Says who heard it.
    pub(crate) async fn publish(client: &FredClient, channel: &str, text: &str) -> i64 {
        let published = client.run(|client| async move { client.publish(channel, text).await });
        published.await.unwrap()
    }
}
#[path = "."]
mod through_redis {
    //! The same through redis-rs.

    use failover_core::redis::FailoverConnection;
    pub(crate) use failover_core::redis::Redis as Driver;
    use redis::AsyncCommands;

    mod pubsub;

    /// Says who heard it.
    pub(crate) async fn publish(client: &FailoverConnection, channel: &str, text: &str) -> i64 {
        client.clone().publish(channel, text).await.unwrap()
    }
}
