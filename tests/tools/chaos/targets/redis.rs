//! Two independent redis-servers through redis-rs.

use std::sync::Arc;

use failover_core::redis::{FailoverConnection, Messages, Redis as Backend};
use failover_core::{Error, Failover};
use redis::{AsyncCommands, RedisError};

use super::calls::{self, Answers, BLOCKS, Failure, Field, SCRIPT, Speaks};
use super::servers::{self, Servers};
use super::{Applied, Course, Harm, Load, Target};
use crate::record::Target as Name;

/// See the [module](self).
pub(crate) struct Redis(pub(super) Servers);

/// What is the same through either client library.
macro_rules! independent {
    () => {
        const MEMBERS: &'static [&'static str] = &["east", "west"];
        const WORKERS: u16 = calls::WORKERS;

        fn start() -> Result<Self, String> {
            Servers::start().map(Self)
        }

        fn port(&self, member: usize) -> u16 {
            self.0.servers[member].port()
        }

        fn config(&self, ports: &[u16], variant: u64) -> String {
            servers::config(Self::MEMBERS, ports, variant)
        }

        async fn prepare(&self) -> Result<(), String> {
            self.0.fill(0).await?;
            self.0.fill(1).await
        }

        async fn begin(self: &Arc<Self>, harm: Harm, _course: &Course) -> Result<(), String> {
            self.0.begin(harm).await
        }

        async fn heal(self: &Arc<Self>, harm: Harm, _course: &Course) -> Result<(), String> {
            self.0.heal(harm).await
        }

        async fn load(
            self: &Arc<Self>,
            group: &Failover<Self::Backend>,
            course: &Course,
        ) -> Result<Load, String> {
            calls::start(&group.client(), course).await
        }

        async fn kept(self: &Arc<Self>, course: &Course) -> Result<Applied, String> {
            let mut applied = Applied::new(&course.logs);
            self.0.writes(0, &mut applied).await?;
            self.0.writes(1, &mut applied).await?;
            Ok(applied)
        }
    };
}
pub(super) use independent;

impl Target for Redis {
    type Backend = Backend;
    const NAME: Name = Name::Redis;
    independent!();
}

#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
fn failure(error: RedisError) -> Failure {
    let cause = FailoverConnection::cause(&error).map(ToString::to_string);
    Failure {
        fate: FailoverConnection::fate(&error),
        text: cause.unwrap_or_else(|| error.to_string()),
    }
}

impl Speaks for FailoverConnection {
    async fn read(&mut self, key: String) -> Result<Option<String>, Failure> {
        self.get(key).await.map_err(failure)
    }

    async fn write(&mut self, count: Field) -> Result<i64, Failure> {
        let counted = self.hincr(count.key, count.field, 1).await;
        counted.map_err(failure)
    }

    async fn pipeline(
        &mut self,
        count: Field,
        key: String,
    ) -> Result<(i64, Option<String>), Failure> {
        let mut pipeline = redis::pipe();
        pipeline.hincr(count.key, count.field, 1).get(key);
        pipeline.query_async(self).await.map_err(failure)
    }

    async fn transaction(
        &mut self,
        count: Field,
        key: String,
    ) -> Result<(i64, Option<String>), Failure> {
        let mut transaction = redis::pipe();
        transaction.atomic();
        transaction.hincr(count.key, count.field, 1).get(key);
        transaction.query_async(self).await.map_err(failure)
    }

    async fn script(&mut self, count: Field, text: String) -> Result<(i64, String), Failure> {
        let mut script = redis::cmd("EVAL");
        script
            .arg(SCRIPT)
            .arg(1)
            .arg(count.key)
            .arg(count.field)
            .arg(text);
        script.query_async(self).await.map_err(failure)
    }

    async fn push(&mut self, list: String, value: String) -> Result<i64, Failure> {
        self.lpush(list, value).await.map_err(failure)
    }

    async fn publish(&mut self, channel: &'static str, text: String) -> Result<i64, Failure> {
        AsyncCommands::publish(self, channel, text)
            .await
            .map_err(failure)
    }

    async fn listen(&self, channel: &'static str) -> Result<Messages, Error> {
        self.subscribe([channel]).await
    }

    fn pop(&mut self, list: String) -> impl Answers<Option<(String, String)>> {
        async move { self.blpop(list, BLOCKS).await.map_err(failure) }
    }
}
