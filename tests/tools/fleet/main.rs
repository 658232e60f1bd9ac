//! What ten thousand clients do to three brokers: an outage, a rolling restart and a failback, in virtual time.
//!
//! `cargo fleet` takes seconds; `--help` says what can be changed. Each client is a real
//! machine of the engine with the default rules of reconnecting and failback (`pool = "rotating"`, `standby = 1`; the
//! weighted pool for the failback) and a seed of its own. The outage is also lived through by as many clients with
//! another rule: two loops, each of which retries every 0-21 ms.
//!
//! - [`args`]: the command line.
//! - [`brokers`]: whom they dial, and the limit of what is accepted: read this to know what the figures mean.
//! - [`client`], [`world`]: the engine's fleet. [`naive`]: the other one.
//! - [`scenario`]: what happens, and what is measured. [`record`], [`figures`]: how.
//! - [`report`], [`json`], [`plot`]: for people, for programs, and as a picture.
//! - [`dice`]: the randomness of all this.
//!
//! Nothing here may decide anything that the machine decides: a rule that is only in the simulation proves nothing.

mod args;
mod brokers;
mod client;
#[path = "../dice.rs"]
mod dice;
mod figures;
mod json;
mod naive;
mod plot;
mod record;
mod report;
mod scenario;
#[cfg(test)]
mod tests;
mod world;

use std::io::Write;
use std::process::ExitCode;

use args::{Args, Settings};
use figures::Figures;
use scenario::{Failback, Outage, Rolling};

/// All that was found out.
struct Results {
    settings: Settings,
    outage: Outage,
    naive: Figures,
    rolling: Rolling,
    failback: Failback,
}

impl Results {
    /// The four simulations know nothing of each other, so they share the cores.
    fn of(settings: Settings) -> Self {
        std::thread::scope(|scope| {
            let naive = scope.spawn(|| naive::outage(&settings));
            let rolling = scope.spawn(|| scenario::rolling_restart(&settings));
            let failback = scope.spawn(|| scenario::failback(&settings));
            let outage = scenario::outage(&settings);
            let broken = "a simulation panicked";
            Self {
                settings,
                outage,
                naive: naive.join().expect(broken),
                rolling: rolling.join().expect(broken),
                failback: failback.join().expect(broken),
            }
        })
    }
}

fn main() -> ExitCode {
    let args = match args::parse(std::env::args().skip(1)) {
        Ok(Some(args)) => args,
        Ok(None) => {
            println!("{}", args::USAGE);
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("fleet: {problem}\n\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("fleet: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), String> {
    let results = Results::of(args.settings);
    if let Some(path) = &args.plot {
        std::fs::write(path, plot::svg(&results))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let text = if args.json {
        json::object(&results)
    } else {
        report::text(&results)
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| format!("the report cannot be written: {error}"))
}
