//! The command line: how many groups, how long to look at them, and the form in which this program calls itself.

use std::ffi::OsString;

use lexopt::prelude::*;

use crate::sample::Order;
use crate::subject::Subject;

/// What `--help` prints.
pub(crate) const USAGE: &str = "\
Usage: footprint [options]

Starts two redis-servers, opens groups of two members over them in one process, and measures what they cost when nobody
uses them, beside two plain connection managers of redis-rs for each group.

Options:
  --groups N     how many groups [1000]
  --idle S       for how many seconds the idle processor is measured [10]
  --rounds N     how often everything is measured; figures are medians [1]
  --json         one JSON object on stdout, and nothing else
  --help         this text";

/// A server of the testkit's default configuration takes 10,000 connections.
const MOST: u32 = 4000;

pub(crate) enum Command {
    Help,
    Compare(Args),
    /// One measurement, for the program that started this one.
    Sample(Order),
}

pub(crate) struct Args {
    pub(crate) groups: u32,
    pub(crate) idle_s: u32,
    pub(crate) rounds: u32,
    pub(crate) json: bool,
}

pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<Command, String> {
    read(args).map_err(|error| error.to_string())
}

fn read(args: impl Iterator<Item = OsString>) -> Result<Command, lexopt::Error> {
    let mut parser = lexopt::Parser::from_args(args);
    let (mut groups, mut idle_s, mut rounds, mut json) = (1000, 10, 1, false);
    let (mut subject, mut parallel, mut urls) = (None, false, Vec::new());
    while let Some(arg) = parser.next()? {
        match arg {
            Short('h') | Long("help") => return Ok(Command::Help),
            Long("groups") => groups = parser.value()?.parse_with(within::<1, MOST>)?,
            Long("idle") => idle_s = parser.value()?.parse_with(within::<0, 600>)?,
            Long("rounds") => rounds = parser.value()?.parse_with(within::<1, 100>)?,
            Long("json") => json = true,
            Long("sample") => subject = Some(parser.value()?.parse_with(Subject::parse)?),
            Long("parallel") => parallel = true,
            Value(url) if subject.is_some() => urls.push(url.string()?),
            arg => return Err(arg.unexpected()),
        }
    }
    let Some(subject) = subject else {
        return Ok(Command::Compare(Args {
            groups,
            idle_s,
            rounds,
            json,
        }));
    };
    let urls = <[String; 2]>::try_from(urls).map_err(|_| "a sample needs two servers")?;
    Ok(Command::Sample(Order {
        subject,
        groups,
        parallel,
        idle_s,
        urls,
    }))
}

fn within<const LEAST: u32, const MOST: u32>(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(number) if (LEAST..=MOST).contains(&number) => Ok(number),
        _ => Err(format!("it must be a whole number from {LEAST} to {MOST}")),
    }
}
