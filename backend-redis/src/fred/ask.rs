//! How questions about a server are put through fred, and what its values say in answer.

use std::sync::Arc;
use std::time::Duration;

use ::fred::clients::Client;
use ::fred::error::Error as FredError;
use ::fred::interfaces::ClientLike;
use ::fred::types::config::Options;
use ::fred::types::{CustomCommand, Value};
use backend_api::{Error, ErrorKind};

use super::connection::FredConnection;
use super::errors;
use super::state::State;
use crate::check::driver::Watched;
use crate::failures::Cause;
use crate::probe::{Ask, Said};
#[cfg(feature = "lag-aware")]
use crate::target::Target;

/// The shared client, of which nothing is held.
#[derive(Clone)]
pub(crate) struct Link {
    client: Client,
    state: Arc<State>,
}

impl Ask for FredConnection {
    async fn ask(&self, questions: &[&[&str]]) -> Result<Vec<Said>, Error> {
        put(self.client(), self.state(), questions)
            .await
            .map_err(|error| silence(self, error.as_ref()))
    }
}

impl Ask for Link {
    async fn ask(&self, questions: &[&[&str]]) -> Result<Vec<Said>, Error> {
        put(&self.client, &self.state, questions)
            .await
            .map_err(|_error| Error::new(ErrorKind::Lost, "the server does not answer"))
    }
}

impl Watched for FredConnection {
    type Link = Link;

    fn link(&self) -> Link {
        Link {
            client: self.client().clone(),
            state: self.state().clone(),
        }
    }

    #[cfg(feature = "lag-aware")]
    fn target(&self) -> Option<Target> {
        Some(self.connector().target.clone())
    }

    #[cfg(feature = "lag-aware")]
    fn rest(&self) -> &crate::check::lag_aware::session::Session {
        self.rest()
    }

    #[cfg(feature = "lag-aware")]
    fn run(&self, task: impl Future<Output = ()> + Send + 'static) -> bool {
        let state = self.state().clone();
        self.spawn(async move {
            let _ended = state.until_end(task).await;
        })
    }

    #[cfg(feature = "lag-aware")]
    fn ended(&self) -> Error {
        self.interrupted()
    }
}

/// `None` of an error: the connection has ended.
async fn put(
    client: &Client,
    state: &State,
    questions: &[&[&str]],
) -> Result<Vec<Said>, Option<FredError>> {
    // Whoever asks bounds the time himself: the engine drops proofs and checks at deadlines of their own, which may well be
    // later than that of an operation.
    let unbounded = Options {
        timeout: Some(Duration::ZERO),
        ..Options::default()
    };
    let pipeline = client.pipeline().with_options(&unbounded);
    for question in questions {
        let Some((name, arguments)) = question.split_first() else {
            continue;
        };
        let command = CustomCommand::new(*name, None::<u16>, false);
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        let queued: Result<Value, FredError> =
            pipeline.custom::<_, String>(command, arguments).await;
        queued.map_err(Some)?;
    }
    let answers = state
        .until_end(pipeline.try_all::<Value>())
        .await
        .ok_or(None)?;
    answers
        .into_iter()
        .map(|answer| match answer {
            Ok(value) => Ok(said(&value)),
            Err(error) => match errors::said(&error) {
                Some((code, details)) => {
                    Ok(Said::Refused(code.to_owned(), details.map(str::to_owned)))
                }
                None => Err(Some(error)),
            },
        })
        .collect()
}

/// No answer at all.
fn silence(connection: &FredConnection, error: Option<&FredError>) -> Error {
    match error.map(|error| errors::cause(error, false)) {
        Some(Cause::Late | Cause::Full) => Error::new(
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
        Value::Array(fields) => Said::List(fields.iter().map(said).collect()),
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
