//! The backend against real servers, with the engine played by a stand-in.
//!
//! What the engine decides is not tested here; what a connection and a client do when it decides is. A missing
//! redis-server fails these tests.

#![cfg_attr(
    feature = "fred",
    expect(
        clippy::duplicate_mod,
        reason = "the tests of pub/sub run through each driver"
    )
)]

mod blocking;
mod checks;
mod commands;
mod connect;
mod fates;
#[cfg(feature = "fred")]
mod fred;
#[cfg(feature = "lag-aware")]
mod lag_aware;
mod maintenance;
mod proofs;
mod proxy;
mod replay;
mod retire;
#[cfg(feature = "sentinel")]
mod sentinel;
mod server;
mod stand_in;
#[cfg(feature = "fred")]
#[path = "."]
mod through_fred {
    //! What holds through each driver, through fred.

    pub(crate) use backend_redis::Fred as Driver;
    use backend_redis::FredClient;
    use fred::interfaces::ClientLike;
    use fred::types::CustomCommand;

    mod pubsub;

    pub(crate) async fn config_set(client: &FredClient, name: &str, value: &str) {
        let words = ["SET", name, value];
        let set = client.run(|client| async move {
            let command = CustomCommand::new_static("CONFIG", None::<u16>, false);
            client
                .custom::<(), _>(command, words.map(str::to_owned).to_vec())
                .await
        });
        set.await.unwrap();
    }
}
#[path = "."]
mod through_redis {
    //! The same through redis-rs.

    use backend_redis::FailoverConnection;
    pub(crate) use backend_redis::Redis as Driver;

    mod pubsub;

    pub(crate) async fn config_set(client: &FailoverConnection, name: &str, value: &str) {
        let mut command = redis::cmd("CONFIG");
        command.arg(&["SET", name, value]);
        let () = command.query_async(&mut client.clone()).await.unwrap();
    }
}
#[cfg(feature = "tls")]
mod tls;
mod watch;
