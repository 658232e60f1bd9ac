//! How questions about a server are put through fred, and what its values say in answer.

use std::time::Duration;

use ::fred::error::Error as FredError;
use ::fred::interfaces::ClientLike;
use ::fred::types::config::Options;
use ::fred::types::{CustomCommand, Value};
use backend_api::{Error, ErrorKind};

use super::connection::FredConnection;
use super::meaning::{self, Trouble};
use crate::probe::{Ask, Said};

impl Ask for FredConnection {
    async fn ask(&self, questions: &[&[&str]]) -> Result<Vec<Said>, Error> {
        // Whoever asks bounds the time himself: the engine drops proofs and checks at deadlines of their own, which may
        // well be later than that of an operation.
        let unbounded = Options {
            timeout: Some(Duration::ZERO),
            ..Options::default()
        };
        let pipeline = self.client().pipeline().with_options(&unbounded);
        for question in questions {
            let Some((name, arguments)) = question.split_first() else {
                continue;
            };
            let command = CustomCommand::new(*name, None::<u16>, false);
            let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
            let queued: Result<Value, FredError> =
                pipeline.custom::<_, String>(command, arguments).await;
            queued.map_err(|error| silence(self, &error))?;
        }
        let answers = self
            .state()
            .until_end(pipeline.try_all::<Value>())
            .await
            .ok_or_else(|| self.interrupted())?;
        answers
            .iter()
            .map(|answer| match answer {
                Ok(value) => Ok(said(value)),
                Err(error) => match meaning::said(error) {
                    Some((code, details)) => {
                        Ok(Said::Refused(code.to_owned(), details.map(str::to_owned)))
                    }
                    None => Err(silence(self, error)),
                },
            })
            .collect()
    }
}

/// No answer at all.
fn silence(connection: &FredConnection, error: &FredError) -> Error {
    match meaning::of(error, false) {
        Trouble::Late | Trouble::Full => Error::new(
            ErrorKind::Timeout,
            format!("{} does not answer", connection.address()),
        ),
        _ => connection.interrupted(),
    }
}

fn said(value: &Value) -> Said {
    if let Some(text) = text(value) {
        return Said::Text(text.to_owned());
    }
    match value {
        Value::Array(fields) => Said::List(fields.first().and_then(text).map(str::to_owned)),
        Value::Null => Said::Other("nil"),
        Value::Integer(_) => Said::Other("a number"),
        Value::Bytes(_) => Said::Other("bytes"),
        _ => Said::Other("something else"),
    }
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        Value::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}
