//! The workload of every target that speaks Redis: paced tasks, each with operations whose answers are known beforehand.
//!
//! A write counts a field of its own up by one. So a field that says 2 was written twice, and one that is missing was not
//! written. Reads and echoes differ from one operation to the next: an answer that belongs to another question shows.

use std::future::Future;
use std::ops::Range;
use std::time::Duration;

use failover_core::redis::Messages;
use failover_core::{Error, Fate};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::{Course, Load};
use crate::dice::Dice;
use crate::log::{Answer, Log};
use crate::record::{Delivery, Heard, Kind, OperationId};

/// Tasks that do everything but block.
const CALLERS: u16 = 60;
/// Tasks that block. Each of their operations may take a connection of its own, so there are few.
const WAITERS: u16 = 2;
/// Tasks that publish numbered messages.
const PUBLISHERS: Range<u16> = CALLERS + WAITERS..CALLERS + WAITERS + 4;
/// All of them.
pub(super) const WORKERS: u16 = PUBLISHERS.end;
/// Streams that listen to all that is published.
const LISTENERS: usize = 2;
const CHANNEL: &str = "chaos";
/// A message may come so much later than the last was sent.
const LATE: Duration = Duration::from_secs(1);
/// From one operation of a caller to the next: some 3,000 a second over all of them.
const PACE: Duration = Duration::from_millis(20);
const PACE_OF_WAITERS: Duration = Duration::from_millis(700);
/// How many fields share a key: few enough that the server keeps them in the short form.
pub(super) const FIELDS: u32 = 512;
/// How many keys have a known value.
pub(super) const KNOWN: u64 = 1000;
/// A script that counts and says what it was given.
pub(super) const SCRIPT: &str = "return {redis.call('HINCRBY', KEYS[1], ARGV[1], 1), ARGV[2]}";
/// How long a blocking command waits, in seconds.
pub(super) const BLOCKS: f64 = 0.2;

/// Why an operation failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) fate: Option<Fate>,
    pub(super) text: String,
}

/// Where one operation counts.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) key: String,
    pub(super) field: u32,
}

impl Field {
    pub(super) fn of(id: OperationId) -> Self {
        Self {
            key: key(id.worker, id.number / FIELDS),
            field: id.number % FIELDS,
        }
    }
}

pub(super) fn key(worker: u16, chunk: u32) -> String {
    format!("w:{worker}:{chunk}")
}

/// The operation that counts in this field, if the key is one of [`key`].
pub(super) fn operation(key: &str, field: u32) -> Option<OperationId> {
    let (worker, chunk) = key.strip_prefix("w:")?.split_once(':')?;
    let chunk: u32 = chunk.parse().ok()?;
    Some(OperationId {
        worker: worker.parse().ok()?,
        number: chunk * FIELDS + field,
    })
}

/// A key whose value is known, and the value.
pub(super) fn known(number: u64) -> (String, String) {
    (
        format!("known:{number}"),
        format!("value {number} of {KNOWN}"),
    )
}

