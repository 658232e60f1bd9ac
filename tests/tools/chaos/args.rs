//! The command line: what to try to break, for how long, with which faults.

use std::ffi::OsString;

use lexopt::prelude::*;

use crate::kinds::FaultKind;
use crate::record::{Micros, Target};

/// What `--help` prints.
pub(crate) const USAGE: &str = "\
Usage: chaos <target> [options]

Starts real servers, puts a workload on a group over them, and does faults to the servers, the network, the group and this
process, several at a time. Then it checks what the engine promises. Exits with 0 if every promise was kept, with 1 if one
was broken or if the run did too little to count, with 2 if the command line is wrong or a server does not start.

Targets:
  redis  two independent redis-servers, through redis-rs
  fred   the same, through fred
  nats   a cluster of three nats-servers with JetStream
  pair   two redis-servers of which one replicates the other, through redis-rs

Options:
  --minutes M   how long, from 0.1 to 60 [10]
  --seed N      decides which faults come when [1]
  --faults A,B  only these kinds [all that the target has]
  --json        one JSON object on stdout, and nothing else
  --help        this text

Kinds of faults:
  kill          SIGKILL, and later a restart
  freeze        SIGSTOP, and later SIGCONT
  lame-duck     the server says that it is going, and goes; later a restart (nats)
  demote        the primary becomes the replica of the other server (pair)
  drop          bytes are held by the network, in one or both directions
  delay         bytes are late, in one or both directions
  slow          few bytes a second, in one or both directions
  cut           connections end in the middle of a reply
  client-kill   CLIENT KILL of all clients (redis, fred, pair)
  pause-write   CLIENT PAUSE WRITE (redis, fred, pair)
  limits        maxclients and maxmemory, or max_payload, are changed for a while
  reload        the group gets another configuration
  move          switch_to or drain_to, and later release
  stop          this process is stopped for about a second";

/// What the command line asks for.
pub(crate) enum Command {
    Help,
    Run(Args),
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Args {
    pub(crate) target: Target,
    pub(crate) length: Micros,
    pub(crate) seed: u64,
    pub(crate) kinds: Vec<FaultKind>,
    pub(crate) json: bool,
}

pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<Command, String> {
    read(args).map_err(|error| error.to_string())
}

fn read(args: impl Iterator<Item = OsString>) -> Result<Command, lexopt::Error> {
    let mut parser = lexopt::Parser::from_args(args);
    let (mut target, mut kinds) = (None, None);
    let (mut minutes, mut seed, mut json) = (10.0, 1, false);
    while let Some(arg) = parser.next()? {
        match arg {
            Short('h') | Long("help") => return Ok(Command::Help),
            Long("minutes") => minutes = parser.value()?.parse_with(length)?,
            Long("seed") => seed = parser.value()?.parse()?,
            Long("faults") => kinds = Some(parser.value()?.string()?),
            Long("json") => json = true,
            Value(word) if target.is_none() => target = Some(word.parse_with(known)?),
            arg => return Err(arg.unexpected()),
        }
    }
    let Some(target) = target else {
        return Err("name a target: redis, fred, nats or pair".into());
    };
    let kinds = match kinds {
        Some(names) => FaultKind::list(&names, target)?,
        None => FaultKind::of(target),
    };
    Ok(Command::Run(Args {
        target,
        length: (minutes * 60e6) as Micros,
        seed,
        kinds,
        json,
    }))
}

fn known(name: &str) -> Result<Target, String> {
    let all = [Target::Redis, Target::Fred, Target::Nats, Target::Pair];
    let found = all.into_iter().find(|target| target.name() == name);
    found.ok_or_else(|| "the targets are redis, fred, nats and pair".to_owned())
}

fn length(text: &str) -> Result<f64, &'static str> {
    match text.parse() {
        Ok(minutes) if (0.1..=60.0).contains(&minutes) => Ok(minutes),
        _ => Err("it must be a number of minutes from 0.1 to 60"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Args, String> {
        match parse(line.split_whitespace().map(Into::into))? {
            Command::Run(args) => Ok(args),
            Command::Help => Err("help".to_owned()),
        }
    }

    #[test]
    fn a_target_alone_means_ten_minutes_of_all_that_it_has() {
        let args = parsed("redis").unwrap();
        assert_eq!((args.length, args.seed, args.json), (600_000_000, 1, false));
        assert_eq!(args.kinds, FaultKind::of(Target::Redis));
        assert!(!args.kinds.contains(&FaultKind::LameDuck));
    }

    #[test]
    fn everything_can_be_said() {
        let args = parsed("nats --minutes 0.5 --seed 9 --faults move,kill,move --json").unwrap();
        let expected = Args {
            target: Target::Nats,
            length: 30_000_000,
            seed: 9,
            kinds: vec![FaultKind::Kill, FaultKind::Move],
            json: true,
        };
        assert_eq!(args, expected);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_does() {
        for (line, expected) in [
            ("", "name a target"),
            ("mongo", "redis, fred, nats and pair"),
            ("redis kill", "unexpected argument"),
            ("redis --minutes 0", "from 0.1 to 60"),
            ("redis --seed first", "first"),
            ("redis --faults flood", "kill, freeze, lame-duck, demote"),
            ("redis --faults demote", "take the target pair"),
            ("redis --faults kill,", "there is no fault \"\""),
            ("nats --faults client-kill", "`cut` ends"),
            ("pair --faults lame-duck", "does not announce"),
        ] {
            let problem = parsed(line).expect_err(line);
            assert!(problem.contains(expected), "{line}: {problem}");
        }
    }
}
