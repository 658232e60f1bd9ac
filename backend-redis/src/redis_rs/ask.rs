//! How questions about a server are put through redis-rs.

use std::time::Duration;

use backend_api::{Error, ErrorKind, Health};
use redis::{RedisError, RedisResult};

use crate::check::driver::Watched;
use crate::probe::{Ask, Said};
use crate::redis_rs::connection::Connection;
use crate::redis_rs::link::Link;
use crate::redis_rs::topology::several;
use crate::redis_rs::values::said;
#[cfg(feature = "lag-aware")]
use crate::target::Target;

impl Ask for Connection {
    async fn ask(&self, questions: &[&[&str]]) -> Result<Vec<Said>, Error> {
        put(self.unbounded(), questions)
            .await
            .map_err(|error| silence(self, &error))
    }
}

impl Ask for Link {
    async fn ask(&self, questions: &[&[&str]]) -> Result<Vec<Said>, Error> {
        put(self.clone(), questions)
            .await
            .map_err(|_error| Error::new(ErrorKind::Lost, "the server does not answer"))
    }
}

impl Watched for Connection {
    type Link = Link;

    fn link(&self) -> Link {
        self.unbounded()
    }

    async fn several(&self, bound: Duration) -> Option<Health> {
        match self.line().follows() {
            true => Some(several::check(self, bound).await),
            false => None,
        }
    }

    #[cfg(feature = "lag-aware")]
    fn target(&self) -> Option<Target> {
        let connector = self.line().now().connector?;
        Some(connector.target.clone())
    }

    #[cfg(feature = "lag-aware")]
    fn rest(&self) -> &crate::check::lag_aware::session::Session {
        self.rest()
    }

    #[cfg(feature = "lag-aware")]
    fn run(&self, task: impl Future<Output = ()> + Send + 'static) -> bool {
        self.spawn(task).is_some()
    }

    #[cfg(feature = "lag-aware")]
    fn ended(&self) -> Error {
        self.interrupted()
    }
}

async fn put(mut link: Link, questions: &[&[&str]]) -> RedisResult<Vec<Said>> {
    let mut pipeline = redis::pipe();
    for question in questions {
        for (place, word) in question.iter().enumerate() {
            match place {
                0 => pipeline.cmd(word),
                _ => pipeline.arg(word),
            };
        }
    }
    let answers = link.pipeline(&pipeline, 0, questions.len()).await?;
    Ok(answers.iter().map(said).collect())
}

/// No answer at all.
fn silence(connection: &Connection, error: &RedisError) -> Error {
    if error.is_timeout() {
        Error::new(
            ErrorKind::Timeout,
            format!("{} does not answer", connection.address()),
        )
    } else {
        connection.interrupted()
    }
}
