//! Chaos: real servers, a workload with known answers, faults from a seed, and a record of all of it.
//!
//! `cargo chaos redis` runs for ten minutes; `cargo chaos --help` says what else there is. The run writes a
//! [`record`], and only the record is judged. So what a run means is decided by code that needs no server.
//!
//! - [`args`]: the command line. [`kinds`]: the kinds of faults. [`plan`]: which fault comes when.
//! - [`targets`]: the servers and the workload of each target: the seam for further ones.
//! - [`course`]: one run. [`harm`], [`stop`]: how faults are done. [`progress`]: what a long run says meanwhile.
//! - [`log`], [`watch`]: who writes the record while the run goes on.
//! - [`check`]: what the record says of each promise. [`report`]: how it is told.

mod args;
mod check;
mod course;
#[path = "../dice.rs"]
mod dice;
mod harm;
mod kinds;
mod log;
mod plan;
mod progress;
mod record;
mod report;
mod stop;
mod targets;
#[cfg(test)]
mod tests;
mod watch;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use args::{Args, Command};
use record::{Record, Target as Name};
use targets::{fred::Fred, nats::Nats, pair::Pair, redis::Redis};

/// A thread that handled a server is gone after that: none is left when the quiet spell at the end is measured.
const THREADS_LIVE: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().thread_keep_alive(THREADS_LIVE).build();
    let done = match runtime {
        Ok(runtime) => {
            let args = std::env::args_os().skip(1);
            runtime.block_on(run(args, &mut std::io::stdout()))
        }
        Err(error) => Err(Failed::Run(format!("there is no runtime: {error}"))),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(Failed::Usage(problem)) => {
            eprintln!("chaos: {problem}\n\n{}", args::USAGE);
            ExitCode::from(2)
        }
        Err(Failed::Run(problem)) => {
            eprintln!("chaos: {problem}");
            ExitCode::from(2)
        }
    }
}

/// Why there is no verdict.
#[derive(Debug)]
enum Failed {
    /// The command line makes no sense.
    Usage(String),
    /// A server did not start, or a fault could not be done.
    Run(String),
}

/// The whole program: whether every promise was kept. Only the report goes to `out`; whatever else there is to say goes to
/// stderr.
async fn run(args: impl Iterator<Item = OsString>, out: &mut dyn Write) -> Result<bool, Failed> {
    let args = match args::parse(args).map_err(Failed::Usage)? {
        Command::Help => {
            let said = writeln!(out, "{}", args::USAGE);
            return said
                .map(|()| true)
                .map_err(|error| Failed::Run(error.to_string()));
        }
        Command::Run(args) => args,
    };
    let record = recorded(&args).await.map_err(Failed::Run)?;
    let findings = check::check(&record);
    let told = match args.json {
        true => report::json(&record, &findings, out),
        false => report::text(&record, &findings, out),
    };
    told.map_err(|error| Failed::Run(format!("the report cannot be written: {error}")))?;
    Ok(findings.passed())
}

async fn recorded(args: &Args) -> Result<Record, String> {
    match args.target {
        Name::Redis => course::run::<Redis>(args).await,
        Name::Fred => course::run::<Fred>(args).await,
        Name::Pair => course::run::<Pair>(args).await,
        Name::Nats => course::run::<Nats>(args).await,
    }
}