/// One client library: what an operation of each kind is there.
pub(super) trait Speaks: Clone + Send + Sync + 'static {
    fn read(&mut self, key: String) -> impl Answers<Option<String>>;
    fn write(&mut self, count: Field) -> impl Answers<i64>;
    fn pipeline(&mut self, count: Field, key: String) -> impl Answers<(i64, Option<String>)>;
    fn transaction(&mut self, count: Field, key: String) -> impl Answers<(i64, Option<String>)>;
    /// [`SCRIPT`], with this text to say.
    fn script(&mut self, count: Field, text: String) -> impl Answers<(i64, String)>;
    /// Adds to a list.
    fn push(&mut self, list: String, value: String) -> impl Answers<i64>;
    fn publish(&mut self, channel: &'static str, text: String) -> impl Answers<i64>;
    fn listen(&self, channel: &'static str)
    -> impl Future<Output = Result<Messages, Error>> + Send;
    /// Takes from a list, or waits for [`BLOCKS`].
    fn pop(&mut self, list: String) -> impl Answers<Option<(String, String)>>;
}

/// What a call of a client gives.
pub(super) trait Answers<T>: Future<Output = Result<T, Failure>> + Send {}
impl<T, F: Future<Output = Result<T, Failure>> + Send> Answers<T> for F {}

/// Starts the tasks.
pub(super) async fn start<C: Speaks>(client: &C, course: &Course) -> Result<Load, String> {
    let mut listeners = Vec::new();
    for _ in 0..LISTENERS {
        let messages = client.listen(CHANNEL).await;
        let messages = messages.map_err(|error| error.to_string())?;
        listeners.push(tokio::spawn(listen(messages, course.clone())));
    }
    let workers = work_of_all(client, course);
    Ok(Load { workers, listeners })
}

fn work_of_all<C: Speaks>(client: &C, course: &Course) -> JoinSet<Log> {
    let mut workers = JoinSet::new();
    for worker in 0..WORKERS {
        let pace = match worker {
            _ if worker < CALLERS || PUBLISHERS.contains(&worker) => PACE,
            _ => PACE_OF_WAITERS,
        };
        let most = course.length.div_duration_f64(pace) as usize + 100;
        let log = course.logs.log(worker, most);
        let (client, course) = (client.clone(), course.clone());
        workers.spawn(async move {
            let give_up = course.give_up;
            log.keep(
                async move |log: &mut Log| work(client, log, course, pace).await,
                give_up,
            )
            .await
        });
    }
    workers
}

async fn work<C: Speaks>(mut client: C, log: &mut Log, course: Course, pace: Duration) {
    let worker = log.next().worker;
    let mut dice = Dice::new(u64::from(worker) + 1);
    // Not all at the same time.
    tokio::time::sleep(pace.mul_f64(f64::from(worker) / f64::from(WORKERS))).await;
    let mut ticks = tokio::time::interval(pace);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !*course.over.borrow() {
        ticks.tick().await;
        if worker < CALLERS {
            call(&mut client, log, &mut dice).await;
        } else if PUBLISHERS.contains(&worker) {
            let id = log.begin(Kind::Publish);
            let published = client.publish(CHANNEL, text(id)).await;
            log.end(judged(published, |_heard| Some(()), ""));
        } else {
            wait(&mut client, log).await;
        }
    }
}

async fn call<C: Speaks>(client: &mut C, log: &mut Log, dice: &mut Dice) {
    let (key, value) = known(dice.below(KNOWN));
    let answer = match dice.below(100) {
        0..45 => {
            log.begin(Kind::Read);
            let read = client.read(key).await;
            judged(
                read,
                |read| (read.as_deref() == Some(&*value)).then_some(()),
                &value,
            )
        }
        45..75 => {
            let count = Field::of(log.begin(Kind::Write));
            judged(
                client.write(count).await,
                |count| (*count == 1).then_some(()),
                "1",
            )
        }
        75..85 => {
            let count = Field::of(log.begin(Kind::Pipeline));
            let both = client.pipeline(count, key).await;
            judged(both, |both| is_both(both, &value), &value)
        }
        85..93 => {
            let count = Field::of(log.begin(Kind::Transaction));
            let both = client.transaction(count, key).await;
            judged(both, |both| is_both(both, &value), &value)
        }
        _ => {
            let id = log.begin(Kind::Script);
            let text = format!("{id:?}");
            let said = client.script(Field::of(id), text.clone()).await;
            judged(
                said,
                |(count, said)| (*count == 1 && *said == text).then_some(()),
                &text,
            )
        }
    };
    log.end(answer);
}

/// A list of its own for each operation, so that what one failed to pop confuses no other. Where the value was pushed on
/// another member there is nothing to pop.
async fn wait<C: Speaks>(client: &mut C, log: &mut Log) {
    let id = log.next();
    let (list, value) = (
        format!("list:{}:{}", id.worker, id.number),
        id.number.to_string(),
    );
    let _ = client.push(list.clone(), value.clone()).await;
    log.begin(Kind::Blocking);
    let popped = client.pop(list.clone()).await;
    let fits = |popped: &Option<(String, String)>| match popped {
        Some((from, what)) => (*from == list && *what == value).then_some(()),
        None => Some(()),
    };
    log.end(judged(popped, fits, &value));
}

fn text(id: OperationId) -> String {
    format!("{} {}", id.worker, id.number)
}

fn operation_of(text: &str) -> Option<OperationId> {
    let (worker, number) = text.split_once(' ')?;
    Some(OperationId {
        worker: worker.parse().ok()?,
        number: number.parse().ok()?,
    })
}

async fn listen(mut messages: Messages, mut course: Course) -> Heard {
    let Course {
        clock,
        length,
        logs,
        ..
    } = course.clone();
    let most = PUBLISHERS.len() * (length.div_duration_f64(PACE) as usize + 100);
    let mut heard = Heard {
        delivery: Delivery::PubSub,
        queue: None,
        kind: Kind::Publish,
        from: PUBLISHERS,
        steady: false,
        again: 0,
        during: clock.now()..clock.now(),
        messages: Vec::with_capacity(most),
    };
    let end = async move {
        let _ = course.over.wait_for(|over| *over).await;
        tokio::time::sleep(LATE).await;
    };
    tokio::pin!(end);
    loop {
        let message = tokio::select! {
            biased;
            () = &mut end => break,
            message = messages.next() => message,
        };
        let Some(message) = message else { break };
        let id = operation_of(&message.text());
        heard.messages.extend(id.map(|id| (clock.now(), id)));
        logs.heard_one();
    }
    heard.during.end = clock.now();
    heard
}

fn is_both((count, read): &(i64, Option<String>), value: &str) -> Option<()> {
    (*count == 1 && read.as_deref() == Some(value)).then_some(())
}

fn judged<T: std::fmt::Debug>(
    answer: Result<T, Failure>,
    fits: impl Fn(&T) -> Option<()>,
    expected: &str,
) -> Answer {
    match answer {
        Ok(answer) if fits(&answer).is_some() => Answer::Right,
        Ok(answer) => Answer::Wrong(format!("{answer:?} where {expected} was expected")),
        Err(Failure { fate, text }) => Answer::Failed(fate, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_tells_its_operation() {
        for number in [0, 511, 512, 123_456] {
            let id = OperationId { worker: 7, number };
            let Field { key, field } = Field::of(id);
            assert_eq!(operation(&key, field), Some(id));
        }
        assert_eq!(operation("known:7", 0), None);
        let id = OperationId {
            worker: 64,
            number: 5,
        };
        assert_eq!(operation_of(&text(id)), Some(id));
    }
}
