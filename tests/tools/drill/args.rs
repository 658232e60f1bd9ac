//! The command line: what to do, and how often.

use std::ffi::OsString;
use std::time::Duration;

use lexopt::prelude::*;

use crate::nats::options as stream;
use crate::scenario::{Op, Scenario};

/// What `--help` prints.
pub(crate) const USAGE: &str = "\
Usage: drill <backend> <scenario> [options]

Starts real servers, puts load on a group over them, causes a fault, and measures.

Backends:
  redis      two redis-servers, found on PATH or in target/servers; the load is calls
  nats       a cluster of three nats-servers, found in target/servers; the load is a stream of numbered messages

Scenarios:
  kill       the active is killed (SIGKILL), later started again
  freeze     the active is stopped (SIGSTOP): its sockets stay open and nothing answers; later it goes on
  switch     switch_to the standby: a planned move that ends the old connection at once
  drain      drain_to the standby: a planned move that lets the old connection finish
  outage     all servers are killed and started again 3 s later
  lame-duck  the active says that it is about to shut down, and does so; later started again (nats)
  failback   the active is killed, comes back, and traffic returns to it: with a grace of 2 s, 1 s of health and no jitter
  readonly   the active becomes a replica while it runs, and later a primary again; calls are writes (redis)
  pubsub     a stream that listens through a switch, a drain and a kill, and what it misses or hears twice (redis)

Options:
  --rounds N     how often, each time with a fresh group over the same servers [1]
  --tuned        the fastest sensible settings instead of the defaults
  --json         one JSON object on stdout, and nothing else
  --trace        what the group says, with the time since the fault, on stderr
  --help         this text

Options of redis:
  --driver NAME  the client library, redis (redis-rs) or fred [redis]
  --op get|incr  what a call does: a read, which may run again elsewhere, or a write, which may not [get]
  --every TIME   a call each so often, not waiting for the previous one [1ms, which is also the least]

Options of nats:
  --rate N       messages per second, published by a plain client on a node that survives [20000]
  --delivery at-most-once|at-least-once|mirrored
                 what a move may do to the subscription [at-least-once]
  --dedupe none|header|content
                 how a message is known that was delivered before [none]
  --ordered      the new connection's messages wait for the old one's; needs a dedupe
  --queue        subscribe as the only member of a queue group
  --publish      the group publishes as well, without pause";

/// What the command line asks for.
pub(crate) enum Command {
    Help,
    Drill(Args),
}

/// One drill.
#[derive(Clone, Debug)]
pub(crate) struct Args {
    pub(crate) service: String,
    /// The client library, where a backend has more than one. Each backend knows its own.
    pub(crate) driver: Option<String>,
    pub(crate) scenario: Scenario,
    pub(crate) rounds: u32,
    pub(crate) tuned: bool,
    pub(crate) op: Op,
    pub(crate) every: Duration,
    pub(crate) json: bool,
    pub(crate) trace: bool,
    pub(crate) stream: stream::Options,
}

/// Which options only one backend has.
const SPECIAL: [(&str, &str); 9] = [
    ("redis", "driver"),
    ("redis", "op"),
    ("redis", "every"),
    ("nats", "rate"),
    ("nats", "delivery"),
    ("nats", "dedupe"),
    ("nats", "ordered"),
    ("nats", "queue"),
    ("nats", "publish"),
];

pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<Command, String> {
    read(args).map_err(|error| error.to_string())
}

fn read(args: impl Iterator<Item = OsString>) -> Result<Command, lexopt::Error> {
    let mut parser = lexopt::Parser::from_args(args);
    let (mut service, mut driver, mut scenario) = (None, None, None);
    let (mut rounds, mut op, mut every) = (1, Op::Get, Duration::from_millis(1));
    let (mut tuned, mut json, mut trace) = (false, false, false);
    let mut stream = stream::Options::default();
    // Options that only one backend has, with that.
    let mut special = Vec::new();
    while let Some(arg) = parser.next()? {
        if let Long(name) = arg
            && let Some((backend, option)) = SPECIAL.iter().find(|(_, option)| *option == name)
        {
            special.push((*backend, *option));
        }
        match arg {
            Short('h') | Long("help") => return Ok(Command::Help),
            Long("driver") => driver = Some(parser.value()?.string()?),
            Long("rounds") => rounds = parser.value()?.parse_with(positive)?,
            Long("tuned") => tuned = true,
            Long("json") => json = true,
            Long("trace") => trace = true,
            Long("op") => op = parser.value()?.parse_with(Op::parse)?,
            Long("every") => every = parser.value()?.parse_with(pace)?,
            Long("rate") => stream.rate = parser.value()?.parse_with(stream::rate)?,
            Long("delivery") => stream.delivery = parser.value()?.parse_with(stream::delivery)?,
            Long("dedupe") => stream.dedupe = parser.value()?.parse_with(stream::dedupe)?,
            Long("ordered") => stream.ordered = true,
            Long("queue") => stream.queue = true,
            Long("publish") => stream.publish = true,
            Value(word) if service.is_none() => service = Some(word.string()?),
            Value(word) if scenario.is_none() => {
                scenario = Some(word.parse_with(Scenario::parse)?);
            }
            arg => return Err(arg.unexpected()),
        }
    }
    let (Some(service), Some(scenario)) = (service, scenario) else {
        return Err("name a backend and a scenario, such as `drill redis kill`".into());
    };
    if let Some((backend, option)) = special.iter().find(|(backend, _)| *backend != service) {
        return Err(format!("--{option} is an option of {backend}").into());
    }
    stream.check()?;
    if scenario == Scenario::Readonly {
        // A replica goes on to answer reads.
        op = Op::Incr;
    }
    Ok(Command::Drill(Args {
        service,
        driver,
        scenario,
        rounds,
        tuned,
        op,
        every,
        json,
        trace,
        stream,
    }))
}

fn positive(text: &str) -> Result<u32, &'static str> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("it must be a number above zero"),
    }
}

/// The runtime's clock has ticks of a millisecond, so more often than that would be a burst now and then.
fn pace(text: &str) -> Result<Duration, &'static str> {
    let (number, unit) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 1),
        (None, Some(number)) => (number, 1000),
        (None, None) => return Err("it must be a time such as 1ms or 2s"),
    };
    match number.parse::<u64>() {
        Ok(number) if (1..=60_000).contains(&number) => Ok(Duration::from_millis(number * unit)),
        _ => Err("it must be a whole number of ms or s, at least 1ms"),
    }
}
