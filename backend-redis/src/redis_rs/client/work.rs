//! What is sent, a command or a pipeline, and what its answer says about the server.
//!
//! redis-rs hands errors of the server out as values, so values are looked at as well.

use backend_api::ErrorKind;
use redis::{Cmd, Pipeline, RedisError, RedisResult, ServerError, Value};

use crate::failures::{Cause, Sent};
use crate::redis_rs::commands::Commands;
use crate::redis_rs::errors;
use crate::redis_rs::link::Link;

/// One command or one pipeline.
pub(super) trait Work: Send + Sync {
    type Answer: Send;

    fn send<'a>(
        &'a self,
        to: &'a mut Link,
    ) -> impl Future<Output = RedisResult<Self::Answer>> + Send + 'a;

    /// What failed; `None` where the server answered, whatever it said. Where replicas are allowed, READONLY is such an answer.
    fn cause(&self, answer: &RedisResult<Self::Answer>, replicas: bool) -> Option<Cause>;

    /// What of it the server refused when it condemned itself: all, or only some of it.
    fn refused(&self, answer: &RedisResult<Self::Answer>, commands: &Commands) -> Sent;

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

    fn cause(&self, answer: &RedisResult<Value>, replicas: bool) -> Option<Cause> {
        match answer {
            Ok(Value::ServerError(error)) => rejection(error, replicas),
            Ok(_) => None,
            Err(error) => failure(error, replicas),
        }
    }

    fn refused(&self, _answer: &RedisResult<Value>, _commands: &Commands) -> Sent {
        Sent::Alone
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

    fn cause(&self, answer: &RedisResult<Vec<Value>>, replicas: bool) -> Option<Cause> {
        match answer {
            Ok(values) => match values.as_slice() {
                // What EXEC answered: an error of its own, or the answers of what it ran.
                [Value::Array(inside)] if self.pipeline.is_transaction() => first(inside, replicas),
                values => first(values, replicas),
            },
            Err(error) => failure(error, replicas),
        }
    }

    fn refused(&self, answer: &RedisResult<Vec<Value>>, commands: &Commands) -> Sent {
        let whole = match answer {
            // The transaction was discarded as a whole.
            Err(_) => true,
            Ok(values) if self.pipeline.is_transaction() => {
                matches!(values.as_slice(), [Value::ServerError(_)])
            }
            // What only read was not applied either.
            Ok(values) => self
                .pipeline
                .cmd_iter()
                .zip(values)
                .all(|(command, value)| {
                    matches!(value, Value::ServerError(error) if errors::state(error).is_some())
                        || commands.reads(command)
                }),
        };
        match whole {
            true => Sent::Alone,
            false => Sent::Among,
        }
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

fn rejection(error: &ServerError, replicas: bool) -> Option<Cause> {
    errors::state(error)
        .filter(|kind| !(replicas && *kind == ErrorKind::ReadOnly))
        .map(|kind| Cause::Condemned(kind, error.code().to_owned()))
}

fn first(values: &[Value], replicas: bool) -> Option<Cause> {
    values.iter().find_map(|value| match value {
        Value::ServerError(error) => rejection(error, replicas),
        _ => None,
    })
}

#[cold]
fn failure(error: &RedisError, replicas: bool) -> Option<Cause> {
    if error.is_timeout() {
        return Some(Cause::Late);
    }
    if error.is_io_error() || error.is_unrecoverable_error() {
        return Some(Cause::Ended);
    }
    match error.clone().into_server_errors() {
        Some(errors) => errors
            .iter()
            .find_map(|(_, error)| rejection(error, replicas)),
        None => Some(Cause::Mistake),
    }
}

fn name(command: &Cmd) -> String {
    match command.args_iter().next() {
        Some(redis::Arg::Simple(name)) => String::from_utf8_lossy(name).to_uppercase(),
        _ => "command".to_owned(),
    }
}
