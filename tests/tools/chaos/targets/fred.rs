//! The same two servers and the same workload through fred.

use std::sync::Arc;

use ::fred::interfaces::{
    HashesInterface, KeysInterface, ListInterface, LuaInterface, PubsubInterface,
    TransactionInterface,
};
use failover_core::redis::{Fred as Backend, FredClient, Messages};
use failover_core::{Error, ErrorKind, Failover, Fate};

use super::calls::{self, BLOCKS, Failure, Field, SCRIPT, Speaks};
use super::servers::{self, Servers};
use super::{Applied, Course, Harm, Load, Target, redis::independent};
use crate::record::Target as Name;

/// See the [module](self).
pub(crate) struct Fred(Servers);

impl Target for Fred {
    type Backend = Backend;
    const NAME: Name = Name::Fred;
    independent!();
}

#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
fn failure(error: Error) -> Failure {
    // What the server itself said is in the source, and has no fate: of none of the operations here has anything been applied
    // then.
    let refused = error.fate().is_none() && FredClient::cause(&error).is_some();
    Failure {
        fate: if refused {
            Some(Fate::NotApplied)
        } else {
            error.fate()
        },
        text: error.to_string(),
    }
}

impl Speaks for FredClient {
    async fn read(&mut self, key: String) -> Result<Option<String>, Failure> {
        let read = self.run_idempotent(move |client| {
            let key = key.clone();
            async move { client.get(key).await }
        });
        read.await.map_err(failure)
    }

    async fn write(&mut self, count: Field) -> Result<i64, Failure> {
        let written = self.run(move |client| {
            let Field { key, field } = count.clone();
            async move { client.hincrby(key, field.to_string(), 1).await }
        });
        written.await.map_err(failure)
    }

    async fn pipeline(
        &mut self,
        count: Field,
        key: String,
    ) -> Result<(i64, Option<String>), Failure> {
        let both = self.run(move |client| {
            let (count, read) = (count.clone(), key.clone());
            async move {
                let pipeline = client.pipeline();
                let field = count.field.to_string();
                let _: () = pipeline.hincrby(count.key, field, 1).await?;
                let _: () = pipeline.get(read).await?;
                pipeline.all().await
            }
        });
        both.await.map_err(failure)
    }

    async fn transaction(
        &mut self,
        count: Field,
        key: String,
    ) -> Result<(i64, Option<String>), Failure> {
        let both = self.run(move |client| {
            let (count, read) = (count.clone(), key.clone());
            async move {
                let transaction = client.multi();
                let field = count.field.to_string();
                let _: () = transaction.hincrby(count.key, field, 1).await?;
                let _: () = transaction.get(read).await?;
                transaction.exec(true).await
            }
        });
        both.await.map_err(failure)
    }

    async fn script(&mut self, count: Field, text: String) -> Result<(i64, String), Failure> {
        let said = self.run(move |client| {
            let (count, text) = (count.clone(), text.clone());
            async move {
                let words = vec![count.field.to_string(), text];
                client.eval(SCRIPT, vec![count.key], words).await
            }
        });
        said.await.map_err(failure)
    }

    async fn push(&mut self, list: String, value: String) -> Result<i64, Failure> {
        let pushed = self.run(move |client| {
            let (list, value) = (list.clone(), value.clone());
            async move { client.lpush(list, value).await }
        });
        pushed.await.map_err(failure)
    }

    async fn publish(&mut self, channel: &'static str, text: String) -> Result<i64, Failure> {
        let published = self.run(move |client| {
            let text = text.clone();
            async move { client.publish(channel, text).await }
        });
        published.await.map_err(failure)
    }

    async fn listen(&self, channel: &'static str) -> Result<Messages, Error> {
        self.subscribe([channel]).await
    }

    async fn pop(&mut self, list: String) -> Result<Option<(String, String)>, Failure> {
        let popped = self.run_blocking(move |client| {
            let list = list.clone();
            async move { client.blpop(list, BLOCKS).await }
        });
        match popped.await {
            // fred's word for a time that ran out on the server.
            Err(error) if error.kind() == ErrorKind::Timeout && error.fate().is_none() => Ok(None),
            popped => popped.map_err(failure),
        }
    }
}
