//! How questions about a server are put through redis-rs, and what its values say in answer.

use std::time::Duration;

use backend_api::{Error, ErrorKind, Health};
use redis::{RedisError, RedisResult, Value};

use crate::probe::{Ask, Said, Watched};
use crate::redis_rs::commands::word;
use crate::redis_rs::connection::Connection;
use crate::redis_rs::link::Link;
use crate::redis_rs::topology::several;
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
    fn rest(&self) -> &crate::check::Session {
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

fn said(value: &Value) -> Said {
    if let Some(text) = text(value) {
        return Said::Text(text.to_owned());
    }
    match value {
        Value::Array(fields) => Said::List(fields.iter().map(said).collect()),
        Value::ServerError(error) => {
            Said::Refused(error.code().to_owned(), error.details().map(str::to_owned))
        }
        Value::Nil => Said::Other("nil"),
        Value::Int(_) => Said::Other("a number"),
        Value::BulkString(_) => Said::Other("bytes"),
        Value::Okay => Said::Other("OK"),
        _ => Said::Other("something else"),
    }
}

/// A word, or a longer text that is marked as one.
pub(crate) fn text(value: &Value) -> Option<&str> {
    match value {
        Value::VerbatimString { text, .. } => Some(text),
        other => word(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // P150
    #[test]
    fn a_text_is_a_text_however_it_was_sent() {
        for pong in [
            Value::SimpleString("PONG".into()),
            Value::BulkString(b"PONG".to_vec()),
        ] {
            assert!(matches!(said(&pong), Said::Text(text) if text == "PONG"));
        }
        let role = Value::Array(vec![Value::BulkString(b"master".to_vec()), Value::Int(0)]);
        let Said::List(fields) = said(&role) else {
            panic!("{role:?}")
        };
        assert!(matches!(&fields[..], [Said::Text(role), Said::Other(_)] if role == "master"));
        for other in [Value::Okay, Value::Nil, Value::BulkString(vec![0xff])] {
            assert!(matches!(said(&other), Said::Other(_)), "{other:?}");
        }
    }
}
