//! Redis through fred: the same servers, the same configuration and the same calls.

use std::sync::Arc;

use ::fred::clients::Client;
use ::fred::error::Error as FredError;
use ::fred::interfaces::{KeysInterface, PubsubInterface};
use failover_core::Error;
use failover_core::redis::{Fred as Backend, FredClient, Messages};

use super::pubsub::{CHANNEL, Talks};
use super::{COUNTER, MEMBERS, NUMBER, SPAN, Servers, through};
use crate::calls::Calls;
use crate::scenario::{Answers, Fault, Op, Service};

pub(crate) struct Fred(Servers);

impl Service for Fred {
    type Backend = Backend;
    type Load = Calls;
    const DRIVER: Option<&'static str> = Some("fred");
    through!(Fred);
}

impl Answers for Fred {
    async fn call(client: FredClient, op: Op) -> Result<usize, String> {
        let answer = match op {
            Op::Get => client.run_idempotent(get).await,
            Op::Incr => client.run(incr).await.map(|count| count / SPAN),
        };
        answer.map_err(|error| error.to_string())
    }
}

async fn get(client: Arc<Client>) -> Result<usize, FredError> {
    client.get(NUMBER).await
}

async fn incr(client: Arc<Client>) -> Result<usize, FredError> {
    client.incr(COUNTER).await
}

impl Talks for Fred {
    async fn listen(client: &FredClient) -> Result<Messages, Error> {
        client.subscribe([CHANNEL]).await
    }

    async fn publish(client: FredClient, text: String) -> Result<i64, String> {
        let answer = client
            .run(|client| client_publish(client, text.clone()))
            .await;
        answer.map_err(|error| error.to_string())
    }
}

async fn client_publish(client: Arc<Client>, text: String) -> Result<i64, FredError> {
    client.publish(CHANNEL, text).await
}
