//! Fire drills: real servers, real faults, and how long the traffic stood still.
//!
//! `cargo drill redis kill` starts two redis-servers and a group over them, puts load on the group, kills the active with
//! SIGKILL, and measures. `cargo drill --help` says what else there is. A figure of this program is worth as much as its
//! definition, so each has one: the gap in [`measure`], everything else in [`report`].
//!
//! - [`args`]: the command line.
//! - [`scenario`]: what can happen, and what a backend has to offer to take part: the seam for further backends.
//! - [`redis`]: Redis' side of that, through redis-rs or fred.
//! - [`nats`]: NATS' side of that, and the stream of messages that is its load.
//! - [`load`]: what a load is; [`calls`]: that of a backend which is asked and answers.
//! - [`timeline`]: what the group said, and when.
//! - [`rounds`], [`course`]: what is done and recorded, all in all and in one round.
//! - [`measure`], [`report`]: from what was recorded to figures, and to paper.

mod args;
mod calls;
mod course;
mod load;
mod measure;
mod nats;
mod redis;
mod report;
mod rounds;
mod scenario;
#[cfg(test)]
mod tests;
mod timeline;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use args::{Args, Command};
use redis::pubsub::Talks;
use report::Report;
use scenario::{Scenario, Service};

#[tokio::main]
async fn main() -> ExitCode {
    match run(std::env::args_os().skip(1), &mut std::io::stdout()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed::Usage(problem)) => {
            eprintln!("drill: {problem}\n\n{}", args::USAGE);
            ExitCode::from(2)
        }
        Err(Failed::Drill(problem)) => {
            eprintln!("drill: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Why there is no report.
#[derive(Debug)]
enum Failed {
    /// The command line makes no sense.
    Usage(String),
    /// A server did not start, or what was to happen did not.
    Drill(String),
}

/// The whole program. Only the report goes to `out`; whatever else there is to say goes to stderr.
async fn run(args: impl Iterator<Item = OsString>, out: &mut dyn Write) -> Result<(), Failed> {
    let args = match args::parse(args).map_err(Failed::Usage)? {
        Command::Help => {
            return writeln!(out, "{}", args::USAGE)
                .map_err(|error| Failed::Drill(error.to_string()));
        }
        Command::Drill(args) => args,
    };
    // One arm for each backend that takes part.
    match args.service.as_str() {
        redis::NAME => match args.driver.as_deref() {
            None => of_redis::<redis::Redis>(&args, out).await,
            driver if driver == redis::Redis::DRIVER => of_redis::<redis::Redis>(&args, out).await,
            driver if driver == redis::fred::Fred::DRIVER => {
                of_redis::<redis::fred::Fred>(&args, out).await
            }
            Some(other) => Err(Failed::Usage(redis::unknown_driver(other))),
        },
        nats::Nats::NAME => drill::<nats::Nats>(&args, out).await,
        other => {
            let known = [redis::NAME, nats::Nats::NAME].join(" and ");
            let problem = format!("there is no drill for {other:?}, only for {known}");
            Err(Failed::Usage(problem))
        }
    }
}

async fn drill<S: Service>(args: &Args, out: &mut dyn Write) -> Result<(), Failed> {
    if args.scenario == Scenario::LameDuck && !S::ANNOUNCES {
        let problem = format!("a server of {} announces no shutdown", S::NAME);
        return Err(Failed::Usage(problem));
    }
    if args.scenario == Scenario::Readonly && !S::REPLICATES {
        let problem = format!("a server of {} does not become a replica", S::NAME);
        return Err(Failed::Usage(problem));
    }
    if args.scenario == Scenario::Pubsub {
        let problem = format!("what {} loses shows in its other scenarios", S::NAME);
        return Err(Failed::Usage(problem));
    }
    let rounds = rounds::run::<S>(args).await.map_err(Failed::Drill)?;
    let report = Report::new::<S>(args, &rounds);
    written(match args.json {
        true => report.json(out),
        false => report.text(out),
    })
}

/// Its listeners have a drill of their own.
async fn of_redis<S: Talks>(args: &Args, out: &mut dyn Write) -> Result<(), Failed> {
    if args.scenario != Scenario::Pubsub {
        return drill::<S>(args, out).await;
    }
    let report = redis::pubsub::run::<S>(args).await.map_err(Failed::Drill)?;
    written(match args.json {
        true => report.json(out),
        false => report.text(out),
    })
}

fn written(done: std::io::Result<()>) -> Result<(), Failed> {
    done.map_err(|error| Failed::Drill(format!("the report cannot be written: {error}")))
}
