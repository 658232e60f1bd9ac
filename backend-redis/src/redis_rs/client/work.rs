//! What is sent, a command or a pipeline, and what its answer says about the server.
//!
//! redis-rs hands errors of the server out as values, so values are looked at as well.

use backend_api::ErrorKind;
use redis::{Cmd, Pipeline, RedisError, RedisResult, ServerError, Value};

use crate::redis_rs::commands::Commands;
use crate::redis_rs::errors;
use crate::redis_rs::link::Link;

/// What went wrong, where the server itself did.
pub(super) enum Trouble {
    /// The server says that it serves nobody. What it said this about was not applied.
    Rejected(ErrorKind, ServerError),
    /// The socket is gone.
    Gone,
    /// No answer in time.
    Late,
    /// Nothing was sent: the caller's own mistake.
    Mistake,
}

/// One command or one pipeline.
pub(super) trait Work: Send + Sync {
    type Answer: Send;

    fn send<'a>(
        &'a self,
        to: &'a mut Link,
    ) -> impl Future<Output = RedisResult<Self::Answer>> + Send + 'a;

    /// `None` where the server answered, whatever it said. Where replicas are allowed, READONLY is such an answer.
    fn trouble(&self, answer: &RedisResult<Self::Answer>, replicas: bool) -> Option<Trouble>;

    /// After a rejection: nothing of it was applied, so that it may run again elsewhere.
    fn untouched(&self, answer: &RedisResult<Self::Answer>, commands: &Commands) -> bool;

    /// It only reads.
    fn reads(&self, commands: &Commands) -> bool;

    /// Some of it reads, or begins what decides by reading (WATCH): it must not see less than was acknowledged.
    fn looks(&self, commands: &Commands) -> bool;

    /// Its name for errors, never its arguments.
    fn name(&self) -> String;

    /// It ends what WATCH began.
    fn is_transaction(&self) -> bool;

    /// Its commands with their answers, for those who look after cursors.
    fn each<'a>(
        &'a self,
        answer: Option<&'a Self::Answer>,
        look: &mut dyn FnMut(&'a Cmd, Option<&'a Value>),
    );
}

impl Work for &Cmd {
    type Answer = Value;

    fn send<'a>(
        &'a self,
        to: &'a mut Link,
    ) -> impl Future<Output = RedisResult<Value>> + Send + 'a {
        to.command(self)
    }

    fn trouble(&self, answer: &RedisResult<Value>, replicas: bool) -> Option<Trouble> {
        match answer {
            Ok(Value::ServerError(error)) => rejection(error, replicas),
            Ok(_) => None,
            Err(error) => failure(error, replicas),
        }
    }

    fn untouched(&self, _answer: &RedisResult<Value>, _commands: &Commands) -> bool {
        true
    }

    fn reads(&self, commands: &Commands) -> bool {
        commands.reads(self)
    }

    fn looks(&self, commands: &Commands) -> bool {
        commands.reads(self) || name(self) == "WATCH"
    }

    fn name(&self) -> String {
        name(self)
    }

    fn is_transaction(&self) -> bool {
        false
    }

    fn each<'a>(
        &'a self,
        answer: Option<&'a Value>,
        look: &mut dyn FnMut(&'a Cmd, Option<&'a Value>),
    ) {
        look(self, answer);
    }
}

/// A pipeline with the numbers that redis-rs sends along.
#[derive(Clone, Copy)]
pub(super) struct Batch<'p> {
    pub(super) pipeline: &'p Pipeline,
    pub(super) offset: usize,
    pub(super) count: usize,
}

impl Work for Batch<'_> {
    type Answer = Vec<Value>;

    fn send<'a>(
        &'a self,
        to: &'a mut Link,
    ) -> impl Future<Output = RedisResult<Vec<Value>>> + Send + 'a {
        to.pipeline(self.pipeline, self.offset, self.count)
    }

    fn trouble(&self, answer: &RedisResult<Vec<Value>>, replicas: bool) -> Option<Trouble> {
        match answer {
            Ok(values) => match values.as_slice() {
                // What EXEC answered: an error of its own, or the answers of what it ran.
                [Value::Array(inside)] if self.pipeline.is_transaction() => first(inside, replicas),
                values => first(values, replicas),
            },
            Err(error) => failure(error, replicas),
        }
    }

    fn untouched(&self, answer: &RedisResult<Vec<Value>>, commands: &Commands) -> bool {
        let Ok(values) = answer else {
            // The transaction was discarded as a whole.
            return true;
        };
        if self.pipeline.is_transaction() {
            return matches!(values.as_slice(), [Value::ServerError(_)]);
        }
        self.pipeline
            .cmd_iter()
            .zip(values)
            .all(|(command, value)| {
                matches!(value, Value::ServerError(error) if errors::state(error).is_some())
                    || commands.reads(command)
            })
    }

    fn reads(&self, commands: &Commands) -> bool {
        self.pipeline
            .cmd_iter()
            .all(|command| commands.reads(command))
    }

    fn looks(&self, commands: &Commands) -> bool {
        self.pipeline
            .cmd_iter()
            .any(|command| commands.reads(command))
    }

    fn name(&self) -> String {
        if self.pipeline.is_transaction() {
            return "MULTI".to_owned();
        }
        match self.pipeline.cmd_iter().next() {
            Some(first) => format!("pipeline of {} from {}", self.pipeline.len(), name(first)),
            None => "pipeline".to_owned(),
        }
    }

    fn is_transaction(&self) -> bool {
        self.pipeline.is_transaction()
    }

    fn each<'a>(
        &'a self,
        answer: Option<&'a Vec<Value>>,
        look: &mut dyn FnMut(&'a Cmd, Option<&'a Value>),
    ) {
        let values = match answer.map(Vec::as_slice) {
            Some([Value::Array(inside)]) if self.pipeline.is_transaction() => inside,
            Some(values) => values,
            None => &[],
        };
        for (at, command) in self.pipeline.cmd_iter().enumerate() {
            look(command, values.get(at));
        }
    }
}

fn rejection(error: &ServerError, replicas: bool) -> Option<Trouble> {
    errors::state(error)
        .filter(|kind| !(replicas && *kind == ErrorKind::ReadOnly))
        .map(|kind| Trouble::Rejected(kind, error.clone()))
}

fn first(values: &[Value], replicas: bool) -> Option<Trouble> {
    values.iter().find_map(|value| match value {
        Value::ServerError(error) => rejection(error, replicas),
        _ => None,
    })
}

#[cold]
fn failure(error: &RedisError, replicas: bool) -> Option<Trouble> {
    if error.is_timeout() {
        return Some(Trouble::Late);
    }
    if error.is_io_error() || error.is_unrecoverable_error() {
        return Some(Trouble::Gone);
    }
    match error.clone().into_server_errors() {
        Some(errors) => errors
            .iter()
            .find_map(|(_, error)| rejection(error, replicas)),
        None => Some(Trouble::Mistake),
    }
}

fn name(command: &Cmd) -> String {
    match command.args_iter().next() {
        Some(redis::Arg::Simple(name)) => String::from_utf8_lossy(name).to_uppercase(),
        _ => "command".to_owned(),
    }
}
